# How many of the sources in a folder compile for the simulator.
file(GLOB sources ${SOURCES}/*.cu)
set(done 0)
foreach(source IN LISTS sources)
  execute_process(
    COMMAND ${REWRITE} ${COMPILER} -std=c++20 -fsyntax-only -w -DHEDDLE_TARGET=sim -DHEDDLE_REWRITE=compiles -DHEDDLE_COMPAT_WAVE_LANES=32
            -D__CUDACC__=1 -D__NVCC__=1 -D__CUDA_ARCH__=900 -I${BUILD}/include
            -I${BUILD}/sim/compat/include -I${BUILD}/include/heddle/sim/compat/include -include heddle/sim/compat/cuda.h -o ${CMAKE_CURRENT_BINARY_DIR}/compiles.o -c
            ${source} RESULT_VARIABLE result ERROR_VARIABLE said)
  if(result EQUAL 0)
    math(EXPR done "${done} + 1")
  else()
    message("${source}: ${said}")
  endif()
endforeach()
list(LENGTH sources all)
message("${done} of ${all} compile")
