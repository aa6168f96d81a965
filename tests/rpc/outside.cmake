# What a test asks of a program from outside: -DSTRESS=... or -DNM=..., as below.

if(DEFINED NM)
  # cmake -DNM=... -DOBJECT=... -DSYMBOL=... -DWANTED=ON|OFF -P outside.cmake: does this object call that function?
  execute_process(COMMAND ${NM} --undefined-only ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${symbols}" "${SYMBOL}" at)
  if(at EQUAL -1 AND WANTED)
    message(FATAL_ERROR "${OBJECT} does not call ${SYMBOL}, and should")
  elseif(NOT at EQUAL -1 AND NOT WANTED)
    message(FATAL_ERROR "${OBJECT} calls ${SYMBOL}, and should not")
  endif()
  return()
endif()

# cmake -DSTRESS=... -P outside.cmake: without a server, does rpc_stress end, say so by its exit status, and print its ports?
execute_process(COMMAND ${STRESS} --clients 2 --servers 0 --ports 1 --calls 10 --hang-ms 200
                RESULT_VARIABLE status ERROR_VARIABLE text)
if(NOT status EQUAL 3)
  message(FATAL_ERROR "exit status ${status}, not 3:\n${text}")
endif()
if(NOT text MATCHES "no call has ended.*port 0: owned by the server [^\n]*, locked by: client, mask 1, opcode 32769")
  message(FATAL_ERROR "the state of the port is not printed:\n${text}")
endif()
