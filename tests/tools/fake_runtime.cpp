// What litmus tests ask of the simulator, on the fake machine: every thread runs to its end before the next one starts.
#include <heddle/sim/runtime/calls.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

extern "C" {
void __tsan_read4(void*) {}   // NOLINT(bugprone-reserved-identifier)
void __tsan_write4(void*) {}  // NOLINT(bugprone-reserved-identifier)
}

namespace heddle::sim::runtime {
namespace {

uint32_t wave_now = 0;
std::vector<std::unique_ptr<uint32_t>> words;

uint32_t& word_at(const void* address) { return *const_cast<uint32_t*>(static_cast<const uint32_t*>(address)); }

}  // namespace

uint32_t wave_id() { return wave_now; }
void fence(memory_order, scope) {}
void store_fence() {}
void trap(fault, const char*) { std::abort(); }

void* allocate(size_t, bool, const char*, uint32_t, const void*) {
  return words.emplace_back(std::make_unique<uint32_t>(0)).get();
}
void device_ends(const void*) {}
uint64_t load(const void* address, uint32_t, memory_order, scope) { return word_at(address); }
void store(void* address, uint32_t, uint64_t value, memory_order, scope) {
  word_at(address) = static_cast<uint32_t>(value);
}
uint64_t read_modify_write(rmw_kind kind, void* address, uint32_t, uint64_t operand, memory_order, scope) {
  const uint32_t old = word_at(address);
  word_at(address) = static_cast<uint32_t>(kind == rmw_kind::add ? old + operand : operand);
  return old;
}
bool compare_exchange(void* address, uint32_t, uint64_t* expected, uint64_t desired, exchange_order, scope) {
  const uint32_t old = word_at(address);
  const bool equal = old == *expected;
  if (equal) word_at(address) = static_cast<uint32_t>(desired);
  *expected = old;
  return equal;
}

void launch(const launch_shape& shape, const fiber_body& kernel, const void* bytes, uint32_t) {
  for (wave_now = 0; wave_now < shape.blocks * shape.waves; ++wave_now) kernel.invoke(const_cast<void*>(bytes));
}
const wave* spawn_host(const char*, const fiber_body& body, void* from) {
  const auto place = std::make_unique<std::byte[]>(body.size_bytes);
  body.move_to(place.get(), from);
  body.invoke(place.get());
  return nullptr;
}

}  // namespace heddle::sim::runtime
