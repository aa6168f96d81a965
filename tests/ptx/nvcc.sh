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
expect '^heddle nvcc: .*kernels.ptx is for a program that loads it, and is named where that is linked: ' "$heddle" nvcc -c "$sources/kernels.ptx" -o kernels.o
# A place is named as by the other commands, wherever nvcc has its files between.
cat >told_of_here.cu <<'END'
__global__ void stores(int* to) { *to = threadIdx.x; }
int main() {
  int* word;
  cudaMalloc(&word, sizeof *word);
  stores<<<1, 2>>>(word);
  cudaDeviceSynchronize();
}
END
mkdir between
TMPDIR=$PWD/between "$heddle" nvcc told_of_here.cu -o told_of_here
expect '^told_of_here: race at told_of_here.cu:1: ' ./told_of_here fuzz --schedules 20
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

# An assertion of a kernel reads as one of the host.
printf '#include <cassert>\n__global__ void checks(int n) { assert(n == 2); }\nint main() { checks<<<1, 1>>>(1); cudaDeviceSynchronize(); }\n' >asserts.cu
"$heddle" nvcc asserts.cu -o asserts
expect '^  assert\(n == 2\)$' ./asserts fuzz --jobs 1 --schedules 1

# Device code in several files: each compiles alone, and the program's linker brings them together.
cat >parts.h <<'END'
extern __device__ int total;
extern __constant__ int factor;
extern __managed__ int told;
typedef int (*change)(int);
extern __device__ change changes[2];
template <typename T>
__device__ __noinline__ T largest(T a, T b) {
  static __shared__ T kept;
  return kept = a < b ? b : a;
}
struct shape {
  __device__ virtual int area() const = 0;
};
__device__ const shape* made(int side);
__device__ int add(int* to, int n);
END
cat >one.cu <<'END'
#include "parts.h"
#include <cstdlib>
__device__ int total;
__constant__ int factor = 3;
__managed__ int told;
__device__ int doubled(int n) { return 2 * n; }
__device__ int negated(int n) { return -n; }
__device__ change changes[2] = {doubled, negated};
__global__ void first(int* out) {
  add(&total, 1);
  if (threadIdx.x == 0) out[0] = largest(20, 21) * made(2)->area();
#ifdef PLANT_PLAIN_STORE
  if (threadIdx.x == 0) total = 7;
#endif
}
void run_other(int* out);
int main() {
  int *out, sum, five = 5;
  cudaMallocManaged(&out, 2 * sizeof(int));
  first<<<1, 2>>>(out);
  cudaDeviceSynchronize();
  cudaMemcpyFromSymbol(&sum, total, sizeof sum);
  cudaMemcpyToSymbol(factor, &five, sizeof five);
  run_other(out);
  cudaDeviceSynchronize();
  if (out[0] != 84 || sum != 2 || told != 40 || out[1] != 12) abort();
}
END
cat >two.cu <<'END'
#include "parts.h"
struct square : shape {
  int side;
  __device__ square(int n) : side(n) {}
  __device__ int area() const override { return side * side; }
};
__device__ const shape* made(int side) { return new square(side); }
__device__ int add(int* to, int n) { return atomicAdd(to, n); }
static __device__ int mine = 2;
__global__ void other(int* out) {
  add(&total, 10);
  told = largest(1, 2) * mine * changes[0](factor) * -changes[1](1);
  out[1] = total;
}
void run_other(int* out) { other<<<1, 1>>>(out); }
END
"$heddle" nvcc -arch=sm_80 -dc two.cu -o two.o
"$heddle" nvcc -arch=sm_80 -rdc=true -c one.cu -o one.o
"$heddle" nvcc -arch=sm_80 -dlink one.o two.o -o linked.o
"$heddle" nvcc one.o two.o linked.o -lcudadevrt -o parts
expect 'one +ok +ok +20 ' ./parts fuzz --jobs 1 --schedules 20
expect '^one: ok, ' ./parts run
"$heddle" nvcc -rdc=true -DPLANT_PLAIN_STORE one.cu two.cu -o planted
expect 'wave 0 lane 0 stores total by a plain access .*one.cu:13' ./planted fuzz --jobs 1 --schedules 20
expect 'wave 0 lane 1 changes total from 1 to 2 .*two.cu:8' ./planted fuzz --jobs 1 --schedules 20
expect 'undefined (reference to|symbol:) .*add' "$heddle" nvcc one.o -o half

expect 'heddle nvcc: no input file' "$heddle" nvcc -O2
"$heddle" nvcc -shared two.o -o libtwo.so
"$heddle" nvcc -L. -ltwo one.o -ltwo -o of_library
expect 'one +ok +ok +20 ' ./of_library fuzz --jobs 1 --schedules 20
expect 'heddle nvcc: -o needs a value' "$heddle" nvcc driver_api.o -o
expect 'release' "$heddle" nvcc --version
printf 'version:\n\t$(NVCC) --version\n' >by_nvcc
expect 'release' make -s -f by_nvcc NVCC="$heddle nvcc"

# A source of another folder has one name, in the code of the device and in that of the host.
printf '__global__ void stores(int* words) { words[0] = blockIdx.x; }
int main() {
  int* words;
  cudaMallocManaged(&words, 4);
  stores<<<2, 1>>>(words);
  cudaDeviceSynchronize();
  return words[0] == 2 ? 0 : 1;
}\n' >apart.cu
mkdir below
cd below
"$heddle" nvcc ../apart.cu -o apart
expect 'apart: race at \.\./apart\.cu:1: ' ./apart fuzz --jobs 1 --schedules 20
"$heddle" nvcc ../one.cu ../two.cu -rdc=true -o parts
expect 'one +ok +ok +20 ' ./parts fuzz --jobs 1 --schedules 20
cd ..
