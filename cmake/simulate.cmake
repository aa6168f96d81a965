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
#   heddle_simulate_clang_gpu(target source...)
#
# The same of what nvcc makes of them: its PTX is run, and its host code (docs/ptx.md). Without nvcc the function says so and adds
# nothing.
#
#   heddle_simulate_ptx(target source... [SCENARIO name] [OPTIONS nvcc-option...] [MODULES file...])
#
# MODULES are files of PTX and fat binaries that the program loads by itself (cuModuleLoad, cuModuleLoadData).

include_guard(GLOBAL)

function(heddle_simulate_cuda target)
  _heddle_simulate(${target} cuda 32 "-D__CUDACC__=1;-D__NVCC__=1;-D__CUDA_ARCH__=900" ${ARGN})
endfunction()

function(heddle_simulate_hip target)
  _heddle_simulate(${target} hip 64 "-D__HIPCC__=1;-D__HIP__=1;-D__HIP_PLATFORM_AMD__=1;-D__HIP_DEVICE_COMPILE__=1" ${ARGN})
endfunction()

# Freestanding code over <gpuintrin.h> and clang's __scoped_atomic_*: __has_builtin answers for what the simulator has, and a wave is as wide as it
# is launched.
function(heddle_simulate_clang_gpu target)
  _heddle_simulate(${target} clang_gpu 32 "-DHEDDLE_CLANG_GPU=1" ${ARGN})
endfunction()

# g++ tells of no access where a call takes or gives a whole object in memory (`*to = make_float4(x, y, z, w)`), and without optimization all such
# calls stay calls. So a source is optimized where nothing says that it is not to be.
function(_heddle_optimize target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_FLAGS MATCHES "(^| )-O")
    return()
  endif()
  if(NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_BUILD_TYPE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2>)
  endif()
  if(NOT CMAKE_CXX_FLAGS_DEBUG MATCHES "(^| )-O")
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-O2>)
  endif()
endfunction()

# Archives that heddle has not compiled begin anew with each run too. (A launcher of the linker knows generator expressions from CMake 3.27 on.)
function(_heddle_link_anew target)
  get_target_property(is_imported heddle::rewrite IMPORTED)
  if(is_imported)
    get_target_property(rewrite heddle::rewrite LOCATION)
  else()
    get_target_property(folder heddle::rewrite BINARY_DIR)
    set(rewrite ${folder}/heddle-rewrite)
  endif()
  get_target_property(launcher ${target} CXX_LINKER_LAUNCHER)
  set(launchers ${rewrite} --link)
  if(launcher)
    list(APPEND launchers ${launcher})
  endif()
  set_target_properties(${target} PROPERTIES CXX_LINKER_LAUNCHER "${launchers}")
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
    # Of the target: several may have the source, each in its way.
    string(MAKE_C_IDENTIFIER "HEDDLE_SIMULATES_${source}" how)
    set_target_properties(${target} PROPERTIES ${how} "${options}")
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "$<TARGET_PROPERTY:${how}>")
  endforeach()
  get_target_property(done ${target} HEDDLE_SIMULATES)
  if(done STREQUAL "TRUE")
    return()
  endif()
  _heddle_optimize(${target})
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  set(launchers $<TARGET_FILE:heddle::rewrite>)
  if(launcher)
    list(APPEND launchers ${launcher})
  endif()
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launchers}" HEDDLE_SIMULATES TRUE)
  _heddle_link_anew(${target})
  if(TARGET heddle_rewrite)
    add_dependencies(${target} heddle_rewrite)
  endif()
endfunction()

find_program(HEDDLE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda/bin DOC "CUDA compiler")

# How the C++ compiler instruments host code, as options for nvcc.
function(_heddle_host_options variable)
  get_target_property(options heddle::under_test INTERFACE_COMPILE_OPTIONS)
  set(found "")
  foreach(option IN LISTS options)
    string(REGEX REPLACE "^\\$<\\$<COMPILE_LANGUAGE:CXX>:(.*)>$" "\\1" option "${option}")
    if(option MATCHES "^\\$<\\$<COMPILE_LANG_AND_ID:CXX,${CMAKE_CXX_COMPILER_ID}>:(.*)>$")
      set(option "${CMAKE_MATCH_1}")
    endif()
    if(option MATCHES "^\\$<")
      continue()
    endif()
    string(REGEX REPLACE "^SHELL:" "" option "${option}")
    string(REPLACE "--param " "--param=" option "${option}")
    string(REPLACE " " "," option "${option}")
    list(APPEND found -Xcompiler=${option})
  endforeach()
  # As in what cmake compiles: paths in reports begin at the root of the sources.
  list(APPEND found -Xcompiler=-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

function(heddle_simulate_ptx target)
  cmake_parse_arguments(arg "" "SCENARIO" "OPTIONS;MODULES" ${ARGN})
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_simulate_ptx: name the sources: heddle_simulate_ptx(${target} file...)")
  endif()
  if(NOT HEDDLE_NVCC)
    message(STATUS "heddle_simulate_ptx: no nvcc, so ${arg_UNPARSED_ARGUMENTS} of ${target} is left out; install the CUDA toolkit, or set HEDDLE_NVCC")
    return()
  endif()
  target_link_libraries(${target} PRIVATE heddle::ptx)
  get_target_property(done ${target} HEDDLE_SIMULATES)
  if(NOT done)
    _heddle_link_anew(${target})
    set_target_properties(${target} PROPERTIES HEDDLE_SIMULATES PTX)
    if(TARGET heddle_rewrite)
      add_dependencies(${target} heddle_rewrite)
    endif()
  endif()
  _heddle_host_options(host_options)
  set(includes "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,sim/compat/include>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(flags "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.ptx)
  file(MAKE_DIRECTORY ${folder})
  set(made_of_ptx "")
  # Accesses to what is declared volatile are strong in a source for GPUs.
  set(symbols "")
  foreach(size IN ITEMS 1 2 4 8)
    foreach(kind IN ITEMS read write)
      list(APPEND symbols --redefine-sym __tsan_volatile_${kind}${size}=heddle_gpu_volatile_${kind}${size})
    endforeach()
  endforeach()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET source STEM LAST_ONLY scenario)
    set(made ${folder}/${scenario})
    if(arg_SCENARIO)
      set(scenario ${arg_SCENARIO})
    endif()
    string(MAKE_C_IDENTIFIER heddle_ptx_main_${scenario} main)
    # One run of nvcc for host and device, as another one gives what is in unnamed namespaces other names.
    add_custom_command(
      OUTPUT ${made}.nvcc.o
      COMMAND ${HEDDLE_NVCC} -x cu -gencode=arch=compute_90,code=compute_90 ${arg_OPTIONS} "${flags}" -lineinfo -no-compress -O2 -cudart none
              -ccbin ${CMAKE_CXX_COMPILER} ${host_options} -MD -MF ${made}.d -MT ${made}.nvcc.o -c ${source} -o ${made}.nvcc.o
      DEPENDS ${source}
      DEPFILE ${made}.d
      COMMENT "Compiling ${source} for the simulator, by way of PTX"
      COMMAND_EXPAND_LISTS
      VERBATIM)
    add_custom_command(
      OUTPUT ${made}.o ${made}.ptx.cpp
      COMMAND heddle::ptx_command --extract ${made}.nvcc.o -o ${made}.ptx
      COMMAND heddle::ptx_command ${made}.ptx -o ${made}.ptx.cpp --scenario ${scenario}
      COMMAND ${CMAKE_OBJCOPY} --redefine-sym main=${main} ${symbols} ${made}.nvcc.o ${made}.o
      # One with a main() begins anew with each run, as those of heddle_simulate_cuda() do.
      COMMAND sh -c "! ${CMAKE_NM} ${made}.o | grep -q ' T ${main}$' || ${CMAKE_OBJCOPY} --add-symbol heddle_is_program=.text:0,weak,object ${made}.o"
      COMMAND heddle::rewrite --set-apart ${made}.o
      DEPENDS ${made}.nvcc.o heddle::ptx_command heddle::rewrite
      VERBATIM)
    set_source_files_properties(${made}.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${made}.o)
    list(APPEND made_of_ptx ${made}.ptx.cpp)
  endforeach()
  foreach(module IN LISTS arg_MODULES)
    cmake_path(ABSOLUTE_PATH module BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET module FILENAME name)
    set(made ${folder}/${name}.module.cpp)
    add_custom_command(OUTPUT ${made} COMMAND heddle::ptx_command ${module} -o ${made} --module DEPENDS ${module} heddle::ptx_command VERBATIM)
    list(APPEND made_of_ptx ${made})
  endforeach()
  # The accesses that the PTX has are announced by what the C++ calls, once each.
  set_source_files_properties(${made_of_ptx} PROPERTIES GENERATED TRUE COMPILE_OPTIONS "-fno-sanitize=thread;-w;-ffp-contract=off")
  target_sources(${target} PRIVATE ${made_of_ptx})
endfunction()
