# heddle_discover_suites(target PREFIX prefix [FILTER filter] [TIMEOUT seconds] [ENVIRONMENT name=value] [LIST name])
#
# The tests of a GoogleTest program as tests of ctest: each suite is one, a large one several, as most tests take less time than a program needs to begin.
# Each case is one of its own too, in a configuration that nothing runs by itself: `ctest -C cases -R NAME`.
function(heddle_discover_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;FILTER;TIMEOUT;ENVIRONMENT;LIST" "")
  if(NOT arg_LIST)
    set(arg_LIST ${target}_suites)
  endif()
  set(written ${CMAKE_CURRENT_BINARY_DIR}/${arg_LIST}.cmake)
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    BYPRODUCTS ${written}
    COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D prefix=${arg_PREFIX} -D "filter=${arg_FILTER}" -D "timeout=${arg_TIMEOUT}" -D
            "environment=${arg_ENVIRONMENT}" -D file=${written} -D folder=${CMAKE_CURRENT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/write_suites.cmake
    VERBATIM)
  set(included ${CMAKE_CURRENT_BINARY_DIR}/${arg_LIST}_if_built.cmake)
  file(WRITE ${included} "if(EXISTS \"${written}\")\n  include(\"${written}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()
