# What `cmake --install` copies, and how find_package(heddle) finds it again; cmake/package.cmake makes Debian packages of it.
#
# Two divisions of the same files. A *component* is what a project asks find_package() for; each has an export set and the libraries
# that it needs (cmake/heddleConfig.cmake.in):
#
#   rpc   heddle::rpc, headers that need nothing
#   host  host threads as a machine: heddle::host, heddle::observed
#   sim   the simulator and what compiles for it: heddle::sim, heddle::under_test, heddle_simulate_cuda(), ...
#   main  the command over scenarios of one's own: heddle::main, heddle::main_hardware
#   mpi   the same over MPI: heddle::main_mpi
#
# A *part* is what `cmake --install --component` copies, and a Debian package: rpc (the headers of rpc/ and hw/, and what find_package()
# reads), development (all other headers, and the libraries), command, mpi.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(cmake/pkg_config.cmake)

set(heddle_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

# heddle_install_library(<target> <component>)
#
# For the CMakeLists.txt of a room, after add_library(heddle_NAME ...): gives the target its public name heddle::NAME, here
# and in the installed package, and installs it. Targets that it links (PRIVATE ones of static libraries too) must be
# installed the same way, or be found by cmake/heddleConfig.cmake.in. Headers need nothing: heddle_install_package() takes
# every .h of every room.
function(heddle_install_library target component)
  string(REGEX REPLACE "^heddle_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(NOT TARGET heddle::${name})
    add_library(heddle::${name} ALIAS ${target})
  endif()
  if(NOT HEDDLE_INSTALL)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY HEDDLE_COMPONENTS ${component})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_INSTALLED ${target})
  set(part development)
  if(component MATCHES "^(rpc|mpi)$")
    set(part ${component})
  endif()
  install(TARGETS ${target} EXPORT heddle_${component}_targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part})
endfunction()

# heddle_install_command(<target> <part>): a program that is used by hand.
function(heddle_install_command target part)
  if(HEDDLE_INSTALL)
    set_property(GLOBAL APPEND PROPERTY HEDDLE_INSTALLED ${target})
    install(TARGETS ${target} RUNTIME COMPONENT ${part})
  endif()
endfunction()

# Static libraries that link it PRIVATE export its name.
heddle_install_library(heddle_warnings rpc)

# Called once, after all rooms.
function(heddle_install_package)
  if(NOT HEDDLE_INSTALL)
    return()
  endif()
  # tools/heddle/ is <heddle/tools/...>.
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt patterns REGEX "^[^#]")
  foreach(pattern IN LISTS patterns)
    set(part development)
    if(pattern MATCHES "^(rpc|hw)/")
      set(part rpc)
    endif()
    file(GLOB headers LIST_DIRECTORIES false RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
    foreach(header IN LISTS headers)
      string(REGEX REPLACE "^tools/heddle/" "tools/" installed ${header})
      get_filename_component(folder ${installed} DIRECTORY)
      install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/${folder} COMPONENT ${part})
    endforeach()
  endforeach()

  # What ./run install builds: all that is installed, and nothing else.
  get_property(targets GLOBAL PROPERTY HEDDLE_INSTALLED)
  list(APPEND targets heddle_share heddle_rewrite heddle_ptx_command)
  add_custom_target(heddle_installed)
  foreach(target IN LISTS targets)
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      if(NOT type STREQUAL INTERFACE_LIBRARY)
        add_dependencies(heddle_installed ${target})
      endif()
    endif()
  endforeach()

  get_property(components GLOBAL PROPERTY HEDDLE_COMPONENTS)
  list(REMOVE_DUPLICATES components)
  foreach(component IN LISTS components)
    set(part development)
    if(component MATCHES "^(rpc|mpi)$")
      set(part ${component})
    endif()
    install(EXPORT heddle_${component}_targets NAMESPACE heddle:: FILE heddle_${component}_targets.cmake
            DESTINATION ${heddle_package_dir} COMPONENT ${part})
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heddleConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/heddleConfig.cmake INSTALL_DESTINATION ${heddle_package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
          DESTINATION ${heddle_package_dir} COMPONENT rpc)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/Findcapstone.cmake ${PROJECT_SOURCE_DIR}/cmake/Findlibdw.cmake
                ${PROJECT_SOURCE_DIR}/cmake/simulate.cmake
          DESTINATION ${heddle_package_dir} COMPONENT development)
  heddle_install_pkg_config()
endfunction()
