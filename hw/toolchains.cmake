# Programs for GPUs, from C++ sources, by nvcc and hipcc.
#
# Neither CUDA nor HIP is enabled as a language: a machine without the compilers then still configures, CMake before 3.26 does
# not know how to ask nvcc for C++20, and the HIP language does not find Debian's ROCm.
#
# Sets HEDDLE_NVCC and HEDDLE_HIPCC to the compilers, empty where there is none, and defines
#
#   heddle_cuda_program(name source... [SOURCES source...] [ARCHS 75 90] [DEFINITIONS D=1 ...] [LIBRARIES target...]
#                       [OPTIONS flag...])
#   heddle_hip_program(name source... [SOURCES source...] [ARCHS gfx90a gfx1030] ...)
#   heddle_hip_program(name source... SIGNALS ...), where HEDDLE_HSA and HEDDLE_HSA_HEADERS were found: HEDDLE_TARGET is hip_signal, and a
#                       kernel's ring interrupts the host
#   heddle_cuda_object(variable name source ...) and heddle_hip_object(variable name source ...), the same options
#
# A program is an ordinary executable target: every source is compiled by nvcc -x cu (hipcc -x hip), with
# -DHEDDLE_TARGET=cuda (hip), and linked by the C++ compiler with the runtime. Include directories and definitions come from
# the target, so from LIBRARIES too; LIBRARIES defaults to heddle::rpc. An object function sets `variable` to the path of one
# object, compiled as if it were part of the target `name`.

include_guard(GLOBAL)

if("gpu" IN_LIST HEDDLE_LEAVE_OUT)
  # These hide what the cache has of them.
  set(HEDDLE_NVCC "")
  set(HEDDLE_HIPCC "")
endif()
find_program(HEDDLE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda/bin
             DOC "CUDA compiler")
if(HEDDLE_NVCC)
  # Only nvcc knows where its libraries are: what was found may be a script or a link.
  execute_process(COMMAND ${HEDDLE_NVCC} --dryrun -x cu -c /dev/null ERROR_VARIABLE dryrun OUTPUT_QUIET)
  string(REGEX MATCH "TOP=([^\n]+)" _ "${dryrun}")
  find_library(HEDDLE_CUDART cudart_static HINTS "${CMAKE_MATCH_1}" PATH_SUFFIXES lib64 lib
                                                 targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
else()
  set(HEDDLE_NVCC "")
  message(STATUS "heddle: no nvcc, so nothing is built for CUDA")
endif()

find_program(HEDDLE_HIPCC hipcc HINTS ENV ROCM_PATH PATH_SUFFIXES bin PATHS /opt/rocm/bin DOC "HIP compiler")
if(HEDDLE_HIPCC)
  cmake_path(GET HEDDLE_HIPCC PARENT_PATH bin)
  find_library(HEDDLE_AMDHIP amdhip64 HINTS ${bin}/../lib)
  find_library(HEDDLE_HSA hsa-runtime64 HINTS ${bin}/../lib)
  find_path(HEDDLE_HSA_HEADERS hsa/hsa.h HINTS ${bin}/../include)
else()
  set(HEDDLE_HIPCC "")
  message(STATUS "heddle: no hipcc, so nothing is built for HIP")
endif()
mark_as_advanced(HEDDLE_CUDART HEDDLE_AMDHIP HEDDLE_HSA HEDDLE_HSA_HEADERS)

set(HEDDLE_CUDA_ARCHS 75 90 CACHE STRING "Compute capabilities of CUDA programs; the first is the least that CUDA 13 knows")
set(HEDDLE_HIP_ARCHS gfx90a gfx1030 CACHE STRING "Architectures of HIP programs; hipcc must always be told, or it asks the GPU")

# For these alone, what must not take long to compile: later devices translate the first one's PTX, and another GPU of AMD's is named first.
list(GET HEDDLE_CUDA_ARCHS 0 heddle_first_cuda_arch)
list(GET HEDDLE_HIP_ARCHS 0 heddle_first_hip_arch)

# OPTIONS of a program that is no more than compiled, as no GPU is there to run it: without optimisation, which is most of the time. (-Ofc: from
# CUDA 12.8 on.)
set(heddle_cuda_quickly -O0)
set(heddle_hip_quickly -O0)
if(HEDDLE_NVCC)
  execute_process(COMMAND ${HEDDLE_NVCC} -Ofc=max --dryrun -x cu -c /dev/null RESULT_VARIABLE unknown OUTPUT_QUIET ERROR_QUIET)
  if(unknown EQUAL 0)
    list(PREPEND heddle_cuda_quickly -Ofc=max)
  endif()
endif()
if(EXISTS /dev/nvidiactl)
  set(heddle_cuda_quickly "")
endif()
if(EXISTS /dev/kfd)
  set(heddle_hip_quickly "")
endif()
# The same of a program that, where it is run, is measured on each device's own instructions: arguments of heddle_cuda_program().
set(heddle_cuda_unless_run "")
set(heddle_hip_unless_run "")
if(heddle_cuda_quickly)
  set(heddle_cuda_unless_run ARCHS ${heddle_first_cuda_arch} OPTIONS ${heddle_cuda_quickly})
endif()
if(heddle_hip_quickly)
  set(heddle_hip_unless_run ARCHS ${heddle_first_hip_arch} OPTIONS ${heddle_hip_quickly})
endif()

# What every compilation needs, for the target `name`. Lists of the target that are empty must vanish, not become a bare flag.
function(_heddle_target_flags variable name)
  set(includes $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  set(${variable}
      $<$<BOOL:${includes}>:-I$<JOIN:$<REMOVE_DUPLICATES:${includes}>,$<SEMICOLON>-I>>
      $<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>
      $<$<CONFIG:Debug>:-g>
      $<IF:$<CONFIG:Debug>,-O1,-O2>
      PARENT_SCOPE)
endfunction()

# One object by one compiler: `arguments` is the whole command but for input, output and the target's flags.
function(_heddle_gpu_object variable name source machine compiler)
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  cmake_path(GET source FILENAME file)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${machine}/${file}.o)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.${machine})
  _heddle_target_flags(flags ${name})
  if("-O0" IN_LIST ARGN)
    list(FILTER flags EXCLUDE REGEX "-O2")
  endif()
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${compiler} -std=c++20 ${ARGN} -DHEDDLE_TARGET=${machine} "${flags}" -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "Compiling ${file} for ${machine}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  set(${variable} ${object} PARENT_SCOPE)
endfunction()

# Warnings are errors here as everywhere.
function(heddle_cuda_object variable name source)
  cmake_parse_arguments(arg "" "" "ARCHS;OPTIONS" ${ARGN})
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${HEDDLE_CUDA_ARCHS})
  endif()
  set(archs "")
  foreach(arch IN LISTS arg_ARCHS)
    list(APPEND archs -gencode=arch=compute_${arch},code=[sm_${arch},compute_${arch}])
  endforeach()
  _heddle_gpu_object(object ${name} ${source} cuda ${HEDDLE_NVCC} -x cu ${archs} -Werror all-warnings
                     -Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Werror ${arg_OPTIONS})
  set(${variable} ${object} PARENT_SCOPE)
endfunction()

function(heddle_hip_object variable name source)
  cmake_parse_arguments(arg "SIGNALS" "" "ARCHS;OPTIONS" ${ARGN})
  set(machine hip)
  if(arg_SIGNALS)
    set(machine hip_signal)
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${HEDDLE_HIP_ARCHS})
  endif()
  list(TRANSFORM arg_ARCHS PREPEND --offload-arch=)
  _heddle_gpu_object(object ${name} ${source} ${machine} ${HEDDLE_HIPCC} -x hip ${arg_ARCHS} -Wall -Wextra -Wconversion -Wshadow
                     -Werror -Wno-unused-command-line-argument ${arg_OPTIONS})
  set(${variable} ${object} PARENT_SCOPE)
endfunction()

# An executable of objects; `machine` is cuda or hip.
function(_heddle_gpu_program machine name)
  cmake_parse_arguments(arg "SIGNALS" "" "SOURCES;ARCHS;DEFINITIONS;LIBRARIES;OPTIONS" ${ARGN})
  set(signals "")
  if(arg_SIGNALS)
    set(signals SIGNALS)
  endif()
  set(objects "")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS arg_SOURCES)
    cmake_language(CALL heddle_${machine}_object object ${name} ${source} ${signals} ARCHS ${arg_ARCHS} OPTIONS ${arg_OPTIONS})
    list(APPEND objects ${object})
  endforeach()
  add_executable(${name} ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES heddle::rpc)
  endif()
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} Threads::Threads)
endfunction()

find_package(Threads REQUIRED)

function(heddle_cuda_program name)
  _heddle_gpu_program(cuda ${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${HEDDLE_CUDART} ${CMAKE_DL_LIBS} rt)
endfunction()

function(heddle_hip_program name)
  _heddle_gpu_program(hip ${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${HEDDLE_AMDHIP})
  if("SIGNALS" IN_LIST ARGN)
    target_link_libraries(${name} PRIVATE ${HEDDLE_HSA})
  endif()
endfunction()
