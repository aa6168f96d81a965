// What is a host thread's own: values by key, and what is called when it ends.
#pragma once

#include <heddle/sim/machine/lane.h>
#include <sys/types.h>

#include <cstddef>

namespace heddle::sim::runtime {

/// The calling thread ends: destroys its thread-local variables and the values of its keys. Calls code under test.
void end_values_of_thread();
/// The same; the last thread of a program whose main thread has called pthread_exit() ends the program.
void end_thread();
/// Has this called when the calling thread has ended, and its thread-local variables are gone; the last one first. False outside of runs.
bool call_behind_thread(void (*call)(void* object), void* object);
/// The program ends, on the calling thread: calls what is to be called then, the last one first.
void end_program_values();
/// What gettid() says: the same in each process, and the id of no real thread.
inline pid_t id_of_thread(const lane& self) {
  constexpr pid_t id_of_main = 1 << 23;  // behind the greatest that Linux gives
  return id_of_main + static_cast<pid_t>(self.of->id);
}
/// How many bytes lie behind a pointer that `new` has given.
size_t allocated_bytes(const void* memory);

}  // namespace heddle::sim::runtime
