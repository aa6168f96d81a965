# libdw reads the line tables of the running program. Gives the target heddle_libdw.
find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
find_library(LIBDW_LIBRARY dw)
mark_as_advanced(LIBDW_INCLUDE_DIR LIBDW_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libdw REQUIRED_VARS LIBDW_LIBRARY LIBDW_INCLUDE_DIR)

if(libdw_FOUND AND NOT TARGET heddle_libdw)
  add_library(heddle_libdw INTERFACE IMPORTED)
  target_include_directories(heddle_libdw INTERFACE ${LIBDW_INCLUDE_DIR})
  target_link_libraries(heddle_libdw INTERFACE ${LIBDW_LIBRARY})
endif()
