#pragma once

extern "C" {
/// How often it was called in this process.
int library_count();
/// An element of its own heap.
int* library_grow();
/// Calls this while it holds a lock.
void library_with_lock(void (*body)());
/// Calls this on a thread of its own, and waits for its end.
void library_on_a_thread(void (*body)());
/// What this returns, computed on a thread of its own and waited for by a std::future.
int library_answer(int (*body)());
/// Waits until library_set() was called.
void library_wait();
void library_set();
/// Makes, takes, gives and ends one of each kind of lock, and looks at the clock. Returns how many failed.
int library_take_all_locks();
/// A value of each thread.
void library_keep(int* value);
int* library_kept();
}
