# One search of a model by Spin, in a folder of its own. The search must be exhaustive, and end as it is told to.
#
#   spin, compiler, model, folder   programs, with what launches the compiler in front if anything does, and files
#   defines    parameters of the model, "-DWAVES=2;-DBUG=..."
#   judge      safety: assertions, and states in which no process can step and one has not ended
#              ends: under weak fairness every run comes to an end
#              steps: the steps of a box, to compare with `file`
#   finding    what Spin must find, a regular expression; empty: nothing
#   page       where the numbers of states and transitions are printed, if anywhere
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
function(must_run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  set(output "${output}" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}")
  endif()
endfunction()

# Names of bugs are resolved by the model; one that it does not have would be no bug.
file(READ ${model} text)
if("${defines}" MATCHES "-DBUG=([A-Z_]+)")
  set(bug ${CMAKE_MATCH_1})
  if(NOT bug STREQUAL "LOST_DELIVERY" AND NOT text MATCHES "#define ${bug} ")
    message(FATAL_ERROR "${model} has no bug of the name ${bug}")
  endif()
endif()

set(arguments -m100000 -w20)
if(judge STREQUAL "ends")
  # One bit of three words for each process.
  set(kind -DNFAIR=3)
  list(APPEND arguments -a -f)
elseif(judge STREQUAL "steps")
  # What partial-order reduction leaves out are steps.
  set(kind -DSAFETY -DNOCLAIM -DNOREDUCE)
  list(APPEND defines -DPRINT_STEPS)
else()
  set(kind -DSAFETY -DNOCLAIM)
endif()
must_run(${spin} -a ${defines} ${model})
# The searches are short: to optimise the checkers takes longer than they run.
must_run(${compiler} -w -O0 ${kind} -c pan.c)
must_run(${compiler} -o pan pan.o)
must_run(./pan ${arguments})

string(REGEX MATCH "errors: ([0-9]+)" _ "${output}")
set(errors "${CMAKE_MATCH_1}")
string(REGEX MATCH "pan:[0-9]+: [^\n]*" found "${output}")
foreach(fact IN ITEMS "depth reached [0-9]+" "[0-9]+ states, stored" "[0-9]+ transitions" "elapsed time [0-9.]+ seconds")
  string(REGEX MATCH "${fact}" fact "${output}")
  list(APPEND facts ${fact})
endforeach()
list(JOIN facts ", " facts)
list(JOIN defines " " defines)
if(found)
  string(APPEND facts ", ${found}")
endif()
message("${defines}: ${facts}")
if("${errors}" STREQUAL "" OR output MATCHES "Search not completed|depth too small|VECTORSZ|hash table is full|out of memory")
  if(NOT finding OR "${errors}" STREQUAL "")
    message(FATAL_ERROR "the search is not exhaustive\n${output}")
  endif()
endif()
if(finding)
  if(errors EQUAL 0)
    message(FATAL_ERROR "nothing is found\n${output}")
  elseif(NOT found MATCHES "${finding}")
    message(FATAL_ERROR "another thing is found than ${finding}")
  endif()
elseif(NOT errors EQUAL 0)
  execute_process(COMMAND ./pan -r WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE trail ERROR_QUIET)
  message(FATAL_ERROR "${found}\n${trail}")
endif()

# They are those of one version: another may reduce the search by more or less.
if(page AND output MATCHES "Spin Version 6.5.2")
  file(READ ${page} text)
  foreach(counted IN ITEMS states transitions)
    string(REGEX MATCH "([0-9]+) ${counted}" _ "${output}")
    string(REGEX REPLACE "([0-9])([0-9][0-9][0-9])$" "\\1,\\2" number "${CMAKE_MATCH_1}")
    string(REGEX REPLACE "([0-9])([0-9][0-9][0-9])," "\\1,\\2," number "${number}")
    if(NOT text MATCHES "[^0-9,]${number}[^0-9,]")
      message(FATAL_ERROR "${number} ${counted}: ${page} does not say so")
    endif()
  endforeach()
endif()

if(judge STREQUAL "steps")
  string(REGEX MATCHALL "[01]+ [01]+ [-ra] > [01]+ [01]+ [-ra]\n" steps "${output}")
  list(JOIN steps "" steps)
  file(WRITE ${folder}/steps "${steps}")
  file(READ ${file} known)
  if(NOT steps STREQUAL known)
    message(FATAL_ERROR "the steps are not those of ${file}: see ${folder}/steps")
  endif()
endif()
