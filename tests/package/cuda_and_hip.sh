#!/usr/bin/env bash
# The program of docs/cuda-and-hip.md, compiled by the command that stands there, against the installed headers.
#
#   cuda_and_hip.sh nvcc|hipcc SOURCE PREFIX WORK PATH_OF_COMPILER
set -euo pipefail
name=$1 source=$2 prefix=$3 work=$4 compiler=$5
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: there is no $name"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
block() { awk -v name="$1" -f "$source/tests/docs/block.awk" "$source/docs/cuda-and-hip.md" >"$work/$1"; }
block ask.cu
case $name in
  nvcc) block nvcc ;;
  hipcc) block hipcc ;;
esac
cd "$work"
PATH=$(dirname "$compiler"):$PATH bash -ec "$(sed "s|DIR/|$prefix/|" "$name")"
test -x ask
