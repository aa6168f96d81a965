# Writes a source file that holds the tables of litmus tests.
#
#   cmake -D "files=A.csv;B.csv" -D output=tables.cpp -P embed.cmake
cmake_minimum_required(VERSION 3.25)
set(text "#include <heddle/tools/litmus/csv.h>\n\nnamespace heddle::litmus {\n\n")
string(APPEND text "const std::vector<shipped_table>& shipped_tables() {\n  static const std::vector<shipped_table> tables = {\n")
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  file(READ ${file} table)
  string(FIND "${table}" ")table\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} holds the text that ends it in C++: choose another one here")
  endif()
  string(APPEND text "      {\"${name}\", R\"table(${table})table\"},\n")
endforeach()
string(APPEND text "  };\n  return tables;\n}\n\n}  // namespace heddle::litmus\n")
file(WRITE ${output} "${text}")
