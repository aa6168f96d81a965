# How all C++ in this tree is compiled: warnings, debug information, sanitizers.

# Linked PRIVATE by every target of ours; never by what a user compiles, hence empty once installed. g++ 12 means designated
# initializers too when it warns of missing fields, and leaving fields out is what those are for. clang finds std::stable_sort of
# libstdc++ 12 to use a function that is deprecated; nothing of ours is.
add_library(heddle_warnings INTERFACE)
target_compile_options(
  heddle_warnings
  INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Wno-missing-field-initializers>>
            $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>>
            $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${HEDDLE_WARNINGS_AS_ERRORS}>>:-Werror>>)

# Reports name source lines, so there is debug information in every build, and paths in it start at the source root:
# "rpc/port/port.h:88", the same on every machine. Where several maps match, g++ takes the last and clang the longest: the
# general one goes first. The folder of a header and the link to it must come out the same.
set(heddle_header_path_maps -ffile-prefix-map=${PROJECT_BINARY_DIR}/include/heddle/=
                            -ffile-prefix-map=${PROJECT_BINARY_DIR}/include/heddle/tools/=tools/heddle/)
# A project that takes heddle in may have said how much of it: -g1 is enough, and with -g0 reports name functions alone.
set(heddle_debug_information -g)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if(NOT PROJECT_IS_TOP_LEVEL AND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} " MATCHES " -g[0123]? ")
  set(heddle_debug_information "")
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${heddle_debug_information}> $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>
                    "$<$<COMPILE_LANGUAGE:CXX>:${heddle_header_path_maps}>")

# g++ looks for memory that it may use again each time its own has grown to twice 128 MiB or less, a tenth of the time of a large file. Where there is
# enough for all files that are compiled at once, it need not look so often.
cmake_host_system_information(RESULT heddle_memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT heddle_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR heddle_memory_mib "${heddle_memory_mib} / ${heddle_cores}")
if(PROJECT_IS_TOP_LEVEL AND heddle_memory_mib GREATER_EQUAL 3072)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=600000>)
endif()

if(HEDDLE_SANITIZE STREQUAL "address")
  # Code under test takes address out again (cmake/under_test.cmake).
  set(heddle_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(HEDDLE_SANITIZE STREQUAL "thread")
  set(heddle_sanitizers -fsanitize=thread)
elseif(NOT HEDDLE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEDDLE_SANITIZE is \"${HEDDLE_SANITIZE}\": it must be empty, \"address\" or \"thread\"")
endif()
# g++ takes what std::regex leaves unwritten for a mistake when it also checks addresses (GCC bug 105562).
if(HEDDLE_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND heddle_sanitizer_warnings -Wno-maybe-uninitialized)
endif()
if(heddle_sanitizers)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${heddle_sanitizers};${heddle_sanitizer_warnings};-fno-omit-frame-pointer>")
  add_link_options(${heddle_sanitizers})
endif()

# Most of a file's time is its headers, which files that are compiled together share: a build from nothing takes a third, and four fifths of what
# it takes with 8. A file alone says what it needs, which this hides; 1 shows it, and is quicker to build again after a change. clang, whose
# warnings of names that shadow others go further, shows it in any case.
set(together 32)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(together 1)
endif()
# Where a variable lies in optimised code takes up to a third of the time to find out, and no report of heddle asks for it.
set(heddle_without_places_of_variables $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-var-tracking>)
# Nor does one ask for heddle's own types, which would be most of a library and of each program that it is linked into: lines and names of
# functions are enough. (sim/CMakeLists.txt keeps those that gdb shows lanes by.)
set(heddle_with_lines_alone $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<NOT:$<CONFIG:Debug>>>:-g1>)
set(HEDDLE_TOGETHER ${together} CACHE STRING "How many source files of a part of heddle are compiled together (1: each alone)")
if(HEDDLE_TOGETHER GREATER 1)
  # A name of one file may shadow that of another.
  target_compile_options(heddle_warnings INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>>
                                                   $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>>)
endif()
function(heddle_compile_together)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${heddle_without_places_of_variables} ${heddle_with_lines_alone})
  endforeach()
  if(HEDDLE_TOGETHER LESS_EQUAL 1)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HEDDLE_TOGETHER})
    # Their unnamed namespaces are those of one file; g++ 12 takes an inlined insert() at the front of a string to overlap (GCC bug
    # 105651); and no less is to be inlined than where each is alone (measured: 3 % of the schedules of port.echo).
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-restrict;--param=large-unit-insns=1000000>")
  endforeach()
endfunction()
# Of programs that are no code under test and take no time: half of theirs to compile goes to making them quick, a tenth to types that only a debugger
# asks for.
set(heddle_compile_quickly $<$<NOT:$<CONFIG:Debug>>:-O0;-g1>)
# Of what nothing waits for while schedules run: reports, words, the command line. It takes three fifths of the time of -O1 to compile. And of code
# under test that tests alone run, in schedules whose time is the simulator's: that it takes half of the time of -O2.
set(heddle_compile_plainly $<$<NOT:$<CONFIG:Debug>>:-Og>)
# heddle_compile_together() for a program of tests, which stays as it is in all else. Of the last programs to be built none may take long.
function(heddle_compile_tests_together target)
  if(HEDDLE_TOGETHER GREATER 1)
    set(files ${HEDDLE_TOGETHER})
    if(files GREATER 8)
      set(files 8)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-restrict>")
  endif()
endfunction()
# Headers that most files of a target begin with, read once for all of them. What a file includes by itself this hides too, as compiling together does,
# and where that is off it is off. A file with options of its own has to be left out (SKIP_PRECOMPILE_HEADERS): they must be those of the headers.
function(heddle_precompile target)
  if(HEDDLE_TOGETHER LESS_EQUAL 1)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # ccache keeps what was compiled with such headers where it may take macros that they do not use for no matter.
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  if(launcher MATCHES "ccache$")
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${launcher}")
  endif()
endfunction()
