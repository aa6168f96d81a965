// What is done often takes no memory of the host once it has been done for a while. In a program of its own: it counts all of them.
#include "machine.h"

#include <cstdlib>
#include <new>

namespace {

uint64_t taken = 0;

void* counted(size_t bytes) {
  ++taken;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace heddle::driver::tests {
namespace {

/// How often memory was taken in a thousand rounds that come after some thousands of the same.
template <typename Round>
uint64_t taken_by(Round&& round) {
  for (int n = 0; n < 3000; ++n) round();
  const uint64_t before = taken;
  for (int n = 0; n < 1000; ++n) round();
  return taken - before;
}

TEST(driver_memory_of_the_host, is_counted_here) {
  EXPECT_GE(taken_by([] { std::vector<std::byte>(100).data()[99] = std::byte{1}; }), 1000u);
}

TEST(driver_memory_of_the_host, is_not_taken_by_allocations_commands_and_copies) {
  machine it({64});
  it.driver.set_listener(nullptr);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, page_bytes).value();
  const queue_id queue = it.queue();
  std::vector<std::byte> bytes(64);
  const auto drain = [&] { it.driver.drain(queue).value(); };
  EXPECT_EQ(taken_by([&] {
              it.driver.contexts()
                  .free(it.context, it.driver.contexts().allocate(it.context, 16 * page_bytes).value())
                  .value();
            }),
            0u);
  EXPECT_EQ(taken_by([&] {
              it.driver.queues().enqueue_no_op(queue).value();
              drain();
            }),
            0u);
  EXPECT_EQ(taken_by([&] {
              it.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
              it.driver.queues().enqueue_copy_to_host(queue, bytes, buffer).value();
              drain();
            }),
            0u);
  EXPECT_EQ(taken_by([&] { it.driver.copy_to_device(it.context, buffer, bytes).value(); }), 0u);
}

/// Does nothing, for a while.
class idle_groups final : public work_group_runner {
 public:
  execution execute(const work_group&, group_memory_port&) override { return {.duration = 1000}; }
};

TEST(driver_memory_of_the_host, is_not_taken_for_each_work_group) {
  idle_groups kernels;
  gpu_driver driver({}, &kernels);
  driver.register_gpu(64 * page_bytes).value();
  const context_id context = driver.contexts().create_context();
  const auto launch = [&](uint32_t groups) { driver.launch(context, a_launch({groups, 1, 1}, {1, 1, 1})).value(); };
  EXPECT_EQ(taken_by([&] { launch(2); }), taken_by([&] { launch(40); }));
}

}  // namespace
}  // namespace heddle::driver::tests
