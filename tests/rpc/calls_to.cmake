# cmake -DNM=... -DOBJECT=... -DSYMBOL=... -DWANTED=ON|OFF -P calls_to.cmake: does this object call that function?
execute_process(COMMAND ${NM} --undefined-only ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${symbols}" "${SYMBOL}" at)
if(at EQUAL -1 AND WANTED)
  message(FATAL_ERROR "${OBJECT} does not call ${SYMBOL}, and should")
elseif(NOT at EQUAL -1 AND NOT WANTED)
  message(FATAL_ERROR "${OBJECT} calls ${SYMBOL}, and should not")
endif()
