# The manual page and what shells read, written by the command itself and installed where they look.
set(share ${PROJECT_BINARY_DIR}/share)
add_custom_command(
  OUTPUT ${share}/heddle.1 ${share}/heddle.bash ${share}/_heddle ${share}/heddle.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${share}
  COMMAND heddle help --man > ${share}/heddle.1
  COMMAND heddle completion bash > ${share}/heddle.bash
  COMMAND heddle completion zsh > ${share}/_heddle
  COMMAND heddle completion fish > ${share}/heddle.fish
  DEPENDS heddle
  COMMENT "Writing the manual page and shell completion"
  VERBATIM)
add_custom_target(heddle_share ALL DEPENDS ${share}/heddle.1)
if(HEDDLE_INSTALL)
  install(FILES ${share}/heddle.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  install(FILES ${share}/heddle.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME heddle COMPONENT command)
  install(FILES ${share}/heddle.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/heddle/replay/lanes.py DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle COMPONENT command)
  # Debian's zsh does not look into /usr/share/zsh/site-functions.
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(folder vendor-completions)
    endif()
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\" TYPE FILE FILES \"${share}/_heddle\")"
    COMPONENT command)
endif()
