# What `cmake --install` copies, and how find_package(heddle) finds it again.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# heddle_install_library(<target>)
#
# For the CMakeLists.txt of a room, after add_library(heddle_NAME ...): gives the target its public name heddle::NAME, here
# and in the installed package, and installs it. Targets that it links (PRIVATE ones of static libraries too) must be
# installed the same way, or be found by cmake/heddleConfig.cmake.in. Headers need nothing: heddle_install_package() takes
# every .h of every room.
function(heddle_install_library target)
  get_target_property(done ${target} EXPORT_NAME)
  if(done)
    return()
  endif()
  string(REGEX REPLACE "^heddle_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(NOT TARGET heddle::${name})
    add_library(heddle::${name} ALIAS ${target})
  endif()
  install(TARGETS ${target} EXPORT heddle_targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/heddle)
endfunction()

# Static libraries that link it PRIVATE export its name.
heddle_install_library(heddle_warnings)

# Called once, after all rooms.
function(heddle_install_package)
  foreach(room IN ITEMS rpc scheduler sim hw)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/${room}
            FILES_MATCHING PATTERN "*.h" PATTERN "atomic")
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/heddle/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/tools
          FILES_MATCHING PATTERN "*.h")

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
  install(EXPORT heddle_targets NAMESPACE heddle:: FILE heddleTargets.cmake DESTINATION ${package_dir})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heddleConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/heddleConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Findcapstone.cmake ${PROJECT_SOURCE_DIR}/cmake/Findlibdw.cmake
                ${PROJECT_SOURCE_DIR}/cmake/simulate.cmake
          DESTINATION ${package_dir})
endfunction()
