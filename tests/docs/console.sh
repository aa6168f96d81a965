#!/usr/bin/env bash
# Runs what a page tells its reader to type, and compares what comes out with what the page shows.
#
#   console.sh PAGE.md BUILD MINE exact|masked
#
# A block "```console" is run; other blocks ("```sh") are not. A line "$ command" is a command, continued by "\" at the end of a
# line; "# exit N" behind it is the exit status that it must have, else 0. What follows are lines of its output, in order; a
# line "..." stands for more of them, and "..." within a line for anything. Blanks are not compared, nor are times, digests and
# addresses; a page puts "..." where a speed stands. Other numbers are the program's own for one compiler and its options: "exact"
# compares them, "masked" does not.
#
# Commands run in a folder that looks like a checkout: build/ is BUILD, and ./run has the one command that runs a program. In a
# block "```console mine" they run in a reader's own project, whose build/ is MINE.
set -euo pipefail
page=$1 build=$2 mine=$3 numbers=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/checkout" "$folder/mine"
ln -s "$build" "$folder/checkout/build"
ln -s "$mine" "$folder/mine/build"
cat >"$folder/checkout/run" <<'RUN'
#!/bin/sh
[ "$1" = fuzz ] || { echo "run: only fuzz is run here" >&2; exit 2; }
exec build/heddle "$@"
RUN
chmod +x "$folder/checkout/run"

# One line of output as it is compared.
plain() {
  local masks=(-e 's/0x[0-9a-f]{7,}/#/g' -e 's/[0-9][0-9,]*(\.[0-9]+)? (s|ms|us|ns)\b/# \2/g' -e 's/[0-9][0-9,]*\/s\b/#\/s/g')
  [ "$numbers" = exact ] || masks=(-e 's/0x[0-9a-f]+/#/g' -e 's/[0-9][0-9,]*(\.[0-9]+)?/#/g')
  sed -E -e 's/heddle[12]\.[A-Za-z0-9_-]*/heddle1./g' -e 's/\b[0-9a-f]{16}\b/#/g' "${masks[@]}" -e 's/ +/ /g' -e 's/^ //' -e 's/ $//'
}

failures=0
commands=0
command='' where='' expected=''

finish() {
  [ -n "$command" ] || return 0
  local status=0 wanted=0
  [[ $command =~ \#\ exit\ ([0-9]+)$ ]] && wanted=${BASH_REMATCH[1]}
  (cd "$folder/$where" && bash -c "$command") >"$folder/out" 2>&1 </dev/null || status=$?
  commands=$((commands + 1))
  if [ "$status" != "$wanted" ]; then
    echo "$page: exit status $status, not $wanted: $command"
    sed 's/^/    /' "$folder/out" | cut -c1-200 | head -40
    failures=$((failures + 1))
  elif ! missing=$(awk -v wanted_file="$folder/wanted" '
      # Whether the line is the pattern, "..." in which stands for anything.
      function fits(line, pattern,    parts, count, n, at) {
        count = split(pattern, parts, /\.\.\./)
        if (count == 1) return line == pattern
        if (substr(line, 1, length(parts[1])) != parts[1]) return 0
        line = substr(line, length(parts[1]) + 1)
        for (n = 2; n <= count; ++n) {
          if (parts[n] == "" ) continue
          at = index(line, parts[n])
          if (at == 0) return 0
          line = substr(line, at + length(parts[n]))
        }
        return parts[count] == "" || line == ""
      }
      BEGIN { while ((getline line < wanted_file) > 0) if (line !~ /^ ?(\.\.\.)?$/) wanted[++count] = line }
      next_one < count && fits($0, wanted[next_one + 1]) { ++next_one }
      END { if (next_one < count) { print wanted[next_one + 1]; exit 1 } }
    ' <(plain <"$folder/out") 2>&1); then
    echo "$page: the output has no such line, or not here: $missing"
    echo "  of: $command"
    sed 's/^/    /' "$folder/out" | cut -c1-200 | head -60
    failures=$((failures + 1))
  fi
  command=''
}

inside=no continued=no
while IFS= read -r line; do
  if [ $inside = no ]; then
    case $line in
      '```console') inside=console where=checkout ;;
      '```console mine') inside=console where=mine ;;
      '```'*) inside=other ;;
    esac
  elif [ "$line" = '```' ]; then
    finish
    inside=no
  elif [ $inside = console ]; then
    if [ $continued = yes ]; then
      command+=$'\n'$line
    elif [[ $line == '$ '* ]]; then
      finish
      command=${line#'$ '}
      : >"$folder/wanted"
    else
      plain <<<"$line" >>"$folder/wanted"
    fi
    continued=no
    [[ $line != *\\ ]] || continued=yes
  fi
done <"$page"

[ $failures = 0 ] || exit 1
echo "$commands commands"
