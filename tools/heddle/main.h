// For a program that has a main of its own and wants the commands too.
#pragma once

namespace heddle {

/// The whole command: `heddle list`, `heddle fuzz` and so on over the scenarios that are linked into this program.
/// Gives the exit status. Linking heddle::main gives a program a `main` that is nothing but a call of this.
int main(int argument_count, char** arguments);

}  // namespace heddle
