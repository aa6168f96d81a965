// Threads of the C and C++ libraries on the host: what they and their locks promise, and what is found where a program asks for more.
#include <threads.h>
#include <time.h>

#include <string_view>

namespace {

struct test_case {
  std::string_view name;
  int (*run)();  ///< 0: all was as it is to be
};

// -- C11 ---------------------------------------------------------------------------------------------------------------------------

timespec in_ten_hours() {
  timespec until;
  timespec_get(&until, TIME_UTC);
  until.tv_sec += 36000;
  return until;
}

mtx_t c11_mutex;
cnd_t c11_condition;
int c11_count;

int c11_timed_lock() {
  mtx_init(&c11_mutex, mtx_timed);
  const auto adds = [](void*) {
    const timespec until = in_ten_hours();
    if (mtx_timedlock(&c11_mutex, &until) != thrd_success) return 1;
    ++c11_count;
    mtx_unlock(&c11_mutex);
    return 0;
  };
  thrd_t threads[2];
  for (thrd_t& each : threads) thrd_create(&each, adds, nullptr);
  for (const thrd_t each : threads) thrd_join(each, nullptr);
  mtx_lock(&c11_mutex);
  thrd_t late;
  const auto comes_late = [](void*) {
    const timespec past = {};
    return mtx_timedlock(&c11_mutex, &past);
  };
  thrd_create(&late, comes_late, nullptr);
  int result = 0;
  thrd_join(late, &result);
  mtx_unlock(&c11_mutex);
  return c11_count == 2 && result == thrd_timedout ? 0 : 1;
}

int c11_timed_wait() {
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  const timespec past = {};
  mtx_lock(&c11_mutex);
  int result = thrd_success;
  while (result == thrd_success) result = cnd_timedwait(&c11_condition, &c11_mutex, &past);
  if (result != thrd_timedout) return 1;
  thrd_t thread;
  thrd_create(
      &thread,
      [](void*) {
        mtx_lock(&c11_mutex);
        c11_count = 1;
        cnd_signal(&c11_condition);
        mtx_unlock(&c11_mutex);
        return 0;
      },
      nullptr);
  const timespec until = in_ten_hours();
  result = thrd_success;
  while (c11_count == 0 && result == thrd_success) result = cnd_timedwait(&c11_condition, &c11_mutex, &until);
  mtx_unlock(&c11_mutex);
  thrd_join(thread, nullptr);
  return result == thrd_success ? 0 : 1;
}

tss_t c11_key;

int c11_keys() {
  tss_create(&c11_key, [](void* value) { *static_cast<int*>(value) += 10; });
  int values[3] = {1, 2, 3};
  const auto uses = [](void* value) {
    tss_set(c11_key, value);
    thrd_yield();
    return tss_get(c11_key) == value ? 0 : 1;
  };
  if (tss_get(c11_key) != nullptr) return 1;
  tss_set(c11_key, &values[2]);
  thrd_t threads[2];
  for (int n = 0; n < 2; ++n) thrd_create(&threads[n], uses, &values[n]);
  for (const thrd_t each : threads) {
    int result = 0;
    thrd_join(each, &result);
    if (result != 0) return 1;
  }
  const bool own = tss_get(c11_key) == &values[2];
  tss_delete(c11_key);
  return own && values[0] == 11 && values[1] == 12 ? 0 : 1;
}

once_flag c11_flag = ONCE_FLAG_INIT;

// Its function waits for a mutex: others have their turns meanwhile.
int c11_once() {
  mtx_init(&c11_mutex, mtx_plain);
  const auto comes = [](void*) {
    call_once(&c11_flag, [] {
      mtx_lock(&c11_mutex);
      ++c11_count;
      mtx_unlock(&c11_mutex);
    });
    return c11_count;
  };
  thrd_t thread;
  thrd_create(&thread, comes, nullptr);
  mtx_lock(&c11_mutex);
  mtx_unlock(&c11_mutex);
  const int mine = comes(nullptr);
  int its = 0;
  thrd_join(thread, &its);
  return mine == 1 && its == 1 ? 0 : 1;
}

struct counts_its_end {
  ~counts_its_end() { ++c11_count; }
};

int c11_exit() {
  thrd_t thread;
  thrd_create(
      &thread,
      [](void*) -> int {
        const counts_its_end counted;
        const timespec hours = {.tv_sec = 36000, .tv_nsec = 0};
        thrd_sleep(&hours, nullptr);
        thrd_exit(5);
      },
      nullptr);
  int result = 0;
  thrd_join(thread, &result);
  return result == 5 && c11_count == 1 ? 0 : 1;
}

constexpr test_case cases[] = {
    {"c11_timed_lock", c11_timed_lock},
    {"c11_timed_wait", c11_timed_wait},
    {"c11_keys", c11_keys},
    {"c11_once", c11_once},
    {"c11_exit", c11_exit},
};

}  // namespace

int main(int count, char** arguments) {
  for (const test_case& each : cases)
    if (count == 2 && each.name == arguments[1]) return each.run();
  return 2;
}
