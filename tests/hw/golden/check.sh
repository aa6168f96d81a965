#!/bin/sh
# Compiles one file to assembly and compares what came out with what must come out.
#
#   check.sh <ptx, gcn, ir, or paths> <expectations> <section of them> <compiler, or ""> <argument>...
#
# ptx+paths and gcn+paths are both of one compilation; the paths' section is that of the same name without "clang ", and " paths" behind it.
#
# Exit status 0: as expected; 1: not so, each difference printed; 77: no such compiler here.
set -eu
here=$(dirname "$0")
filter=$1
expectations=$2
section=$3
compiler=$4
shift 4
if [ -z "$compiler" ]; then
  echo "SKIP: no compiler for $section of $expectations on this machine"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$compiler" "$@" -o "$folder/assembly"
case $expectations in
  /*) ;;
  *) expectations=$here/$expectations ;;
esac

# compare <filter> <section>
compare() {
  case $1 in
    paths) python3 "$here/paths.py" "$folder/assembly" >"$folder/found" ;;
    *) awk -v machine="$1" -f "$here/filter.awk" "$folder/assembly" >"$folder/found" ;;
  esac
  awk -v section="$2" -f "$here/compare.awk" "$expectations" "$folder/found"
}
status=0
compare "${filter%+paths}" "$section" || status=1
case $filter in
  *+paths) compare paths "${section#clang } paths" || status=1 ;;
esac
if [ $status != 0 ]; then
  echo "compiled by: $("$compiler" --version 2>/dev/null | grep -iE "version|release" | head -2)"
fi
exit $status
