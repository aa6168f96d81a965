#!/usr/bin/env bash
# What is missing from a corpus, or is damaged in it, is noticed: when an archive is unpacked, or when its inputs are replayed.
#
#   replay_test.sh REPLAY CMAKE ARCHIVE WORK
set -euo pipefail
replay=$1 cmake=$2 archive=$3 work=$4
here=$(cd -- "$(dirname -- "$0")" && pwd)

rm -rf "$work"
mkdir -p "$work/empty" "$work/nested/folder" "$work/other"
printf '' >"$work/input"

# says TEXT COMMAND...: the command fails, and says so.
says() {
  local text=$1 status=0 said
  shift
  said=$("$@" 2>&1) || status=$?
  # CMake breaks its lines.
  said=$(tr -s ' \n' '  ' <<<"$said")
  [ $status = 1 ] || { echo "$*: exit status $status"; exit 1; }
  [[ $said == *"$text"* ]] || { echo "$*: says nothing of \"$text\", but: $said"; exit 1; }
}
unpack() { "$cmake" "-DARCHIVE=$1" "-DFOLDER=$work/unpacked" -P "$here/unpack.cmake"; }

"$replay" "$work/input" 2>&1 | grep -qxF "1 inputs replayed"
says "0 inputs replayed" "$replay"
says "holds no input" "$replay" "$work/empty"
says "holds no input" "$replay" "$work/input" "$work/empty"
says "holds no input" "$replay" "$work/empty" "$work/input"
says "cannot be read" "$replay" "$work/input" "$work/missing"
says "cannot be read" "$replay" "$work/nested"

# What an earlier archive held is not among the inputs.
mkdir "$work/unpacked"
touch "$work/unpacked/old"
unpack "$archive"
[ ! -e "$work/unpacked/old" ]
names=$(ls "$work/unpacked")
[ "$names" = "$(tar -tzf "$archive")" ]
some=${names%%$'\n'*}

says "cannot be unpacked" unpack "$work/missing.tar.gz"
size=$(stat -c %s "$archive")
head -c $((size / 2)) "$archive" >"$work/half.tar.gz"
says "cannot be unpacked" unpack "$work/half.tar.gz"
head -c $((size - 200)) "$archive" >"$work/short.tar.gz"
says "cannot be unpacked" unpack "$work/short.tar.gz"
cp "$archive" "$work/changed.tar.gz"
printf 'heddle' | dd of="$work/changed.tar.gz" bs=1 seek=$((size / 2)) conv=notrunc status=none
says "cannot be unpacked" unpack "$work/changed.tar.gz"

tar -czf "$work/empty.tar.gz" -C "$work/empty" .
says "holds no input" unpack "$work/empty.tar.gz"
printf 'other bytes' >"$work/other/$some"
tar -czf "$work/other.tar.gz" -C "$work/other" "$some"
says "the input $some is damaged" unpack "$work/other.tar.gz"

# An input that is added is unpacked with the others; to add it again changes nothing.
mkdir "$work/corpus"
cp "$here/pack.sh" "$work/pack.sh"
packed=$work/corpus/service_fuzz.tar.gz
cp "$archive" "$packed"
printf 'an input' >"$work/other/added"
"$work/pack.sh" service_fuzz "$work/other/added" >"$work/said"
unpack "$packed"
[ "$(tar -tzf "$packed" | wc -l)" = $(($(wc -l <<<"$names") + 1)) ]
cmp "$work/other/added" "$work/unpacked/$(sha1sum <"$work/other/added" | cut -d ' ' -f 1)"
cp "$packed" "$work/once.tar.gz"
"$work/pack.sh" service_fuzz "$work/other/added" >"$work/said"
cmp "$work/once.tar.gz" "$packed"
