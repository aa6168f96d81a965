# The libraries that heddle links, each with one line that names the Debian package when it is missing.
# cmake/debian-packages.txt lists the same packages for ./run; cmake/heddleConfig.cmake.in finds them for an installed heddle.

function(heddle_require found library package)
  if(NOT found)
    message(FATAL_ERROR "heddle needs ${library}: install the Debian package ${package}")
  endif()
endfunction()

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
# A project that takes heddle in by add_subdirectory() links targets that name these, from outside this folder.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

find_package(nlohmann_json QUIET)
heddle_require("${nlohmann_json_FOUND}" nlohmann_json nlohmann-json3-dev)
find_package(CLI11 QUIET)
heddle_require("${CLI11_FOUND}" CLI11 libcli11-dev)
find_package(TBB QUIET)
heddle_require("${TBB_FOUND}" oneTBB libtbb-dev)
if(NOT "mpi" IN_LIST HEDDLE_LEAVE_OUT)
  find_package(MPI QUIET COMPONENTS CXX)  # heddle-mpi is left out without it
endif()
find_package(ZLIB QUIET)
heddle_require("${ZLIB_FOUND}" zlib zlib1g-dev)
find_package(Boost 1.81 CONFIG QUIET COMPONENTS context)
heddle_require("${Boost_FOUND}" "Boost.Context 1.81" libboost-context1.81-dev)
find_package(libdw QUIET)
heddle_require("${libdw_FOUND}" libdw libdw-dev)
find_package(capstone QUIET)
heddle_require("${capstone_FOUND}" Capstone libcapstone-dev)

if(HEDDLE_BUILD_TESTS)
  find_package(GTest QUIET)
  heddle_require("${GTest_FOUND}" GoogleTest libgtest-dev)
  include(GoogleTest)
endif()
if(HEDDLE_BUILD_BENCHMARKS)
  find_package(benchmark QUIET)
  heddle_require("${benchmark_FOUND}" "Google Benchmark" libbenchmark-dev)
endif()
