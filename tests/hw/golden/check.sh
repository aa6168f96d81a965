#!/bin/sh
# Compiles one file to assembly and compares what came out with what must come out.
#
#   check.sh <ptx, gcn, ir, or paths> <expectations> <section of them> <compiler, or ""> <argument>...
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
case $filter in
  paths) python3 "$here/paths.py" "$folder/assembly" >"$folder/found" ;;
  *) awk -v machine="$filter" -f "$here/filter.awk" "$folder/assembly" >"$folder/found" ;;
esac
case $expectations in
  /*) ;;
  *) expectations=$here/$expectations ;;
esac
awk -v section="$section" -f "$here/compare.awk" "$expectations" "$folder/found" || {
  echo "compiled by: $("$compiler" --version 2>/dev/null | grep -iE "version|release" | head -2)"
  exit 1
}
