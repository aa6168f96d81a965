#!/usr/bin/env bash
# Adds inputs to an archive of the corpus, each under the SHA-1 of its bytes, as libFuzzer names them. An archive that is not there is made.
# The same inputs give the same archive.
#
#   pack.sh llvm_fuzz|protocols_fuzz|service_fuzz|readers_fuzz [FILE|FOLDER]...    without files: packs the same inputs again
set -euo pipefail
export LC_ALL=C
case ${1-} in
  llvm_fuzz | protocols_fuzz | service_fuzz | readers_fuzz) archive=$(cd -- "$(dirname -- "$0")" && pwd)/corpus/$1.tar.gz ;;
  *)
    echo "usage: pack.sh llvm_fuzz|protocols_fuzz|service_fuzz|readers_fuzz [FILE|FOLDER]..." >&2
    exit 2
    ;;
esac
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/inputs"
[ ! -e "$archive" ] || tar -xzf "$archive" -C "$work/inputs"
for given in "$@"; do
  [ -e "$given" ] || { echo "pack.sh: there is no $given" >&2; exit 1; }
  find "$given" -type f -print0 |
    while IFS= read -r -d '' input; do cp -- "$input" "$work/inputs/$(sha1sum <"$input" | cut -d ' ' -f 1)"; done
done
ls "$work/inputs" >"$work/names"
[ -s "$work/names" ] || { echo "pack.sh: no inputs" >&2; exit 1; }
tar -c --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -C "$work/inputs" -T "$work/names" |
  gzip -n -9 >"$work/archive"
cp "$work/archive" "$archive"
echo "$archive: $(wc -l <"$work/names") inputs"
