#!/bin/sh
# Compiles openmp.cpp by clang, and runs it or looks at its code:
#
#   openmp.sh host <compiler> <argument>...      runs it, where target regions run on the host
#   openmp.sh nvptx|amdgcn <compiler> <argument>...   the kernel has the port's orders; of AMD it is LLVM's code, for the linker
#
# Exit status 0: as it must be; 1: not so, with a line.
set -eu
what=$1
compiler=$2
shift 2
source=$(dirname "$0")/openmp.cpp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "openmp: $*"
  exit 1
}
if [ "$what" = host ]; then
  "$compiler" -std=c++20 -O2 -Wall -Wextra -Werror -fopenmp "$@" "$source" -o "$folder/program"
  "$folder/program"
  exit
fi
"$compiler" -std=c++20 -O2 -Wall -Wextra -Werror -fopenmp --offload-device-only -nogpulib -S "$@" "$source" -o "$folder/code"
must() { grep -qE -- "$1" "$folder/code" || fail "there is no $1 in the code of $what"; }
must_not() { ! grep -E -- "$1" "$folder/code" || fail "there is a $1 in the code of $what"; }
must '__omp_offloading_.*call_from_target_region'
if [ "$what" = nvptx ]; then
  # The lock, the hand-over, the wait, and the acquire behind it; no hand-over is relaxed.
  must 'atom\.or\.acquire\.gpu\.b32'
  must 'st\.release\.sys\.b32'
  must 'ld\.relaxed\.sys\.b32'
  must '(ld\.acquire\.sys\.b32|fence\.acquire\.sys|fence\.acq_rel\.sys)'
  must_not 'st\.relaxed\.sys'
else
  must 'atomicrmw or .*syncscope\("agent(-one-as)?"\) acquire'
  must 'store atomic i32 .* syncscope\("one-as"\) release'
  must 'load atomic i32, .* syncscope\("one-as"\) monotonic'
  must '(fence acquire|load atomic i32, .* syncscope\("one-as"\) acquire)'
  must_not 'store atomic i32 .* syncscope\("one-as"\) monotonic'
fi
