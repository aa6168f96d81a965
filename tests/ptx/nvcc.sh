#!/bin/sh
# nvcc.sh HEDDLE SOURCES FOLDER: `heddle nvcc` compiles, links, and its programs find what they are to find.
set -eu
heddle=$1 sources=$2
rm -rf "$3"
mkdir -p "$3"
cd "$3"

expect() { # TEXT COMMAND...
  text=$1
  shift
  "$@" >told 2>&1 || true
  if ! grep -qE "$text" told; then
    echo "\"$text\" is not in what this says: $*"
    cat told
    exit 1
  fi
}

# As a Makefile has it: objects, then a program; what is asked of a device, and libraries of CUDA, are left aside.
"$heddle" nvcc -ccbin g++ -m64 -gencode arch=compute_80,code=sm_80 -O3 -Xcompiler -Wall -c "$sources/driver_api.cpp" -o driver_api.o
"$heddle" nvcc -arch=sm_80 driver_api.o "$sources/kernels.ptx" -lcuda -lcudart -o program
expect 'driver_api +ok +ok +20 ' ./program fuzz --jobs 1 --schedules 20 -- "$sources/kernels.ptx"
expect 'driver_api: race at .*kernels.cu:14' ./program fuzz --jobs 1 --schedules 20 -- "$sources/kernels.ptx" planted
# One that it was not built with, from a fat binary, which is compressed.
printf 'extern "C" __device__ unsigned counter = 5;
extern "C" __global__ void rotates(unsigned* out, unsigned) { out[threadIdx.x] = (threadIdx.x + 1) %% 64; }' >rotates.cu
"$heddle" nvcc -fatbin -arch=sm_80 rotates.cu -o rotates.fatbin
expect 'cuModuleLoad: this program was not built with that image' ./program fuzz --jobs 1 --schedules 1 -- rotates.fatbin
sed 's/cuModuleLoadData(&module, text.c_str())/cuModuleLoad(\&module, path.c_str())/' "$sources/driver_api.cpp" >by_path.cpp
"$heddle" nvcc by_path.cpp rotates.fatbin -o by_path
expect 'by_path +ok +ok +20 ' ./by_path fuzz --jobs 1 --schedules 20 -- rotates.fatbin

# An access that a header of the toolkit makes for the host stands where the program calls it.
cat >told_by_host.cu <<'END'
#include <cuda/atomic>
using word = cuda::atomic_ref<int, cuda::thread_scope_system>;
__global__ void sets(int* words) { words[1] = 1; }
int main() {
  int* words;
  cudaMallocManaged(&words, 2 * sizeof(int));
  word(words[0]).store(0);
  sets<<<1, 1>>>(words);
  word(words[1]).load();
  cudaDeviceSynchronize();
}
END
"$heddle" nvcc -std=c++17 told_by_host.cu -o told_by_host
expect 'load seq_cst system of .*told_by_host.cu:9$' ./told_by_host fuzz --jobs 1 --schedules 20

expect 'heddle nvcc: no input file' "$heddle" nvcc -O2
expect 'heddle nvcc: a shared library is not made' "$heddle" nvcc -shared driver_api.o
expect 'heddle nvcc: -o needs a value' "$heddle" nvcc driver_api.o -o
expect 'release' "$heddle" nvcc --version
