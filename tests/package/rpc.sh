#!/usr/bin/env bash
# The headers of the RPC library alone, installed: compiled by one compiler and linked without the C++ standard library's binary.
#
#   rpc.sh MACHINE PREFIX WORK COMPILER    MACHINE: host, cuda or hip
set -euo pipefail
machine=$1 prefix=$2 work=$3 compiler=$4
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: there is no ${compiler:-compiler for $machine}"
  exit 77
fi
source=$(dirname "$0")/rpc/call.cpp
mkdir -p "$work"
# Nothing but these headers: neither those of the simulator nor those of the tools.
rm -rf "$work/include"
mkdir -p "$work/include/heddle"
cp -r "$prefix/include/heddle/rpc" "$prefix/include/heddle/hw" "$work/include/heddle/"
common=(-std=c++20 -I"$work/include" -c "$source" -o "$work/call.o")
case $machine in
  host) "$compiler" -O2 -Wall -Wextra -Werror -fno-exceptions "${common[@]}" ;;
  cuda) "$compiler" -x cu -arch=sm_75 -Xcompiler -fno-exceptions,-fno-threadsafe-statics "${common[@]}" ;;
  hip) "$compiler" -x hip --offload-arch=gfx90a -fno-exceptions "${common[@]}" ;;
esac
case $machine in
  # The driver for C does not link the C++ library.
  host) gcc "$work/call.o" -pthread -o "$work/call" ;;
  cuda)
    toolkit=$("$compiler" --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/^.*TOP=//p')
    gcc "$work/call.o" -L"$toolkit/lib64" -lcudart_static -ldl -lrt -pthread -o "$work/call"
    ;;
  hip) "$compiler" -nostdlib++ "$work/call.o" -o "$work/call" ;;
esac
"$work/call"
