# find_package(heddle COMPONENTS ...): each with no more than it needs, and one line when that is not there.
#
#   cmake -D prefix= -D work= -D generator= -D compiler= -P components.cmake
cmake_minimum_required(VERSION 3.25)
set(libraries Boost libdw capstone ZLIB TBB MPI nlohmann_json CLI11)
file(REMOVE_RECURSE ${work})

# Configures, and builds when that went well, a project that asks for `components` and links `targets`, on a machine that lacks `lacking`.
# Wanted: `message` among what is printed, or success when it is empty.
function(expect name components targets lacking message)
  set(folder ${work}/${name})
  file(WRITE ${folder}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(${name} CXX)\n"
       "find_package(heddle 0.1 REQUIRED COMPONENTS ${components})\n"
       "foreach(name IN ITEMS main sim scheduler)\n  if(TARGET heddle::\${name})\n    message(STATUS \"has \${name}\")\n  endif()\nendforeach()\n"
       "add_executable(call ${CMAKE_CURRENT_LIST_DIR}/rpc/call.cpp)\ntarget_link_libraries(call PRIVATE ${targets})\n")
  set(without "")
  foreach(library IN LISTS lacking)
    list(APPEND without -D CMAKE_DISABLE_FIND_PACKAGE_${library}=ON)
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
                          -D CMAKE_PREFIX_PATH=${prefix} ${without}
                  OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " printed "${printed}")
  if(message STREQUAL "")
    if(NOT status EQUAL 0 OR printed MATCHES "has ")
      message(FATAL_ERROR "${name}: exit status ${status}: ${printed}")
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}/build COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${folder}/build/call COMMAND_ERROR_IS_FATAL ANY)
    return()
  endif()
  string(FIND "${printed}" "${message}" at)
  if(status EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "${name}: exit status ${status}, and \"${message}\" is not in what was printed: ${printed}")
  endif()
endfunction()

expect(rpc "rpc" "heddle::rpc" "${libraries};Threads" "")
expect(host "rpc host" "heddle::host" "${libraries}" "")
expect(without_boost "main" "heddle::main" "Boost" "component sim of heddle needs Boost: install the Debian package libboost-context1.81-dev")
expect(without_tbb "main" "heddle::main" "TBB" "component main of heddle needs TBB: install the Debian package libtbb-dev")
expect(misspelt "mian" "heddle::main" "" "heddle has no component \"mian\"; there are rpc, host, sim, main and mpi")
