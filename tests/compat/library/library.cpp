// A shared library as it comes with a system: by the compiler alone, so that heddle sees nothing of what it loads and stores.
#include "library.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex lock;
std::condition_variable changed;
bool is_set = false;
pthread_key_t key;
pthread_once_t key_is_made = PTHREAD_ONCE_INIT;

}  // namespace

int library_count() {
  static int calls = 0;
  return ++calls;
}

int* library_grow() {
  static std::vector<int> all;
  all.push_back(1);
  return &all.back();
}

void library_with_lock(void (*body)()) {
  const std::lock_guard held(lock);
  body();
}

void library_on_a_thread(void (*body)()) {
  std::thread made(body);
  made.join();
}

int library_answer(int (*body)()) {
  std::promise<int> made;
  std::future<int> answer = made.get_future();
  std::thread works([&] { made.set_value(body()); });
  const int found = answer.get();
  works.join();
  return found;
}

void library_wait() {
  std::unique_lock held(lock);
  while (!is_set) changed.wait(held);
}

void library_set() {
  const std::lock_guard held(lock);
  is_set = true;
  changed.notify_all();
}

int library_take_all_locks() {
  int failed = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  failed += pthread_mutex_trylock(&mutex) != 0;
  failed += pthread_mutex_trylock(&mutex) == 0;
  failed += pthread_mutex_unlock(&mutex) != 0;
  failed += pthread_mutex_destroy(&mutex) != 0;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  failed += pthread_rwlock_rdlock(&shared) != 0;
  failed += pthread_rwlock_tryrdlock(&shared) != 0;
  failed += pthread_rwlock_unlock(&shared) != 0;
  failed += pthread_rwlock_unlock(&shared) != 0;
  failed += pthread_rwlock_wrlock(&shared) != 0;
  failed += pthread_rwlock_unlock(&shared) != 0;
  pthread_spinlock_t spin = 0;
  failed += pthread_spin_init(&spin, 0) != 0;
  failed += pthread_spin_lock(&spin) != 0;
  failed += pthread_spin_trylock(&spin) == 0;
  failed += pthread_spin_unlock(&spin) != 0;
  pthread_barrier_t barrier;
  failed += pthread_barrier_init(&barrier, nullptr, 1) != 0;
  failed += pthread_barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD;
  failed += pthread_barrier_destroy(&barrier) != 0;
  sem_t semaphore;
  failed += sem_init(&semaphore, 0, 1) != 0;
  failed += sem_wait(&semaphore) != 0;
  failed += sem_trywait(&semaphore) == 0;
  failed += sem_post(&semaphore) != 0;
  int value = 0;
  failed += sem_getvalue(&semaphore, &value) != 0 || value != 1;
  timespec now = {};
  failed += clock_gettime(CLOCK_MONOTONIC, &now) != 0;
  failed += clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0;
  failed += usleep(1) != 0 || sched_yield() != 0;
  failed += syscall(SYS_gettid) <= 0 || syscall(SYS_getpid) <= 0;
  return failed;
}

void library_keep(int* value) {
  pthread_once(&key_is_made, [] { pthread_key_create(&key, nullptr); });
  pthread_setspecific(key, value);
}

int* library_kept() { return static_cast<int*>(pthread_getspecific(key)); }
