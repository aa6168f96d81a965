// One program that touches whatever could bring an address, or what the last run left, into a digest.
#pragma once

#include "run.h"

#include <memory>

namespace heddle::sim::tests {

/// A host thread and two waves that pass pointers of every kind through shared memory.
inline void fixed_program() {
  struct message {
    const void* pointers[4];
    uint64_t count;
  };
  static uint32_t a_static_variable = 0;
  device host;
  auto* const messages = host.allocate_shared<message>(4, "messages");
  auto* const words = host.allocate_shared<uint64_t>(8, "words");
  auto thread = host.spawn_host("receiver", [messages, words] {
    const auto on_the_heap = std::make_unique<uint64_t>(7);
    uint64_t own = 0;
    word<uint64_t>(words[1]).store(reinterpret_cast<uintptr_t>(on_the_heap.get()), memory_order::release);
    while (word<uint64_t>(words[0]).load(memory_order::acquire) < 4) target::pause();
    *on_the_heap += word<uint64_t>(words[1]).exchange(reinterpret_cast<uintptr_t>(&own), memory_order::relaxed);
    messages[3] = messages[0];
  });
  host.launch({.blocks = 2, .waves = 1, .lanes = 2}, [messages, words] {
    uint64_t own = target::lane_mask();
    message& mine = messages[target::wave_id() * 2 + target::lane_id()];
    mine.pointers[0] = words;
    mine.pointers[1] = &a_static_variable;
    mine.pointers[2] = reinterpret_cast<const void*>(&fixed_program);
    mine.pointers[3] = &own;
    mine.count += own;
    word<uint64_t>(words[2]).fetch_or(reinterpret_cast<uintptr_t>(&mine), memory_order::relaxed);
    word<uint64_t>(words[0]).fetch_add(1, memory_order::release);
  });
  host.synchronize();
  thread.join();
}

}  // namespace heddle::sim::tests
