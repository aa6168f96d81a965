# What `heddle build` shows to a build in the place of /usr/local/cuda and /opt/rocm: compilers by the names that builds call, and what CMake and Makefiles
# ask of a toolkit's folder. It lies beside heddle-compiler, as a build that was configured once goes on with it.
set(toolkit ${PROJECT_BINARY_DIR}/libexec/heddle/toolkit)
# Where nvcc itself is to be called, its folder stands before the other: whichever CMake has found stays.
foreach(line IN ITEMS "bin c++ c++ g++ clang++" "bin cc cc gcc clang" "bin hipcc hipcc amdclang++" "bin cuda nvcc" "of-nvcc nvcc nvcc")
  string(REPLACE " " ";" names ${line})
  list(POP_FRONT names folder place)
  foreach(name IN LISTS names)
    file(CONFIGURE OUTPUT ${toolkit}/${folder}/${name} @ONLY CONTENT [[#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../../heddle-compiler" @place@ "$@"
]])
  endforeach()
endforeach()
# As CUDART_VERSION and HIP_VERSION of sim/compat have it.
set(cuda_version 12.8)
set(hip_version 6.4.0)
file(CONFIGURE OUTPUT ${toolkit}/bin/hipconfig @ONLY CONTENT [[#!/bin/sh
top=$(dirname "$(dirname "$(readlink -f "$0")")")
case ${1:-} in
  -R | --rocmpath | -p | --path) printf %s "$top" ;;
  -l | --hipclangpath) printf %s "$top/bin" ;;
  -P | --platform) printf amd ;;
  -c | --compiler) printf clang ;;
  -r | --runtime) printf rocclr ;;
  -v | --version) printf @hip_version@ ;;
  -C | --cpp_config) printf ' -D__HIP_PLATFORM_AMD__= -I%s/include' "$top" ;;
  *) echo "hipconfig of heddle build: ${1:-no option} is not known here" >&2 && exit 1 ;;
esac
]])
file(WRITE ${toolkit}/bin/rocm_agent_enumerator "#!/bin/sh\necho gfx90a\n")
file(GLOB programs ${toolkit}/bin/* ${toolkit}/of-nvcc/*)
file(CHMOD ${programs} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Libraries to be found: what stands in them is linked with each program.
foreach(name IN ITEMS cudart cudart_static cudadevrt cuda nvToolsExt amdhip64 hsa-runtime64)
  foreach(folder IN ITEMS lib lib64)
    file(WRITE ${toolkit}/${folder}/lib${name}.a "!<arch>\n")
  endforeach()
endforeach()
file(WRITE ${toolkit}/nvvm/libdevice/README "CMake looks for this folder. heddle has no device library.\n")
include(CMakePackageConfigHelpers)
foreach(name IN ITEMS hip hip-lang)
  configure_file(toolkit/${name}-config.cmake ${toolkit}/lib/cmake/${name}/${name}-config.cmake COPYONLY)
  write_basic_package_version_file(${toolkit}/lib/cmake/${name}/${name}-config-version.cmake VERSION ${hip_version} COMPATIBILITY AnyNewerVersion ARCH_INDEPENDENT)
endforeach()
file(RELATIVE_PATH headers ${toolkit} ${heddle_vendor_include_dir})
file(CREATE_LINK ${headers} ${toolkit}/include SYMBOLIC)
if(HEDDLE_INSTALL)
  install(DIRECTORY ${toolkit} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle COMPONENT development USE_SOURCE_PERMISSIONS PATTERN include EXCLUDE)
  file(RELATIVE_PATH headers /usr/${CMAKE_INSTALL_LIBEXECDIR}/heddle/toolkit /usr/${CMAKE_INSTALL_INCLUDEDIR}/heddle/sim/compat/include)
  file(CREATE_LINK ${headers} ${CMAKE_CURRENT_BINARY_DIR}/include SYMBOLIC)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle/toolkit COMPONENT development)
endif()
