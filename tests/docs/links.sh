#!/usr/bin/env bash
# Every file and heading that a page links to, and every file that a page names in `backquotes`, must be there; so must every
# page that the code speaks of.
#
#   links.sh SOURCE
set -euo pipefail
cd -- "$1"
failures=0
complain() {
  echo "$1"
  failures=$((failures + 1))
}

# The headings of a page, as links spell them.
anchors() {
  awk '/^```/ { inside = !inside } !inside && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
    tr '[:upper:]' '[:lower:]' | sed -E -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

# The text of a page outside of blocks.
prose() { awk '/^```/ { inside = !inside; next } !inside' "$1"; }

for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
  while IFS= read -r link; do
    case $link in http://* | https://* | '') continue ;; esac
    file=${link%%#*}
    target=$page
    [ -z "$file" ] || target=$(dirname "$page")/$file
    if [ ! -e "$target" ]; then
      complain "$page: links to $link, which is not there"
    elif [[ $link == *'#'* ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
      complain "$page: links to $link, but there is no such heading"
    fi
  done < <(prose "$page" | grep -oE '\]\([^)]+\)' | sed -e 's/^](//' -e 's/)$//')

  while IFS= read -r name; do
    case $name in build/* | build-*/*) continue ;; esac
    name=${name%/}
    [[ $name =~ ^(.*):[0-9]+$ ]] && name=${BASH_REMATCH[1]}
    compgen -G "$name" >/dev/null || complain "$page: names $name, which is not there"
  done < <(prose "$page" | grep -oE '`[^` ]+`' | tr -d '`' |
    grep -E '^(\.ci|rpc|sim|scheduler|driver|hw|tools|scenarios|tests|examples|bench|cmake|docs)/[A-Za-z0-9_./*:-]*$' || true)
done

while IFS=: read -r file page; do
  [ -e "$page" ] || complain "$file: speaks of $page, which is not there"
done < <(git ls-files -z -- ':!docs' 2>/dev/null | xargs -0 grep -IoE '\bdocs/[a-z_-]+\.md\b' -- 2>/dev/null | sort -u)

[ $failures = 0 ]
