// The command as an MPI program.
#pragma once

namespace heddle {

/// As heddle::main (main.h), where `fuzz` is run by all ranks together, and any other command by rank 0. Begins and
/// ends MPI. Linking heddle::main_mpi gives a program a `main` that is nothing but a call of this.
int mpi_main(int argument_count, char** arguments);

}  // namespace heddle
