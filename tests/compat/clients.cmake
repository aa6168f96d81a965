# Programs and headers of others, unchanged, with what is found in them. None of them is part of this project: `clients` lies beside it, and where it
# does not, its tests are left out. They are built when they are run: `ctest -L clients`.
set(clients ${PROJECT_SOURCE_DIR}/../shared/clients)
set(suites ${PROJECT_SOURCE_DIR}/../shared/suites)
if("clients" IN_LIST HEDDLE_LEAVE_OUT)
  return()
elseif(NOT EXISTS ${clients}/drivers)
  message(STATUS "left out: programs and headers of others, as ${clients} is not there")
  return()
endif()

add_custom_target(clients)
add_test(NAME clients.build COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target clients)
set_tests_properties(clients.build PROPERTIES FIXTURES_SETUP clients LABELS clients TIMEOUT 3600)

# heddle_program(name kind source... [NAMED] [DEFINITIONS ...] [INCLUDES ...]): a program that is built for these tests alone. With its debug information
# it is 40 MB instead of 7, and they are some hundred: a NAMED one alone keeps it, so that lines of mend and members in stories can be looked at.
function(heddle_program name kind)
  cmake_parse_arguments(arg "NAMED" "" "DEFINITIONS;INCLUDES" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL)
  target_link_libraries(${name} PRIVATE heddle::main)
  target_include_directories(${name} SYSTEM PRIVATE ${arg_INCLUDES} ${CMAKE_CURRENT_BINARY_DIR}/clients)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_compile_options(${name} PRIVATE -w)
  if(NOT arg_NAMED)
    target_compile_options(${name} PRIVATE -g0)
    # By itself, since linkers differ in whether symbols are left: where lanes reconverge is read by them.
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_STRIP} --strip-debug $<TARGET_FILE:${name}>)
  endif()
  cmake_language(CALL heddle_simulate_${kind} ${name} ${arg_UNPARSED_ARGUMENTS})
endfunction()
function(heddle_client name)
  heddle_program(${name} ${ARGN})
  add_dependencies(clients ${name})
endfunction()
# heddle_client_test(name expected arguments...): `expected` is found in what its fuzzing says.
function(heddle_client_test name expected)
  add_test(NAME clients.${name} COMMAND ${name} fuzz --jobs 1 ${ARGN})
  set_tests_properties(clients.${name} PROPERTIES FIXTURES_REQUIRED clients LABELS clients TIMEOUT 300 PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

# heddle_by_ptx(name expected source... [DEFINITIONS ...] [INCLUDES ...] [OPTIONS nvcc-option...] [ARGUMENTS ...]): the same by way of the PTX that nvcc
# makes, with the same verdict. Each is compiled twice by nvcc: they are built and run when they are asked for alone, `ninja -C build by_ptx` and
# `ctest -C ptx -L by_ptx`.
if(HEDDLE_NVCC)
  add_custom_target(by_ptx)
endif()
function(heddle_by_ptx name expected)
  if(NOT HEDDLE_NVCC)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEFINITIONS;INCLUDES;OPTIONS;ARGUMENTS")
  heddle_program(ptx_${name} ptx ${arg_UNPARSED_ARGUMENTS} OPTIONS -w -std=c++20 ${arg_OPTIONS} DEFINITIONS ${arg_DEFINITIONS} INCLUDES ${arg_INCLUDES})
  add_dependencies(by_ptx ptx_${name})
  add_test(NAME by_ptx.${name} CONFIGURATIONS ptx COMMAND ptx_${name} fuzz --jobs 1 ${arg_ARGUMENTS})
  set_tests_properties(by_ptx.${name} PROPERTIES LABELS by_ptx TIMEOUT 300 PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

# -- headers, each with a small program over it. What their own builds generate, or have of other packages, is as little as they ask for.

function(heddle_client_header name content)
  file(CONFIGURE OUTPUT clients/${name} CONTENT "${content}\n" @ONLY)
endfunction()
heddle_client_header(deep_ep/common/compiled.cuh "#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n#include <cuda_runtime.h>")
heddle_client_header(deep_ep/common/exception.cuh "#define EP_STATIC_ASSERT(holds, reason) static_assert(holds, reason)")
heddle_client_header(util/gpu_rt.h "#include <cuda.h>\n#include <cuda_runtime.h>")
heddle_client_header(infiniband/verbs.h "struct ibv_qp; struct ibv_mr { void* addr; };")
heddle_client_header(rocshmem_config.h "")
heddle_client_header(nccl.h "#include <cuda_runtime.h>
enum ncclResult_t { ncclSuccess = 0, ncclTimeout = 8 };
using ncclComm_t = struct ncclComm*; using ncclWindow_t = struct ncclWindow_vidmem*;")
heddle_client_header(fixed/tfr.cuh "#include \"threadFenceReduction_kernel.cuh\"")
heddle_client_header(mscclpp/env.hpp "")
heddle_client_header(mscclpp/numa.hpp "namespace mscclpp { inline int getDeviceNumaNode(int) { return -1; } inline void numaBind(int) {} }")
heddle_client_header(mscclpp/gpu_utils.hpp "#include <memory>
#ifndef __HIP_PLATFORM_AMD__
#include <cuda_runtime.h>
#endif
namespace mscclpp::detail {
struct released { void operator()(void* memory) const { cudaFree(memory); } };
template <typename T> using UniqueGpuPtr = std::unique_ptr<T, released>;
template <typename T> using UniqueGpuHostPtr = std::unique_ptr<T, released>;
template <typename T> UniqueGpuPtr<T> gpuCallocUnique(size_t count = 1) {
  T* made; cudaMalloc(&made, count * sizeof(T)); cudaMemset(made, 0, count * sizeof(T)); cudaDeviceSynchronize();
  return UniqueGpuPtr<T>(made);
}
template <typename T> UniqueGpuHostPtr<T> gpuCallocHostUnique(size_t count = 1) {
  T* made; cudaMallocHost(&made, count * sizeof(T)); cudaMemset(made, 0, count * sizeof(T)); cudaDeviceSynchronize();
  return UniqueGpuHostPtr<T>(made);
}
}  // namespace mscclpp::detail")

set(drivers ${clients}/drivers)
heddle_client(client_mscclpp_fifo cuda ${drivers}/mscclpp_fifo.cu ${clients}/mscclpp/src/core/fifo.cc INCLUDES ${drivers} ${clients}/mscclpp/include
              DEFINITIONS MSCCLPP_USE_CUDA)
heddle_client(client_mscclpp_barrier cuda ${drivers}/mscclpp_barrier.cu INCLUDES ${clients}/mscclpp/include)
heddle_client(client_mscclpp_barrier_hip hip ${drivers}/mscclpp_sync_hip.hip INCLUDES ${clients}/mscclpp/include)
heddle_client(client_mscclpp_semaphore cuda ${drivers}/mscclpp_sem.cu NAMED INCLUDES ${clients}/mscclpp/include DEFINITIONS ROUNDS=2)
# The same drivers for HIP: what they call of the host's runtime has other names there.
set(as_hip "#include <hip/hip_runtime.h>\n#define cudaSuccess hipSuccess\n#define cudaMallocHost hipHostMalloc")
foreach(call IN ITEMS GetDevice Malloc Free Memset Memcpy MemcpyHostToDevice MemcpyDeviceToHost DeviceSynchronize)
  string(APPEND as_hip "\n#define cuda${call} hip${call}")
endforeach()
foreach(name IN ITEMS mscclpp_fifo mscclpp_sem)
  heddle_client_header(${name}.hip "${as_hip}\n#include \"${drivers}/${name}.cu\"")
endforeach()
heddle_client_header(mscclpp_fifo_host.hip "${as_hip}\n#include \"${clients}/mscclpp/src/core/fifo.cc\"")
set(by_hip ${CMAKE_CURRENT_BINARY_DIR}/clients)
heddle_client(client_mscclpp_semaphore_hip hip ${by_hip}/mscclpp_sem.hip INCLUDES ${clients}/mscclpp/include DEFINITIONS ROUNDS=2)
heddle_client(client_mscclpp_fifo_hip hip ${by_hip}/mscclpp_fifo.hip ${by_hip}/mscclpp_fifo_host.hip INCLUDES ${drivers} ${clients}/mscclpp/include
              DEFINITIONS MSCCLPP_USE_ROCM)
heddle_client(client_deepep_barrier cuda ${drivers}/deepep.cu NAMED)
heddle_client(client_deepep_flags cuda ${drivers}/deepep_flags.cu)
heddle_client(client_all_reduce cuda ${drivers}/allreduce.cu)
heddle_client(client_all_reduce_two_stages cuda ${drivers}/allreduce.cu DEFINITIONS TWO_STAGE)
heddle_client(client_uccl_ring cuda ${drivers}/uccl.cu NAMED INCLUDES ${clients}/uccl/ep/include)
heddle_client(client_bam_queue cuda ${drivers}/bam.cu INCLUDES ${clients}/bam/include)
heddle_client(client_nccl_barrier cuda ${drivers}/nccl.cu INCLUDES ${clients}/nccl/src/include DEFINITIONS ORDER=cuda::memory_order_acq_rel)
heddle_client(client_nccl_barrier_relaxed cuda ${drivers}/nccl.cu INCLUDES ${clients}/nccl/src/include DEFINITIONS ORDER=cuda::memory_order_relaxed)
heddle_client(client_nccl_ll cuda ${drivers}/nccl_ll.cu INCLUDES ${clients}/nccl/src/include)
heddle_client(client_rocshmem_mutex hip ${drivers}/rocshmem.hip NAMED)
heddle_client(client_rocshmem_notifier hip ${drivers}/rocshmem_notifier.hip)
heddle_client(client_thread_fence_reduction cuda ${drivers}/tfr.cu
              INCLUDES ${clients}/cuda-samples/Samples/2_Concepts_and_Techniques/threadFenceReduction)
foreach(name IN ITEMS deepep_flags all_reduce nccl_barrier nccl_ll rocshmem_notifier)
  heddle_client_test(client_${name} " ok +ok +100 " --schedules 100)
endforeach()
# Judged one by one: docs/existing-code.md.
foreach(name IN ITEMS mscclpp_fifo mscclpp_fifo_hip mscclpp_barrier mscclpp_barrier_hip deepep_barrier all_reduce_two_stages uccl_ring bam_queue nccl_barrier_relaxed
                      rocshmem_mutex thread_fence_reduction)
  heddle_client_test(client_${name} " ok +race +100 " --schedules 100)
endforeach()
heddle_client_test(client_mscclpp_semaphore " ok +deadlock +100 " --schedules 100)
heddle_client_test(client_mscclpp_semaphore_hip " ok +deadlock +100 " --schedules 100)
# heddle_client_shows(what expected command): `command` is a line of sh, in which $0 is the program and $1 a folder of its own.
function(heddle_client_shows name what expected command)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/clients/${name}.${what})
  add_test(NAME clients.${name}.${what} COMMAND sh -c "rm -rf \"$1\"; ${command}" $<TARGET_FILE:${name}> ${folder})
  set_tests_properties(clients.${name}.${what} PROPERTIES FIXTURES_REQUIRED clients LABELS clients TIMEOUT 300
                       PASS_REGULAR_EXPRESSION "${expected}")
endfunction()
heddle_client_shows(client_rocshmem_mutex is_mended
  "abql_block_mutex.cpp:52: make this volatile load acquire[^\n]*\n[^\n]*abql_block_mutex.cpp:58: make this volatile store release"
  [["$0" fuzz --jobs 1 --schedules 50 --out "$1" >/dev/null; "$0" mend "$1"/*.json]])
heddle_client_shows(client_uccl_ring is_told_by_its_members "reads cudaMallocHost 1->buf\\[0\\].cmd_type: EMPTY"
  [["$0" fuzz --jobs 1 --schedules 50 --out "$1"]])
# A read by one launch and a write by the next, and nothing else.
add_test(NAME clients.client_all_reduce_two_stages_excused
         COMMAND client_all_reduce_two_stages fuzz --jobs 1 --schedules 100 --set races.excuse=after-read)
set_tests_properties(clients.client_all_reduce_two_stages_excused PROPERTIES FIXTURES_REQUIRED clients LABELS clients TIMEOUT 300
                     PASS_REGULAR_EXPRESSION " ok +ok +100 ")
# The same by way of PTX. nvcc has no name for what one of them includes, and knows __builtin_trap() in host code alone.
heddle_client_header(by_ptx/simt/atomic "#include <cuda/atomic>\nnamespace simt = cuda;")
heddle_client_header(by_ptx/before.h "#include <cstdint>
#include <cstdio>
#include <cstdlib>
#ifdef __CUDA_ARCH__
#define __builtin_trap __trap
#endif")
# heddle_client_by_ptx(name verdict source... [DEFINITIONS ...] [INCLUDES ...])
function(heddle_client_by_ptx name verdict)
  heddle_by_ptx(client_${name} " ok +${verdict} +100 " ${ARGN} OPTIONS -include by_ptx/before.h -I${CMAKE_CURRENT_BINARY_DIR}/clients/by_ptx
                ARGUMENTS --schedules 100)
endfunction()
heddle_client_by_ptx(mscclpp_fifo race ${drivers}/mscclpp_fifo.cu ${clients}/mscclpp/src/core/fifo.cc INCLUDES ${drivers} ${clients}/mscclpp/include
                     DEFINITIONS MSCCLPP_USE_CUDA)
heddle_client_by_ptx(mscclpp_barrier race ${drivers}/mscclpp_barrier.cu INCLUDES ${clients}/mscclpp/include)
heddle_client_by_ptx(mscclpp_semaphore deadlock ${drivers}/mscclpp_sem.cu INCLUDES ${clients}/mscclpp/include DEFINITIONS ROUNDS=2)
heddle_client_by_ptx(deepep_barrier race ${drivers}/deepep.cu)
heddle_client_by_ptx(deepep_flags ok ${drivers}/deepep_flags.cu)
heddle_client_by_ptx(all_reduce ok ${drivers}/allreduce.cu)
heddle_client_by_ptx(all_reduce_two_stages race ${drivers}/allreduce.cu DEFINITIONS TWO_STAGE)
heddle_client_by_ptx(uccl_ring race ${drivers}/uccl.cu INCLUDES ${clients}/uccl/ep/include)
heddle_client_by_ptx(bam_queue race ${drivers}/bam.cu INCLUDES ${clients}/bam/include)
heddle_client_by_ptx(nccl_barrier ok ${drivers}/nccl.cu INCLUDES ${clients}/nccl/src/include DEFINITIONS ORDER=cuda::memory_order_acq_rel)
heddle_client_by_ptx(nccl_barrier_relaxed race ${drivers}/nccl.cu INCLUDES ${clients}/nccl/src/include DEFINITIONS ORDER=cuda::memory_order_relaxed)
heddle_client_by_ptx(nccl_ll ok ${drivers}/nccl_ll.cu INCLUDES ${clients}/nccl/src/include)
heddle_client_by_ptx(thread_fence_reduction race ${drivers}/tfr.cu INCLUDES ${clients}/cuda-samples/Samples/2_Concepts_and_Techniques/threadFenceReduction)

# -- programs, with smaller sizes: by their own options, or by another constant

# heddle_sample(folder source "sed expression" expected [SOURCES ...] [ARGUMENTS ...] [SETTINGS ...] [FLAGS of the compiler...])
function(heddle_sample folder source shrink expected)
  cmake_parse_arguments(arg "" "" "SOURCES;ARGUMENTS;SETTINGS;FLAGS" ${ARGN})
  cmake_path(GET source STEM name)
  set(from ${clients}/cuda-samples/Samples/${folder})
  set(to ${CMAKE_CURRENT_BINARY_DIR}/clients/${folder})
  file(MAKE_DIRECTORY ${to})
  execute_process(COMMAND sed -E -e "${shrink}" ${from}/${source} OUTPUT_FILE ${to}/${source} COMMAND_ERROR_IS_FATAL ANY)
  set(sources ${to}/${source})
  foreach(other IN LISTS arg_SOURCES)
    list(APPEND sources ${from}/${other})
  endforeach()
  heddle_client(sample_${name} cuda ${sources} INCLUDES ${from} ${clients}/cuda-samples/Common)
  target_compile_options(sample_${name} PRIVATE ${arg_FLAGS})
  list(TRANSFORM arg_FLAGS PREPEND -Xcompiler=)
  set(behind ${arg_SETTINGS})
  if(arg_ARGUMENTS)
    list(APPEND behind -- ${arg_ARGUMENTS})
  endif()
  heddle_client_test(sample_${name} "${expected}" --schedules 2 ${behind})
  # By way of PTX it is too long for a test.
  if(name STREQUAL "simpleStreams")
    return()
  endif()
  heddle_by_ptx(sample_${name} "${expected}" ${sources} INCLUDES ${from} ${clients}/cuda-samples/Common OPTIONS ${arg_FLAGS}
                ARGUMENTS --schedules 2 ${behind})
endfunction()
function(heddle_sample_is_ok folder source shrink)
  cmake_path(GET source STEM name)
  heddle_sample(${folder} ${source} "${shrink}" "${name} +ok +ok +2 " ${ARGN})
endfunction()
heddle_sample_is_ok(0_Introduction/vectorAdd vectorAdd.cu "s/numElements += 50000/numElements = 500/")
heddle_sample_is_ok(0_Introduction/cudaOpenMP cudaOpenMP.cu "s/8192/512/" FLAGS -fopenmp SETTINGS --set driver.devices=2)
heddle_sample_is_ok(0_Introduction/simpleTemplates simpleTemplates.cu "")
heddle_sample_is_ok(0_Introduction/simplePrintf simplePrintf.cu "")
heddle_sample_is_ok(0_Introduction/simpleVoteIntrinsics simpleVoteIntrinsics.cu "")
heddle_sample_is_ok(0_Introduction/simpleCooperativeGroups simpleCooperativeGroups.cu "")
heddle_sample_is_ok(0_Introduction/simpleAtomicIntrinsics simpleAtomicIntrinsics.cu "s/numThreads += 256/numThreads = 32/;s/numBlocks += 64/numBlocks = 2/"
                    SOURCES simpleAtomicIntrinsics_cpu.cpp)
heddle_sample_is_ok(0_Introduction/clock clock.cu "s/NUM_BLOCKS +64/NUM_BLOCKS 2/;s/NUM_THREADS +256/NUM_THREADS 64/")
heddle_sample_is_ok(0_Introduction/simpleHyperQ simpleHyperQ.cu "" ARGUMENTS --nstreams=4)
# The host loads plainly, from memory of malloc(), what the kernel changes by atomics.
heddle_sample(0_Introduction/systemWideAtomics systemWideAtomics.cu
              "s/numThreads += 256/numThreads = 32/;s/numBlocks += 64/numBlocks = 2/;s/LOOP_NUM 50/LOOP_NUM 5/" "systemWideAtomics +ok +race +2 ")
heddle_sample_is_ok(0_Introduction/simpleStreams simpleStreams.cu "s/16 [*] 1024 [*] 1024/512/;s/nreps += 10/nreps = 1/;s/dim3[(]512/dim3(64/")
heddle_sample_is_ok(0_Introduction/simpleZeroCopy simpleZeroCopy.cu "s/1048576/1024/")
heddle_sample_is_ok(0_Introduction/simpleOccupancy simpleOccupancy.cu "s/1000000/1000/")
heddle_sample_is_ok(0_Introduction/asyncAPI asyncAPI.cu "s/16 [*] 1024 [*] 1024/1024/")
heddle_sample_is_ok(0_Introduction/simpleCallback simpleCallback.cu "s/100000/512/" SOURCES multithreading.cpp)
heddle_sample_is_ok(0_Introduction/simpleMultiCopy simpleMultiCopy.cu "s/1 << 22/1 << 8/;s/nreps += 10/nreps = 5/;s/block[(]512/block(64/")
heddle_sample_is_ok(0_Introduction/simpleMultiGPU simpleMultiGPU.cu "s/1048576 [*] 32/8192/")
heddle_sample_is_ok(0_Introduction/fp16ScalarProduct fp16ScalarProduct.cu "s/NUM_OF_BLOCKS +128/NUM_OF_BLOCKS 2/")
heddle_sample_is_ok(3_CUDA_Features/warpAggregatedAtomicsCG warpAggregatedAtomicsCG.cu "s/10000000/1000/")
heddle_sample_is_ok(3_CUDA_Features/binaryPartitionCG binaryPartitionCG.cu "s/1024 [*] 100/1024/")
heddle_sample_is_ok(2_Concepts_and_Techniques/streamOrderedAllocation streamOrderedAllocation.cu "s/1048576/1024/;s/MAX_ITER 20/MAX_ITER 2/")
heddle_sample_is_ok(6_Performance/LargeKernelParameter LargeKernelParameter.cu "s/[(]1000[)]/(1)/" SETTINGS --set stack_kib=256)
heddle_sample_is_ok(2_Concepts_and_Techniques/reductionMultiBlockCG reductionMultiBlockCG.cu "s/testIterations = 100/testIterations = 2/"
                    ARGUMENTS --n=1024 --threads=64 --maxblocks=2)
# A plain store behind a ticket that has been read: docs/existing-code.md.
heddle_sample(2_Concepts_and_Techniques/threadFenceReduction threadFenceReduction.cu "s/testIterations = 100/testIterations = 2/"
              "threadFenceReduction +ok +race +2 " ARGUMENTS --n=1024 --threads=32 --maxblocks=4)
# Its kernel is made to fail.
heddle_sample(0_Introduction/simpleAssert simpleAssert.cu "" "simpleAssert +ok +assertion +2 ")

# -- suites: ScoR. Its programs tell by their names whether they race. An access to a volatile variable is a plain one here, so that those count which
# nothing on the storing side orders; a load that lacks an acquire and nothing else is excused, a store that does is not.

if(EXISTS ${suites}/scor/src)
  file(GLOB sources ${suites}/scor/src/*.cu)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(expected " ok +ok +100 ")
    if(name MATCHES "^race_")
      set(expected " ok +(scope )?race +100 ")
    elseif(name STREQUAL norace_interwarp-block_fence-atom_hrd-indirect)
      # It loads its flag by an atomic without an acquire whose scope is too narrow, which ScoR's model allows and PTX does not.
      set(expected " ok +(scope )?race +100 ")
    endif()
    heddle_client(scor_${name} cuda ${source})
    heddle_client_test(scor_${name} "${expected}" --schedules 100 --set volatile=plain --set races.excuse=acquire)
    heddle_by_ptx(scor_${name} "${expected}" ${source} ARGUMENTS --schedules 100 --set volatile=plain --set races.excuse=acquire)
  endforeach()
endif()

# -- suites: Indigo. The names tell of races (atomicBug, syncBug, raceBug, guardBug) and of accesses out of bounds (boundsBug), and the verdict must be
# the one that the name tells. `indigo_cuda.h` has the graph. They are many: they are built and run when they are asked for alone,
# `ninja -C build indigo` and `ctest -C indigo -L indigo`.

if(EXISTS ${suites}/indigo/kernels)
  add_custom_target(indigo)
  file(GLOB sources ${suites}/indigo/kernels/*.cu)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(size 48 2 32)
    if(name MATCHES "_block")
      set(size 4 4 64)
    elseif(name MATCHES "_warp")
      set(size 8 4 64)
    endif()
    set(verdicts)
    if(name MATCHES "(atomic|sync|race|guard)Bug")
      list(APPEND verdicts "scope race" race)
    endif()
    if(name MATCHES "boundsBug")
      list(APPEND verdicts memory)
    endif()
    if(NOT verdicts)
      set(verdicts ok)
    endif()
    list(JOIN verdicts "|" verdicts)
    heddle_program(indigo_${name} cuda ${source} INCLUDES ${CMAKE_CURRENT_SOURCE_DIR})
    add_dependencies(indigo indigo_${name})
    add_test(NAME indigo.${name} CONFIGURATIONS indigo COMMAND indigo_${name} fuzz --jobs 1 --schedules 30 -- ${size})
    set_tests_properties(indigo.${name} PROPERTIES LABELS indigo TIMEOUT 300 PASS_REGULAR_EXPRESSION " ok +(${verdicts}) +30 ")
    heddle_by_ptx(indigo_${name} " ok +(${verdicts}) +30 " ${source} INCLUDES ${CMAKE_CURRENT_SOURCE_DIR} ARGUMENTS --schedules 30 -- ${size})
  endforeach()
endif()
