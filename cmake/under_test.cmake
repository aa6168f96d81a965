# heddle::under_test: compiles and links what the simulator runs. Link it and nothing else has to be known:
#
#   add_executable(mine mine.cpp)
#   target_link_libraries(mine PRIVATE heddle::under_test)
#
# The compiler is told to instrument for ThreadSanitizer, so that each access to memory becomes a call, and the calls are
# answered by sim/runtime/. The flag must therefore be absent when linking, or the sanitizer's own library comes in.
add_library(heddle_under_test INTERFACE)
target_link_libraries(heddle_under_test INTERFACE heddle_sim heddle_rpc)
target_compile_definitions(heddle_under_test INTERFACE $<$<COMPILE_LANGUAGE:CXX>:HEDDLE_TARGET=sim>)

set(heddle_instrument
    # AddressSanitizer cannot be combined with this instrumentation; a build that asks for it elsewhere keeps it elsewhere.
    -fno-sanitize=address
    -fsanitize=thread
    # Lanes are grouped by call depth, which is found along the frame pointers; entry and exit of functions are of no use.
    -fno-omit-frame-pointer
    # An access in a function's last statement must return to that statement, or its line is the caller's.
    -fno-optimize-sibling-calls
    # A frame that is larger than the guard page below a lane's stack would step over it, to another lane's.
    -fstack-clash-protection
    # What the compiler does in place of a call, after it has instrumented the rest, would not be seen.
    -fno-builtin-memcpy
    -fno-builtin-memmove
    -fno-builtin-memset
    -fno-builtin-memcmp
    -fno-builtin-bcmp
    -fno-builtin-strlen
    -fno-builtin-strcmp
    -fno-builtin-strncmp
    -fno-builtin-strcpy
    -fno-builtin-strncpy
    # Where lanes that part come together again is read from the machine code, which does not say where a jump through a table goes.
    -fno-jump-tables
    # An assert of the code under test is one of its checks, and a build type must not take it away.
    -UNDEBUG
    # Findings name source lines.
    -g)
# Each check for undefined behaviour is a branch in the machine code: lanes would part there, and come together elsewhere.
if(HEDDLE_SANITIZE STREQUAL "address")
  list(APPEND heddle_instrument -fno-sanitize=undefined)
endif()
# g++ warns that its ThreadSanitizer does not understand fences; our runtime does.
# Calls and functions that differ in their source line alone, or in an argument, are not made one: a line would name the other.
# Nor is one call made two: lanes that part before a collective and come together at it must all be at that one, as a compiler for
# GPUs has it (there, collectives are "convergent").
set(heddle_instrument_gnu "SHELL:--param tsan-instrument-func-entry-exit=0"
    # Accesses to what is declared volatile are told apart: what they are is a setting of the machine.
    "SHELL:--param tsan-distinguish-volatile=1"
    -Wno-tsan -fno-crossjumping -fno-tree-tail-merge -fno-ipa-icf
    -fno-thread-jumps -fno-gcse -fno-split-paths -fno-unswitch-loops -freorder-blocks-algorithm=simple -fno-reorder-blocks-and-partition)
set(heddle_instrument_clang
    "SHELL:-mllvm -enable-tail-merge=0"
    "SHELL:-mllvm -simplifycfg-sink-common=0"
    "SHELL:-mllvm -simplifycfg-hoist-common=0"
    -fconvergent-functions
    "SHELL:-mllvm -tsan-instrument-func-entry-exit=0"
    "SHELL:-mllvm -tsan-distinguish-volatile=1"
    # clang reports a plain read-modify-write as one write; the runtime must see what was read.
    "SHELL:-mllvm -tsan-instrument-read-before-write=1"
    # libdw finds a line from an address through .debug_aranges, which clang leaves out; and in version 5 it names the
    # compiled file relative to the build folder.
    -gdwarf-4
    -gdwarf-aranges)
foreach(option IN LISTS heddle_instrument)
  target_compile_options(heddle_under_test INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${option}>)
endforeach()
foreach(option IN LISTS heddle_instrument_gnu)
  target_compile_options(heddle_under_test INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${option}>")
endforeach()
foreach(option IN LISTS heddle_instrument_clang)
  target_compile_options(heddle_under_test INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:${option}>")
endforeach()
# For a user's own sources, which are outside of the folders that cmake/compile.cmake covers.
foreach(map IN LISTS heddle_header_path_maps)
  target_compile_options(heddle_under_test INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${map}>>)
endforeach()
target_compile_options(
  heddle_under_test
  INTERFACE $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=$<INSTALL_PREFIX>/${CMAKE_INSTALL_INCLUDEDIR}/heddle/=>>
)

# Calls into the C library are not instrumented: g++ leaves these as plain calls, and the runtime takes their place.
set(heddle_link_flags "")
foreach(name IN ITEMS memcpy memmove memset memcmp strlen strcmp strncmp strcpy strncpy
                      __assert_fail exit _exit _Exit quick_exit abort pthread_exit raise kill
                      sched_yield pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock mtx_lock mtx_trylock mtx_unlock thrd_yield
                      pthread_mutex_destroy mtx_destroy
                      # sim/runtime/clock_calls.cpp
                      clock_gettime gettimeofday time clock timespec_get _ZNSt6chrono3_V212steady_clock3nowEv
                      _ZNSt6chrono3_V212system_clock3nowEv nanosleep clock_nanosleep usleep sleep pthread_mutex_timedlock pthread_mutex_clocklock
                      mtx_timedlock thrd_sleep
                      # sim/runtime/unsupported_calls.cpp
                      fork vfork posix_spawn posix_spawnp system popen daemon execve execv execvp execl execlp signal
                      sigaction alarm setitimer timer_create timerfd_create
                      pthread_cancel pthread_kill pthread_sigqueue tgkill pthread_getattr_np
                      # sim/runtime/process_calls.cpp
                      unsetenv putenv clearenv fchdir umask setlocale rand srand random srandom drand48 lrand48 mrand48 srand48
                      _ZNSt6locale6globalERKS_ _ZNSt10filesystem12current_pathERKNS_7__cxx114pathE
                      _ZNSt10filesystem12current_pathERKNS_7__cxx114pathERSt10error_code
                      _ZSt13set_terminatePFvvE _ZSt13get_terminatev _ZSt15set_new_handlerPFvvE _ZSt15get_new_handlerv
                      _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE _ZNSt3pmr20get_default_resourceEv
                      _ZNSt8ios_base15sync_with_stdioEb
                      # sim/runtime/processor_calls.cpp
                      gettid pthread_setaffinity_np pthread_getaffinity_np sched_setaffinity sched_getaffinity sched_getcpu
                      pthread_setschedparam pthread_getschedparam pthread_setschedprio sched_setscheduler sched_getscheduler
                      sched_setparam sched_getparam pthread_getcpuclockid _ZNSt6thread20hardware_concurrencyEv
                      # sim/runtime/thread_calls.cpp
                      pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_detach pthread_self
                      pthread_setname_np pthread_getname_np
                      thrd_create thrd_join thrd_exit thrd_detach thrd_current _ZNSt6thread4joinEv _ZNSt6thread6detachEv
                      _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
                      # sim/runtime/thread_values.cpp
                      pthread_key_create pthread_key_delete pthread_setspecific pthread_getspecific __cxa_thread_atexit __cxa_atexit
                      tss_create tss_delete tss_set tss_get
                      # sim/runtime/once_calls.cpp
                      pthread_once call_once __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
                      # sim/runtime/waiting_calls.cpp
                      pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast
                      cnd_wait cnd_timedwait cnd_signal cnd_broadcast _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
                      _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv syscall
                      _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE
                      _ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE
                      _ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj
                      # sim/runtime/standard_library_calls.cpp
                      _ZNSt10_Sp_lockerC1EPKv _ZNSt10_Sp_lockerC1EPKvS1_ _ZNSt10_Sp_lockerD1Ev
                      _ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE
                      # sim/runtime/lock_calls.cpp
                      sem_wait sem_trywait sem_timedwait sem_clockwait sem_getvalue sem_post
                      pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock
                      pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock pthread_rwlock_unlock
                      pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
                      pthread_barrier_init pthread_barrier_destroy pthread_barrier_wait
                      # sim/runtime/openmp_calls.cpp
                      __kmpc_fork_call GOMP_parallel GOMP_parallel_sections GOMP_loop_end_nowait GOMP_loop_end GOMP_sections_start GOMP_sections_next
                      GOMP_sections_end_nowait GOMP_sections_end GOMP_barrier GOMP_single_start GOMP_single_copy_start GOMP_single_copy_end
                      GOMP_critical_start GOMP_critical_end GOMP_critical_name_start GOMP_critical_name_end GOMP_atomic_start GOMP_atomic_end
                      omp_init_lock omp_destroy_lock omp_init_nest_lock omp_destroy_nest_lock
                      omp_get_num_procs omp_get_thread_limit omp_get_level omp_get_dynamic omp_set_dynamic omp_get_nested omp_set_nested omp_get_wtick
                      omp_set_lock omp_unset_lock omp_test_lock omp_set_nest_lock omp_unset_nest_lock GOMP_task GOMP_taskwait GOMP_taskyield
                      GOMP_taskgroup_start GOMP_taskgroup_end omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_set_num_threads
                      omp_in_parallel omp_get_wtime GOMP_ordered_start GOMP_ordered_end
                      GOMP_loop_ordered_static_start GOMP_loop_ordered_static_next GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_dynamic_next
                      GOMP_loop_ordered_guided_start GOMP_loop_ordered_guided_next GOMP_loop_ordered_runtime_start GOMP_loop_ordered_runtime_next
                      GOMP_taskgroup_reduction_register
                      GOMP_parallel_reductions GOMP_taskloop GOMP_teams_reg GOMP_cancel GOMP_parallel_loop_dynamic GOMP_loop_dynamic_start
                      GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next GOMP_parallel_loop_nonmonotonic_dynamic
                      GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_start
                      GOMP_loop_ull_nonmonotonic_dynamic_next GOMP_parallel_loop_guided GOMP_loop_guided_start GOMP_loop_guided_next
                      GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next GOMP_parallel_loop_nonmonotonic_guided
                      GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_start
                      GOMP_loop_ull_nonmonotonic_guided_next GOMP_parallel_loop_runtime GOMP_loop_runtime_start GOMP_loop_runtime_next
                      GOMP_parallel_loop_nonmonotonic_runtime GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
                      GOMP_parallel_loop_maybe_nonmonotonic_runtime GOMP_loop_maybe_nonmonotonic_runtime_start
                      GOMP_loop_maybe_nonmonotonic_runtime_next
                      # sim/runtime/file_calls.cpp, file_transfers.cpp, file_waits.cpp
                      pipe pipe2 socketpair eventfd epoll_create epoll_create1 close dup dup2 dup3 shutdown
                      fdopen splice tee sendfile vmsplice fcntl fcntl64 setsockopt getsockopt ftruncate ftruncate64 fstat
                      read __read_chk readv recv __recv_chk recvfrom recvmsg eventfd_read accept accept4 write writev send sendto sendmsg eventfd_write
                      poll __poll_chk ppoll select pselect epoll_ctl epoll_wait epoll_pwait
                      # sim/runtime/endless_calls.cpp
                      pause sigsuspend sigwait sigwaitinfo wait waitpid)
  list(APPEND heddle_link_flags --wrap=${name})
endforeach()
# The runtime stands before libraries that may be the only ones to make such a call: one of each of its files is asked for.
foreach(name IN ITEMS clock_gettime fork sched_getcpu pthread_self pthread_key_create pthread_once pthread_cond_wait sem_wait read pause)
  list(APPEND heddle_link_flags -u,__wrap_${name})
endforeach()
# A recorded schedule names the program that it belongs to.
list(APPEND heddle_link_flags --build-id)
foreach(flag IN LISTS heddle_link_flags)
  target_link_options(heddle_under_test INTERFACE LINKER:${flag})
endforeach()

heddle_install_library(heddle_under_test sim)

# The C library of kernels (sim/compat/libc_calls.cpp): calls of the C library by a lane, and LLVM's libc for GPUs.
add_library(heddle_kernel_libc STATIC ${PROJECT_SOURCE_DIR}/sim/compat/libc_calls.cpp
                                      ${PROJECT_SOURCE_DIR}/sim/compat/llvm_libc.cpp ${PROJECT_SOURCE_DIR}/sim/compat/made_ready.cpp
                                      ${PROJECT_SOURCE_DIR}/sim/compat/mapped_memory.cpp
                                      ${PROJECT_SOURCE_DIR}/sim/runtime/text_calls.cpp)
target_link_libraries(heddle_kernel_libc PUBLIC heddle_under_test PRIVATE heddle_warnings)
# What stands between a program and its C library makes no access of the program's.
set_source_files_properties(${PROJECT_SOURCE_DIR}/sim/compat/libc_calls.cpp ${PROJECT_SOURCE_DIR}/sim/compat/mapped_memory.cpp
                            ${PROJECT_SOURCE_DIR}/sim/runtime/text_calls.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
target_include_directories(
  heddle_kernel_libc PUBLIC $<BUILD_INTERFACE:${heddle_include_dir}/heddle/sim/compat/include>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/heddle/sim/compat/include>)
# Headers of the vendors' whose contents stand in one of ours: "name of ours" and names of theirs.
set(heddle_vendor_includes
    "cuda.h: cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h device_functions.h driver_types.h vector_types.h vector_functions.h
     cuda_profiler_api.h cuda_device_runtime_api.h math_constants.h sm_20_intrinsics.h builtin_types.h host_defines.h crt/host_defines.h
     device_atomic_functions.h channel_descriptor.h texture_types.h cuda_texture_types.h"
    "nvtx.h: nvToolsExt.h nvToolsExtCuda.h nvToolsExtCudaRt.h nvtx3/nvToolsExt.h nvtx3/nvToolsExtCuda.h nvtx3/nvToolsExtCudaRt.h nvtx3/nvtx3.hpp"
    "complex.h: cuComplex.h"
    "cuda_atomic.h: cuda/atomic cuda/std/atomic simt/atomic"
    "cuda_std.h: cuda/std/array cuda/std/bit cuda/std/cassert cuda/std/chrono cuda/std/climits cuda/std/cmath cuda/std/concepts cuda/std/cstddef
     cuda/std/cstdint cuda/std/cstring cuda/std/functional cuda/std/initializer_list cuda/std/iterator cuda/std/limits cuda/std/numeric
     cuda/std/optional cuda/std/ratio cuda/std/span cuda/std/string_view cuda/std/tuple cuda/std/type_traits cuda/std/utility"
    "cuda_pipeline.h: cuda_pipeline.h cuda_pipeline_primitives.h cuda_awbarrier.h cuda_awbarrier_primitives.h"
    "cuda_ptx.h: cuda/ptx"
    "cuda_sync.h: cuda/barrier cuda/std/barrier cuda/latch cuda/std/latch cuda/semaphore cuda/std/semaphore cuda/pipeline"
    "nv_target.h: nv/target"
    "groups.h: cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h cooperative_groups/memcpy_async.h hip/hip_cooperative_groups.h"
    "halves.h: cuda_fp16.h cuda_bf16.h cuda_fp16.hpp cuda_bf16.hpp hip/hip_fp16.h hip/hip_bf16.h hip/hip_bfloat16.h"
    "small_numbers.h: cuda_fp8.h cuda_fp8.hpp cuda_fp6.h cuda_fp6.hpp cuda_fp4.h cuda_fp4.hpp hip/hip_fp8.h"
    "hip.h: hsa/hsa.h hsa/hsa_ext_amd.h hsa/amd_hsa_signal.h hip/hip_runtime.h hip/hip_runtime_api.h hip/driver_types.h hip/hip_vector_types.h hip/hip_version.h"
    "clang_gpu.h: gpuintrin.h")
set(heddle_vendor_include_dir ${PROJECT_BINARY_DIR}/sim/compat/include)
foreach(line IN LISTS heddle_vendor_includes)
  string(REGEX MATCH "^([^:]+):(.*)$" matched "${line}")
  set(ours ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "[^ \n]+" names "${CMAKE_MATCH_2}")
  foreach(name IN LISTS names)
    # What libcu++ was called before.
    set(behind "")
    if(name MATCHES "^simt/")
      set(behind "namespace simt = cuda;\n")
    endif()
    file(CONFIGURE OUTPUT ${heddle_vendor_include_dir}/${name} @ONLY
         CONTENT "// <${name}> of a source that is compiled for the simulator.\n#pragma once\n\n#include <heddle/sim/compat/${ours}>\n${behind}")
  endforeach()
endforeach()
target_include_directories(heddle_kernel_libc PUBLIC $<BUILD_INTERFACE:${heddle_vendor_include_dir}>)
if(HEDDLE_INSTALL)
  install(DIRECTORY ${heddle_vendor_include_dir}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/sim/compat/include COMPONENT development)
endif()
target_link_libraries(heddle_kernel_libc PUBLIC heddle_llvm_c)
target_compile_definitions(heddle_kernel_libc PUBLIC HEDDLE_RPC_PORTS_MAX=16)
foreach(name IN ITEMS puts fputs fputc putc putchar fgetc getc getchar fgets ungetc vfprintf vprintf printf fprintf __printf_chk __fprintf_chk
                      vsnprintf snprintf __vsnprintf_chk __snprintf_chk
                      fopen fclose fwrite fread fseek ftell fflush feof ferror clearerr remove rename malloc free calloc realloc aligned_alloc
                      posix_memalign memalign
                      fdopen freopen tmpfile fileno setvbuf rewind perror getline open creat close write lseek unlink mkdir rmdir opendir
                      fopen64 open64 tmpfile64 freopen64 fseeko ftello pread pwrite access stat chdir getcwd getpid pipe dup socket dlopen
                      getenv setenv _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv mmap mmap64 munmap mremap mprotect memfd_create shm_open mkstemp inotify_init inotify_init1 signalfd vfscanf __isoc99_scanf __isoc99_fscanf __isoc99_vfscanf)
  target_link_options(heddle_kernel_libc INTERFACE LINKER:--wrap=${name})
endforeach()
# It stands before the libraries whose calls it takes, which may be the only ones that make them.
target_link_options(heddle_kernel_libc INTERFACE LINKER:-u,__wrap_puts)
heddle_install_library(heddle_kernel_libc sim)

# What the C++ made from PTX calls; the CUDA runtime and the driver API for host code compiled by nvcc (heddle_simulate_ptx()).
set(heddle_ptx_sources ${PROJECT_SOURCE_DIR}/sim/compat/cudart.cpp ${PROJECT_SOURCE_DIR}/sim/compat/cudart_more.cpp
    ${PROJECT_SOURCE_DIR}/sim/compat/cudart_pools.cpp
    ${PROJECT_SOURCE_DIR}/sim/compat/launch.cpp ${PROJECT_SOURCE_DIR}/sim/compat/libcuda.cpp
    ${PROJECT_SOURCE_DIR}/sim/compat/libcuda_more.cpp ${PROJECT_SOURCE_DIR}/sim/compat/meeting_place.cpp
    ${PROJECT_SOURCE_DIR}/sim/compat/pools.cpp ${PROJECT_SOURCE_DIR}/sim/compat/staging.cpp
    ${PROJECT_SOURCE_DIR}/sim/compat/ptx/module.cpp)
add_library(heddle_ptx STATIC ${heddle_ptx_sources})
target_link_libraries(heddle_ptx PUBLIC heddle_kernel_libc heddle_under_test PRIVATE heddle_warnings)
# What stands between a program and its runtime makes no access of the program's.
set_source_files_properties(${heddle_ptx_sources} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread;-DHEDDLE_COMPAT_WAVE_LANES=32")
heddle_install_library(heddle_ptx sim)

# What heddle_simulate_cuda() and heddle_simulate_hip() (cmake/simulate.cmake) add: the headers of the GPU runtimes, <cuda_runtime.h>
# and so on, which here are the simulator's.
add_library(heddle_simulated_sources INTERFACE)
target_link_libraries(heddle_simulated_sources INTERFACE heddle_ptx heddle_kernel_libc heddle_under_test)
# A kernel's printf is that of nvcc and hipcc, whatever its text: no puts instead.
target_compile_options(heddle_simulated_sources INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-builtin-printf;-fno-builtin-fprintf>)
# What a source says to nvcc and hipcc about their own warnings.
target_compile_options(heddle_simulated_sources INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-pragmas>)
heddle_install_library(heddle_simulated_sources sim)
