# A toolchain: 64-bit Arm, by Debian's cross compiler; programs run under qemu-user where that is installed.
#
#   cmake -D CMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(HEDDLE_QEMU_AARCH64 qemu-aarch64)
mark_as_advanced(HEDDLE_QEMU_AARCH64)
if(HEDDLE_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HEDDLE_QEMU_AARCH64} -L /usr/aarch64-linux-gnu)
endif()
