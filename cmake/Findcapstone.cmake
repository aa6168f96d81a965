# Capstone reads the machine code of the running program. Gives the target heddle_capstone.
find_path(CAPSTONE_INCLUDE_DIR capstone/capstone.h)
find_library(CAPSTONE_LIBRARY capstone)
mark_as_advanced(CAPSTONE_INCLUDE_DIR CAPSTONE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(capstone REQUIRED_VARS CAPSTONE_LIBRARY CAPSTONE_INCLUDE_DIR)

if(capstone_FOUND AND NOT TARGET heddle_capstone)
  add_library(heddle_capstone INTERFACE IMPORTED)
  target_include_directories(heddle_capstone INTERFACE ${CAPSTONE_INCLUDE_DIR})
  target_link_libraries(heddle_capstone INTERFACE ${CAPSTONE_LIBRARY})
endif()
