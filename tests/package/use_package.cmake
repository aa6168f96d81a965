# Builds and runs consumer/ against heddle: way=installed or way=subdirectory.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit status ${status}: ${command}")
  endif()
endfunction()

# What an earlier version installed must not be found. The build folder stays, so that a second run is quick.
file(REMOVE_RECURSE ${work}/prefix)
if(way STREQUAL "installed")
  run(${CMAKE_COMMAND} --install ${heddle_build} --prefix ${work}/prefix)
  run(${work}/prefix/bin/heddle --version)
  set(where -D CMAKE_PREFIX_PATH=${work}/prefix)
else()
  set(where -D HEDDLE_SOURCE=${heddle_source})
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher} -D CMAKE_BUILD_TYPE=${build_type} ${where})
run(${CMAKE_COMMAND} --build ${work}/build --parallel 2)
run(${work}/build/mine fuzz --schedules 50)
run(${work}/build/mine_host)
run(${work}/build/mine_cuda fuzz --schedules 50)
