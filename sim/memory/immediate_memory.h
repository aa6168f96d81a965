// One memory for all, in which each access takes effect at once, in the form of memory that arrives late: for what stands between a run
// and its memory.
#pragma once

#include <heddle/sim/memory/late_memory.h>

#include <cstring>

namespace heddle::sim {

class immediate_memory final : public late_memory {
 public:
  void reset() override {}
  void begins(lane&, const lane*) override {}
  void let_arrive(lane&) override {}
  bool all_arrives(lane&) override { return false; }

  uint64_t load(lane&, const operation& how) override { return value_at(how); }
  void store(lane&, const operation& how, uint64_t value) override {
    std::memcpy(const_cast<void*>(how.address), &value, how.size_bytes);
  }
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override {
    const uint64_t old = value_at(how);
    if (next.writes == nullptr || next.writes(next.context, old)) store(self, how, next.apply(next.context, old));
    return old;
  }
  void fence(lane&, const operation&) override {}
  wide_value load_wide(lane&, const operation& how) override {
    wide_value value;
    std::memcpy(&value, how.address, sizeof value);
    return value;
  }
  void store_wide(lane&, const operation& how, wide_value value) override {
    std::memcpy(const_cast<void*>(how.address), &value, sizeof value);
  }
  wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) override {
    const wide_value old = load_wide(self, how);
    if (next.writes == nullptr || next.writes(next.context, old)) store_wide(self, how, next.apply(next.context, old));
    return old;
  }
  void before_plain_load(lane&, const operation&) override {}
  void before_plain_store(lane&, const operation&) override {}
  void after_plain(lane&) override {}

  void meet(lane* const*, size_t) override {}
  void order(const lane&, lane&) override {}
  void release_object(lane&, const void*) override {}
  void acquire_object(lane&, const void*) override {}
  bool finds_nothing_new(const lane&) override { return true; }

 private:
  // Values lie in the low bytes of a word: the machine is little-endian, as the rest of the simulator takes it.
  static uint64_t value_at(const operation& how) {
    uint64_t value = 0;
    std::memcpy(&value, how.address, how.size_bytes);
    return value;
  }
};

}  // namespace heddle::sim
