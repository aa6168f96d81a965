# Run by CPack before it packs: Debian's packages of libraries have no debugging information in their archives. The command keeps its own,
# for reports name the lines of its scenarios.
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/*.a)
find_program(STRIP strip)
foreach(archive IN LISTS archives)
  execute_process(COMMAND ${STRIP} --strip-debug ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
