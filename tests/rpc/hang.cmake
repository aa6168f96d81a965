# cmake -DSTRESS=... -P hang.cmake: without a server, does rpc_stress end, say so by its exit status, and print its ports?
execute_process(COMMAND ${STRESS} --clients 2 --servers 0 --ports 1 --calls 10 --hang-ms 200
                RESULT_VARIABLE status ERROR_VARIABLE text)
if(NOT status EQUAL 3)
  message(FATAL_ERROR "exit status ${status}, not 3:\n${text}")
endif()
if(NOT text MATCHES "no call has ended.*port 0: owned by the server [^\n]*, locked by: client, mask 1, opcode 32769")
  message(FATAL_ERROR "the state of the port is not printed:\n${text}")
endif()
