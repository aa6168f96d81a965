#include <heddle/tools/mpi/main.h>

int main(int argument_count, char** arguments) { return heddle::mpi_main(argument_count, arguments); }
