#!/bin/sh
# Links two files that clang has compiled for CUDA as relocatable device code, as machine code and as clang's own code, with optimization at
# link time; and looks at what comes out.
#
#   link.sh <clang> <nvlink> <clang-nvlink-wrapper> <root of CUDA> <architecture> <argument>...
#
# Exit status 0: as it must be; 1: not so, with a line.
set -eu
here=$(dirname "$0")
clang=$1
nvlink=$2
wrapper=$3
cuda=$4
arch=$5
shift 5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "link: $*"
  exit 1
}
compile() {
  "$clang" "$@" -x cuda --cuda-path="$cuda" --cuda-gpu-arch="$arch" --cuda-device-only -fgpu-rdc -O2 -std=c++20 "$here/linked.cpp"
}
functions() { readelf -sW "$1" | awk '$4 == "FUNC" && $7 != "UND" { print $NF }' | sort | tr '\n' ' '; }

# By nvlink: the kernel calls the function of the other file, and without that file there is no program.
compile "$@" -c -o "$folder/kernel.o"
compile "$@" -DCALLED -c -o "$folder/called.o"
if "$nvlink" --arch "$arch" "$folder/kernel.o" -o "$folder/alone.cubin" >"$folder/told" 2>&1; then fail "a kernel is linked without what it calls"; fi
grep -q "Undefined reference to '.*ask" "$folder/told" || fail "nvlink says something else: $(cat "$folder/told")"
"$nvlink" --arch "$arch" "$folder/kernel.o" "$folder/called.o" -o "$folder/linked.cubin"
found=$(functions "$folder/linked.cubin")
case $found in
  *ask*one_call*) ;;
  *) fail "the program has these functions, and not the kernel and what it calls: $found" ;;
esac

# With optimization at link time: the call is gone, and the kernel is what port.cpp's is, where all stands in one file.
compile "$@" -emit-llvm -c -o "$folder/kernel.bc"
compile "$@" -DCALLED -emit-llvm -c -o "$folder/called.bc"
optimized() { "$wrapper" --arch "$arch" --feature +ptx83 --cuda-path="$cuda" -mllvm -inline-threshold=100000 "$@" "$folder/kernel.bc" "$folder/called.bc"; }
optimized -o "$folder/optimized.cubin"
found=$(functions "$folder/optimized.cubin")
[ "$found" = "one_call " ] || fail "the optimized program has these functions: $found"
optimized --lto-emit-asm -o "$folder/optimized.ptx"
awk -v machine=ptx -f "$here/filter.awk" "$folder/optimized.ptx" >"$folder/found"
# What is said of that kernel alone.
awk '/^\[/ { print } /^one_call / { print }' "$here/port.expected" >"$folder/port.expected"
awk -v section=ptx -f "$here/compare.awk" "$folder/port.expected" "$folder/found"
