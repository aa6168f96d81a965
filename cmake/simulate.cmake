# Sources for nvcc and hipcc, unchanged, on the simulator (docs/existing-code.md):
#
#   add_executable(fifo)
#   target_link_libraries(fifo PRIVATE heddle::main)
#   heddle_simulate_cuda(fifo fifo.cu)            # or heddle_simulate_hip(fifo fifo.hip)
#
# Such a source is C++ to the compiler once launches and a few declarations have been rewritten, which the launcher heddle_rewrite does
# between the preprocessor and the compiler. A main() becomes a scenario named after the file.
#
#   heddle_simulate_cuda(target source... [WAVE_LANES 32] [SCENARIO name])
#   heddle_simulate_hip(target source... [WAVE_LANES 64] [SCENARIO name])

include_guard(GLOBAL)

function(heddle_simulate_cuda target)
  _heddle_simulate(${target} cuda 32 "-D__CUDACC__=1;-D__NVCC__=1;-D__CUDA_ARCH__=900" ${ARGN})
endfunction()

function(heddle_simulate_hip target)
  _heddle_simulate(${target} hip 64 "-D__HIPCC__=1;-D__HIP__=1;-D__HIP_PLATFORM_AMD__=1;-D__HIP_DEVICE_COMPILE__=1" ${ARGN})
endfunction()

function(_heddle_simulate target language lanes definitions)
  cmake_parse_arguments(arg "" "WAVE_LANES;SCENARIO" "" ${ARGN})
  if(arg_WAVE_LANES)
    set(lanes ${arg_WAVE_LANES})
  endif()
  if(NOT lanes MATCHES "^(32|64)$")
    message(FATAL_ERROR "heddle_simulate_${language}: WAVE_LANES is \"${lanes}\": it must be 32 or 64")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_simulate_${language}: name the sources: heddle_simulate_${language}(${target} file...)")
  endif()
  target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE heddle::simulated_sources)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    if(arg_SCENARIO)
      set(scenario ${arg_SCENARIO})
    else()
      cmake_path(GET source STEM LAST_ONLY scenario)
    endif()
    set(options -DHEDDLE_REWRITE=${scenario} -DHEDDLE_COMPAT_WAVE_LANES=${lanes} ${definitions} -include
                heddle/sim/compat/${language}.h)
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}")
  endforeach()
  get_target_property(done ${target} HEDDLE_SIMULATES)
  if(done)
    return()
  endif()
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  set(launchers $<TARGET_FILE:heddle::rewrite>)
  if(launcher)
    list(APPEND launchers ${launcher})
  endif()
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launchers}" HEDDLE_SIMULATES TRUE)
  if(TARGET heddle_rewrite)
    add_dependencies(${target} heddle_rewrite)
  endif()
endfunction()
