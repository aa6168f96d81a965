#include <heddle/tools/main.h>

int main(int argument_count, char** arguments) { return heddle::main(argument_count, arguments); }
