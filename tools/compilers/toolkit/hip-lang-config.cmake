# What CMake asks for when a project enables the language HIP: the compiler links the runtime by itself.
foreach(name IN ITEMS amdhip64 device)
  if(NOT TARGET hip-lang::${name})
    add_library(hip-lang::${name} INTERFACE IMPORTED)
  endif()
endforeach()
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
