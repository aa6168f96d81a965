#!/bin/bash
# compilers.sh HEDDLE EXAMPLES FOLDER: `heddle c++`, `cc`, `hipcc` and `cuda` take a compiler's place in a Makefile, and what they link finds what it is to find.
set -euo pipefail
. "$(dirname "$0")/expect.sh"
heddle=$1 examples=$2
rm -rf "$3"
mkdir -p "$3/parts"
cd "$3"

# A library and a program in C++14, as a Makefile has them: what one file keeps by itself is the other's by -shared and -l.
cat >parts/counter.h <<'END'
struct counter {
  int count = 0;
  void add();
};
extern int made_ready;
END
cat >parts/counter.cc <<'END'
#include "counter.h"
#include <mutex>
static std::mutex only_one;
int made_ready = [] { return 7; }();
void counter::add() {
#ifndef PLANT_NO_LOCK
  std::lock_guard<std::mutex> mine(only_one);
#endif
  ++count;
}
END
cat >main.cc <<'END'
#include <cstdlib>
#include <cstring>
#include <thread>
#include "counter.h"
static int runs;
int main(int count, char** words) {
  counter all;
  std::thread other([&] { all.add(); });
  all.add();
  other.join();
  asm volatile("nop");
  if (++runs != 1 || all.count != 2 || made_ready != 7 || __cplusplus != 201402L) abort();
  return count == 2 && std::strcmp(words[1], "fails") == 0;
}
END
cat >Makefile <<'END'
CXXFLAGS = -O3 -Wall -Werror -std=c++14 -MMD -MP -fPIC -flto -fsanitize=thread -Iparts $(MORE)
program: main.o libcounter.so
	$(CXX) -flto -fsanitize=thread -o $@ -L. -lcounter main.o -Wl,-rpath,. -lcounter -pthread
libcounter.so: parts/counter.o
	$(CXX) -shared -Wl,-soname,libcounter.so -o $@ $^
-include main.d parts/counter.d
END
make -s CXX="$heddle c++"
expect '^main +ok +ok +50 ' ./program fuzz --jobs 1 --schedules 50
expect 'assertion' ./program run -- fails
expect '^main.o: main.cc parts/counter.h' cat main.d
touch parts/counter.h
expect 'c\+\+ .*-o main.o' make -n CXX="$heddle c++"
make -s CXX="$heddle c++" MORE=-DPLANT_NO_LOCK
expect 'main: race at parts/counter.cc:9: ' ./program fuzz --jobs 1 --schedules 50

# C, from a file with words; both in one command.
cat >mail.c <<'END'
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int letter;
static atomic_int flag;
static void* sends(void* new) {
  letter = *(int*)new;
  atomic_store_explicit(&flag, 1, ORDER);
  return NULL;
}
int main(void) {
  pthread_t thread;
  int new = 42;
  pthread_create(&thread, NULL, sends, &new);
  while (!atomic_load_explicit(&flag, memory_order_acquire)) {
  }
  assert(letter == 42);
  return pthread_join(thread, NULL);
}
END
echo '-std=c11 "-DORDER=memory_order_release" -pthread' >words
"$heddle" cc @words mail.c -o mail
expect '^mail: proved ' ./mail verify
"$heddle" cc -std=c11 -DORDER=memory_order_relaxed mail.c -o mail
expect 'missing: a release at mail.c:8' ./mail fuzz --jobs 1 --schedules 50

# Fences that are instructions, and stores past the caches; what is not seen is told.
cat >fences.c <<'END'
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
static int data, flag, other, found[2];
static void* sends(void* from) {
  _mm_stream_si32(&data, 7);
#ifndef PLANT_NO_FENCE
  _mm_sfence();
#endif
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
#ifndef PLANT_NO_MFENCE
  __asm__ __volatile__("mfence" ::: "memory");
#endif
  found[0] = __atomic_load_n(&other, __ATOMIC_RELAXED);
  return from;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, sends, NULL);
  __atomic_store_n(&other, 1, __ATOMIC_RELAXED);
  __asm__ __volatile__("lock; addl $0,0(%%rsp)" ::: "memory");
  found[1] = __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
  if (found[1]) assert(data == 7);
  pthread_join(thread, NULL);
  assert(found[0] || found[1]);
  void* cleared = found;
  __asm__ __volatile__("rep stosb" : "+D"(cleared) : "c"(sizeof found), "a"(0) : "memory");
}
END
expect 'fences.c:27: warning: heddle does not see what this asm statement reads and writes' "$heddle" cc -O3 fences.c -o fences
expect '^fences: proved ' ./fences verify
"$heddle" cc -DPLANT_NO_FENCE fences.c -o fences 2>/dev/null
expect '^fences: race at fences.c:' ./fences verify
"$heddle" cc -DPLANT_NO_MFENCE fences.c -o fences 2>/dev/null
expect '^fences: assertion at fences.c:25' ./fences verify
# A result that says of a failure is at main(), in a search and in its repetition.
printf '#include <thread>\n\nint main() {\n  std::thread([] {}).join();\n  return 3;\n}\n' >returns.cpp
"$heddle" c++ returns.cpp -o returns
expect '^returns: assertion at returns.cpp:3$' ./returns verify
if grep 'not reproducible' told; then exit 1; fi
cp fences.c fences.cu
"$heddle" cuda fences.cu -o fences
expect '^fences: proved ' ./fences verify

# Kernels by one, their host by another, and by one alone.
cat >shared.h <<'END'
#include <cuda_runtime.h>
__global__ void __launch_bounds__(64) counts(int* to, uint2 by);
__host__ __device__ inline int lanes() { return 32; }
void launch(int* to);
END
cat >kernel.cu <<'END'
#include "shared.h"
__global__ void counts(int* to, uint2 by) { atomicAdd(to, by.x % INT_MAX); }
void launch(int* to) { counts<<<2, lanes()>>>(to, {1, 0}); }
END
cat >host.cc <<'END'
#include "shared.h"
#include <cstdlib>

int main() {
  int* count;
  cudaMallocManaged(&count, sizeof *count);
  *count = 0;
  launch(count);
#ifndef PLANT_NO_WAIT
  cudaThreadSynchronize();
#endif
  if (*count != 2 * lanes()) abort();
}
END
"$heddle" cuda -dc -gencode arch=compute_80,code=sm_80 --std=c++17 -Xcompiler -Wall,-fPIC -O3 kernel.cu -o kernel.o
"$heddle" cuda -dlink kernel.o -o linked.o
"$heddle" c++ -std=c++11 -I/usr/local/cuda/include -c host.cc -o host.o 2>told
[ ! -s told ] || { cat told; exit 1; }
"$heddle" c++ kernel.o linked.o host.o -L/usr/local/cuda/lib64 -lcudart -o both
expect '^host +ok +ok +20 ' ./both fuzz --jobs 1 --schedules 20
ar crs libkernel.a kernel.o
"$heddle" cuda -DPLANT_NO_WAIT libkernel.a host.cc -o both
expect '^host: (crash|race) at host.cc:12: ' ./both fuzz --jobs 1 --schedules 20
cp "$examples/hip_fifo.hip" fifo.cpp
"$heddle" hipcc --offload-arch=gfx90a -O2 fifo.cpp -o fifo
expect '^fifo +ok +ok +20 ' ./fifo fuzz --jobs 1 --schedules 20
printf '#include <hip/hip_runtime.h>\nstatic_assert(warpSize == LANES && HIP_VERSION >= 60000000);\n__global__ void nothing() {}\n' >width.cpp
"$heddle" hipcc -DLANES=64 --offload-arch=gfx942 -c width.cpp
"$heddle" hipcc -DLANES=32 --offload-arch=gfx1100 -c width.cpp
# Vectors of clang have their size, or are an error: g++ would make each a value of one element.
printf 'typedef float four __attribute__((ext_vector_type(4)));\nstatic_assert(sizeof(four) > sizeof(float), "one element");\n' >vectors.hip
"$heddle" hipcc -c vectors.hip 2>told || grep 'vectors.hip:1:.*vectors_of_ext_vector_type_need_clang' told >/dev/null || { cat told; exit 1; }

# Where the processor has other work, a run does not stand still: it is let go on for as long as it could have run.
cat >busy.cc <<'END'
#include <sys/resource.h>
long used_us() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec;
}
int main() {
  for (const long begin = used_us(); used_us() - begin < 400000;) {
  }
}
END
"$heddle" c++ busy.cc -o busy
processor=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
others=()
for n in 1 2 3; do
  taskset -c "$processor" sh -c 'while :; do :; done' &
  others+=($!)
done
trap 'kill "${others[@]}" 2>/dev/null || true' EXIT
expect '^busy +ok +ok +1 ' taskset -c "$processor" ./busy fuzz --jobs 1 --schedules 1 --stuck 1
kill "${others[@]}"
expect '^busy +ok +stuck +1 ' ./busy fuzz --jobs 1 --schedules 1 --stuck 0.1

# asm statements that read and write memory: a lock, a count and a flag. What one of them does, heddle finds as it finds what C does.
cat >instructions.c <<'END'
#include <assert.h>
#include <pthread.h>
static unsigned char lock;
static int under_lock, count, letter;
static long flag;
static int compare(int* at, int old, int new) {
  char done;
  __asm__ __volatile__("lock; cmpxchgl %3, %0; setz %1" : "+m"(*at), "=q"(done), "+a"(old) : "r"(new) : "memory", "cc");
  return done;
}
static long seen(void) {
  long value;
  __asm__ __volatile__("movq %1, %0" : "=r"(value) : "m"(flag) : "memory");
  return value;
}
static void* works(void* given) {
  unsigned char held = 1;
#ifndef PLANT_NO_LOCK
  if (given)
    do __asm__ __volatile__("xchgb %0, %1" : "+q"(held), [lock] "+m"(lock)::"memory");
    while (held);
  else  // as in DPDK's rte_spinlock_lock
    __asm__ __volatile__("1: xchgb %[lock], %[held]\n test %[held], %[held]\n jz 3f\n 2: pause\n cmpb $0, %[lock]\n jnz 2b\n jmp 1b\n 3:"
                         : [lock] "=m"(lock), [held] "=q"(held) : "[held]"(held) : "memory");
#endif
  ++under_lock;
  __asm__ __volatile__("movb $0, %[lock]" : [lock] "=m"(lock)::"memory");
  int add = 1;
#ifdef PLANT_NOT_LOCKED
  __asm__ __volatile__("incl %0" : "+m"(count)::"memory", "cc");
#else
  __asm__ __volatile__("lock\n\txaddl %0, %1" : "+r"(add), "+m"(count)::"memory", "cc");
#endif
  if (given) {
    letter = 7;
#ifdef PLANT_TOO_LATE
    __asm__ __volatile__("movq %1, %0" : "=m"(flag) : "r"(1L) : "memory");
    letter = 8;
#else
    __asm__ __volatile__("movq %1, %0" : "=m"(flag) : "r"(1L) : "memory");
#endif
  }
  return given;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, works, &letter);
  works(NULL);
  while (!seen()) {
  }
  assert(letter == 7);
  pthread_join(thread, NULL);
  assert(under_lock == 2 && compare(&count, 2, 3) && count == 3 && !compare(&count, 2, 4));
}
END
"$heddle" cc -O2 -Wall -Wextra instructions.c -o instructions >told 2>&1
[ ! -s told ] || { cat told && exit 1; }
expect '^instructions +ok +ok +1,000 ' ./instructions fuzz --jobs 1
for plant in 'NO_LOCK race at instructions.c:26' 'NOT_LOCKED assertion at instructions.c:53' 'TOO_LATE race at instructions.c:'; do
  "$heddle" cc -DPLANT_"${plant%% *}" instructions.c -o instructions
  expect "^instructions: ${plant#* }" ./instructions fuzz --jobs 1 --schedules 300
done
sed 's/::"memory", "cc"/::"cc"/' instructions.c >not_ordered.c
expect 'not_ordered.c:32: warning: this asm statement has no "memory"' "$heddle" cc -c not_ordered.c -o not_ordered.o

# The processor's own clock is the simulator's: a time-out by it fires in some schedule, and that run can be repeated.
cat >clock.c <<'END'
#include <assert.h>
#include <pthread.h>
#include <x86intrin.h>
static int ready;
static void* works(void* given) {
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  return given;
}
static unsigned long long now(void) {
#ifdef BY_ASM
  unsigned low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return (unsigned long long)high << 32 | low;
#else
  return __rdtsc();
#endif
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, works, NULL);
  const unsigned long long end = now() + 2000;
  int seen = 0;
  while (!seen && now() < end) seen = __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
  assert(seen);
  pthread_join(thread, NULL);
}
END
for way in '' -DBY_ASM; do
  "$heddle" cc $way clock.c -o clock
  expect '^clock: assertion at clock.c:24' ./clock fuzz --jobs 1 --schedules 300
  expect '^clock: assertion at clock.c:24' ./clock verify --jobs 1
done

# Each thread's own variables have addresses of their own: threads are told apart by them, and one finds what is another's.
cat >own.cc <<'END'
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
struct record {
  std::atomic<int> state{0};
  int letter = 0;
};
static thread_local record mine;
thread_local int begins = 3;
static std::once_flag once;
static std::atomic<record*> all[2];
static void* works(int n) {
  static thread_local char id;
  std::call_once(once, [] { ++begins; });
  mine.letter = 10 + n;
#ifdef PLANT_RELAXED
  mine.state.store(1, std::memory_order_relaxed);
#else
  mine.state.store(1, std::memory_order_release);
#endif
  all[n].store(&mine, std::memory_order_relaxed);
  for (int other = 1 - n;;)
    if (record* of = all[other].load(std::memory_order_relaxed)) {
      if (of == &mine || of->state.load(std::memory_order_acquire) == 0) continue;
      assert(of->letter == 10 + other);
      break;
    }
  all[n].load()->state.exchange(2);
  return &id;
}
int main() {
  void* ids[2];
  std::atomic<int> ended{0};
  record* left = nullptr;
  std::thread thread([&] {
    ids[1] = works(1);
    left = &mine;
    ended = 1;
    while (ended != 2) {
    }
  });
  ids[0] = works(0);
  while (ended != 1) {
  }
  assert(ids[0] != ids[1] && mine.letter == 10);
  ended = 2;
  thread.join();
#ifdef PLANT_USE_AFTER_END
  left->letter = 1;
#endif
  assert(begins >= 3);
}
END
"$heddle" c++ own.cc -o own
expect '^own +ok +ok +300 ' ./own fuzz --jobs 1 --schedules 300
"$heddle" c++ -DPLANT_RELAXED own.cc -o own
expect '^own: race at own.cc:26' ./own fuzz --jobs 1 --schedules 300
"$heddle" c++ -DPLANT_USE_AFTER_END own.cc -o own
expect '^own: memory at own.cc:50' ./own fuzz --jobs 1 --schedules 300

# Handlers of what comes from outside are taken; a good run is told from a bad one by what differs, and not by digests of what threads are given.
cat >handlers.cc <<'END'
#include <cassert>
#include <csignal>
#include <thread>
#include <atomic>
int main() {
  struct sigaction how = {};
  how.sa_handler = [](int) {};
  assert(sigaction(SIGUSR1, &how, nullptr) == 0 && std::signal(SIGTERM, [](int) {}) == SIG_DFL);
  std::atomic<int> turn{0};
  int a = 0, b = 0, c = 0;
  std::thread one([&turn, &a, &b, &c] { a = b = c = 1, turn = 1; });
  std::thread two([&turn, &a, &b, &c] { if (turn) a += b + c; });
  one.join();
  two.join();
  assert(a == 3);
#ifdef PLANT_CRASHES
  std::signal(SIGSEGV, [](int) {});
#endif
}
END
"$heddle" c++ handlers.cc -o handlers
"./handlers" fuzz --jobs 1 --schedules 100 >told || true
grep 'good against bad' told >/dev/null && grep 'handlers: assertion at handlers.cc:15' told >/dev/null && ! grep -E '(good|bad) .*= 0x[0-9a-f]{13}' told || {
  cat told
  exit 1
}
sed -i 's/assert(a == 3)/assert(a)/' handlers.cc
"$heddle" c++ -DPLANT_CRASHES handlers.cc -o handlers
expect '^handlers: unsupported at handlers.cc:17' ./handlers fuzz --jobs 1 --schedules 100

# A build that names its compilers by itself.
printf 'all:\n\tg++ -c parts/counter.cc -o counter.o -O2\n\tgcc -DORDER=memory_order_relaxed -c mail.c -o mail.o\n\tc++ counter.o mail.o -o of_build -pthread\n' >by_name
"$heddle" build make -s -f by_name
expect 'missing: a release at mail.c:8' ./of_build fuzz --jobs 1 --schedules 50
printf 'cmake_minimum_required(VERSION 3.20)\nproject(of_cmake C)\nadd_executable(mail mail.c)\nadd_definitions(-DORDER=memory_order_relaxed)\n' >CMakeLists.txt
"$heddle" build cmake -B of_cmake . >/dev/null
make -s -C of_cmake >/dev/null
expect 'missing: a release at .*mail.c:8' of_cmake/mail fuzz --jobs 1 --schedules 50
expect '^gone$' sh -c "'$heddle' build false || echo gone"
# One that runs what it has built; tests that call programs with arguments of their own.
cat >writes.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <thread>
int main(int count, char** words) {
  int value = std::atoi(words[1]);
  std::thread([&] { std::printf("constexpr int value = %d;\n", value); }).join();
  return count == 2 && value == 41 ? 0 : 3;
}
END
printf 'all: value.h writes\nvalue.h: writes\n\t./writes 41 >value.h\nwrites: writes.cc\n\tg++ writes.cc -o writes\n' >by_itself
"$heddle" build make -s -f by_itself
expect '^constexpr int value = 41;$' cat value.h
[ "$(wc -l <value.h)" = 1 ] || { cat value.h; exit 1; }
expect 'writes: assertion .*returned 3.*status 1' sh -c 'echo $(HEDDLE_AS=itself ./writes 40 2>&1; echo status $?)'
expect '^writes +ok +ok +20 ' env HEDDLE_AS="fuzz --jobs 1 -n 20" ./writes 41
expect '^writes +ok +assertion +20 ' env HEDDLE_AS="fuzz --jobs 1 -n 20" ./writes 40
expect '^writes +ok +ok +10 ' env HEDDLE_AS=itself ./writes fuzz --jobs 1 -n 10 -- 41
# One that asks where the vendors' tools lie, and one that has CMake look for them: what was configured so is built by any call.
cat >of_vendors <<'END'
CUDA_PATH ?= /nowhere
ROCM_PATH ?= /nowhere
HIPCXX ?= $(ROCM_PATH)/bin/hipcc
all:
	$(CUDA_PATH)/bin/nvcc -I$(CUDA_PATH)/include -L$(CUDA_PATH)/lib64 -lcudart host.cc kernel.cu -o of_vendors.both
	$(HIPCXX) -x hip --offload-arch=gfx90a -c width.cpp -DLANES=64
	$(ROCM_PATH)/bin/hipcc --version | grep '^clang version'
END
HEDDLE_CUDA=cuda "$heddle" build make -s -f of_vendors
expect '^host +ok +ok +20 ' ./of_vendors.both fuzz --jobs 1 --schedules 20
mkdir -p asked
cp fifo.cpp asked/fifo.hip
cat >asked/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(asked LANGUAGES CXX CUDA HIP)
find_package(CUDAToolkit 12.8 EXACT REQUIRED)
find_package(hip REQUIRED)
add_executable(of_cuda ../kernel.cu ../host.cc)
target_include_directories(of_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
set_target_properties(of_cuda PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_link_libraries(of_cuda CUDA::cudart CUDA::cuda_driver)
add_executable(of_hip fifo.hip)
target_link_libraries(of_hip hip::host)
END
HEDDLE_CUDA=cuda "$heddle" build cmake -S asked -B asked/build >told 2>&1 || { cat told; exit 1; }
cmake --build asked/build >told 2>&1 || { cat told; exit 1; }
expect '^host +ok +ok +20 ' asked/build/of_cuda fuzz --jobs 1 --schedules 20
expect '^fifo +ok +ok +20 ' asked/build/of_hip fuzz --jobs 1 --schedules 20
expect 'heddle build: name the command' "$heddle" build

expect 'heddle c\+\+: no input file' "$heddle" c++ -O2
expect 'heddle cc: cannot read nowhere.c' "$heddle" cc nowhere.c
expect 'heddle cuda: -o needs a value' "$heddle" cuda kernel.cu -o
expect '^heddle build: there is no command no-such-make to build with$' "$heddle" build no-such-make
expect '^heddle cuda: no folder can be made in /no-such-folder; name another by TMPDIR$' env TMPDIR=/no-such-folder "$heddle" cuda kernel.cu
expect 'heddle cuda: .* is heddle nvcc that makes C\+\+ of PTX' "$heddle" cuda kernels.ptx
expect 'wrong.cc:1:.*was not declared' sh -c "printf 'int f() { return g(); }' >wrong.cc; '$heddle' c++ -c wrong.cc"
expect 'undefined (reference to|symbol:) .?launch' "$heddle" c++ host.o -o half
printf 'version:\n\t$(NVCC) --version\n' >by_nvcc
expect 'release 12.8' make -s -f by_nvcc NVCC="$heddle cuda"
