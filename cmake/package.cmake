# Debian packages: `cpack -G DEB` in the build folder. One for each part that cmake/install.cmake installs:
#
#   libheddle-rpc-dev  headers of the RPC library, for any C++ compiler, nvcc and hipcc; needs nothing
#   libheddle-dev      the simulator, and heddle::main for scenarios of one's own
#   heddle             the command with the scenarios that ship, its manual page, shell completion
#   heddle-mpi         campaigns over several machines
if(NOT HEDDLE_INSTALL)
  return()
endif()

set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_VENDOR heddle)
set(CPACK_PACKAGE_CONTACT "heddle maintainers <maintainers@heddle.invalid>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL rpc development command)
if(TARGET heddle-mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(CPACK_DEBIAN_RPC_PACKAGE_NAME libheddle-rpc-dev)
set(CPACK_DEBIAN_RPC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_RPC_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_RPC_DESCRIPTION "RPC between GPU and host, in headers
 Ports, slots, rings and reverse offload between kernels and host threads, and services on top of them: one source for CUDA, HIP and
 host threads.")

# The static libraries name these at link time.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheddle-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libheddle-rpc-dev (= ${version}), libboost-context1.81-dev, libdw-dev, libcapstone-dev, libtbb-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "simulator of a GPU beside its host, for programs of one's own
 Runs code for a GPU and its host under thousands of schedules, finds the one that hangs, and plays it again. A program links heddle::main
 and has the command for its own scenarios.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "finds the schedules under which a GPU and its host hang
 The command with the scenarios that ship: protocols between GPU and host, and planted bugs beside their twins.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME heddle-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libheddle-dev (= ${version}), libopenmpi-dev")
set(CPACK_DEBIAN_MPI_DESCRIPTION "campaigns of heddle over several machines
 The command over MPI, and heddle::main_mpi for programs of one's own.")

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/strip_archives.cmake)
include(CPack)
