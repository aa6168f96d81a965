// Calls into the driver that wait, for an idle device or for the context's lock, and launches that block; each where it hangs and where it
// does not.
#include <heddle/sim/runtime/gpu_calls.h>

#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr uint64_t many = 300;

void until_set(uint32_t& flag) {
  while (word<uint32_t>(flag).load(acquire) == 0) target::pause();
}

/// What a host thread does before the kernel gets what it waits for.
enum class before { allocates, frees, copies, makes_a_stream, launches, queries };

void call(device& on, before what, uint32_t* other) {
  uint32_t copied = 0;
  switch (what) {
    case before::allocates:
      on.allocate_shared<uint32_t>(1, "more");
      break;
    case before::frees:
      on.free(other);
      break;
    case before::copies:
      on.copy(&copied, other, sizeof copied);
      break;
    case before::makes_a_stream:
      on.destroy(on.create_stream());
      break;
    case before::launches:
      on.launch({}, [] {}, on.create_stream());
      break;
    case before::queries:
      on.query();
      break;
  }
}

/// A kernel waits for a thread that makes a call first, while the main one waits for the kernel.
program calls_first(before what) {
  return [what] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    auto* const other = on.allocate_shared<uint32_t>(1, "other");
    on.launch({}, [flag] { until_set(*flag); });
    auto helper = on.spawn_host("helper", [=]() mutable {
      call(on, what, other);
      word<uint32_t>(*flag).store(1, release);
    });
    on.synchronize();
    helper.join();
  };
}

constexpr before every_call[] = {before::allocates,      before::frees,    before::copies,
                                 before::makes_a_stream, before::launches, before::queries};

TEST(a_driver, that_is_free_keeps_nobody) {
  for (const before what : every_call)
    EXPECT_TRUE(always(verdict::ok, machine({"driver=free"}).run_many(calls_first(what), many)));
}

TEST(a_driver, that_wants_an_idle_device_waits_for_a_kernel_that_waits_for_its_caller) {
  for (const before what : {before::allocates, before::frees, before::copies, before::makes_a_stream})
    EXPECT_TRUE(always(verdict::deadlock, machine({"driver=idle"}).run_many(calls_first(what), many)))
        << static_cast<int>(what);
  EXPECT_TRUE(always(verdict::ok, machine({"driver=idle"}).run_many(calls_first(before::queries), many)));
}

TEST(a_driver, with_one_lock_keeps_others_out_while_somebody_waits_for_a_kernel) {
  for (const before what : {before::allocates, before::frees, before::copies, before::makes_a_stream, before::launches})
    // A thread that comes before the main thread is not kept.
    EXPECT_TRUE(sometimes(verdict::deadlock, machine({"driver=context"}).run_many(calls_first(what), many)))
        << static_cast<int>(what);
  EXPECT_TRUE(always(verdict::ok, machine({"driver=context"}).run_many(calls_first(before::queries), many)));
}

TEST(a_driver, lets_a_thread_go_on_that_no_kernel_waits_for) {
  const program body = [] {
    device on;
    auto* const count = on.allocate_device<uint32_t>(1, "count");
    auto helper = on.spawn_host("helper", [=]() mutable {
      for (uint32_t n = 0; n < 3; ++n) on.free(on.allocate_shared<uint32_t>(1, "more"));
    });
    on.launch({}, [count] { word<uint32_t>(*count).fetch_add(1, release); });
    on.synchronize();
    uint32_t counted = 0;
    on.copy(&counted, count, sizeof counted);
    SIM_CHECK(counted == 1);
    helper.join();
  };
  for (const char* driver : {"driver=free", "driver=idle", "driver=context"})
    for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
      EXPECT_TRUE(always(verdict::ok, machine({driver, fidelity}).run_many(body, many))) << driver << ' ' << fidelity;
}

TEST(a_driver, is_no_matter_of_kernels) {
  const program body = [] {
    device on;
    auto* const words = on.allocate_device<uint64_t>(2, "words");
    on.launch({}, [words] { device().copy(&words[0], &words[1], sizeof words[0]); });
    on.synchronize();
  };
  for (const char* driver : {"driver=idle", "driver=context"})
    EXPECT_TRUE(always(verdict::ok, machine({driver}).run_many(body, many))) << driver;
}

TEST(a_launch, that_blocks_returns_when_its_kernel_has_ended) {
  const program serves_behind_the_launch = [] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    on.launch({}, [flag] { until_set(*flag); });
    word<uint32_t>(*flag).store(1, release);
    on.synchronize();
  };
  EXPECT_TRUE(always(verdict::ok, machine({"launches=async"}).run_many(serves_behind_the_launch, many)));
  EXPECT_TRUE(always(verdict::deadlock, machine({"launches=blocking"}).run_many(serves_behind_the_launch, many)));
  const program looks_behind_the_launch = [] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    on.launch({}, [flag] { word<uint32_t>(*flag).store(1, release); });
    SIM_CHECK(word<uint32_t>(*flag).load(acquire) == 1);
  };
  EXPECT_TRUE(sometimes(verdict::assertion, machine({"launches=async"}).run_many(looks_behind_the_launch, many)));
  for (const char* driver : {"driver=free", "driver=idle", "driver=context"})
    EXPECT_TRUE(always(verdict::ok, machine({"launches=blocking", driver}).run_many(looks_behind_the_launch, many)));
}

/// Reads a byte of what CUDA's allocation gives, and of what a device's gives.
program reads_fill(uint8_t wanted) {
  return [wanted] {
    auto* const bytes = static_cast<uint8_t*>(runtime::allocate_unnamed(16, false, "cudaMallocHost"));
    SIM_CHECK(bytes[3] == wanted);
    device on;
    SIM_CHECK(on.allocate_shared<uint8_t>(16, "zeroed")[3] == 0);
  };
}

TEST(fill, is_what_memory_holds_that_nobody_has_written) {
  EXPECT_TRUE(always(verdict::ok, machine().run_many(reads_fill(0xa5), 1)));
  EXPECT_TRUE(always(verdict::ok, machine({"fill=0x00"}).run_many(reads_fill(0), 1)));
  EXPECT_TRUE(always(verdict::ok, machine({"fill=0xff"}).run_many(reads_fill(0xff), 1)));
  EXPECT_TRUE(always(verdict::assertion, machine({"fill=0xff"}).run_many(reads_fill(0xa5), 1)));
}

}  // namespace
}  // namespace heddle::sim::tests
