#include "random_program.h"

#include <heddle/scheduler/random_stream.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim::tests::axioms {
namespace {

using litmus::instruction;
using litmus::instruction_kind;
using litmus::place;

/// How a program of a kind synchronises. Programs in which everything is likely rarely order anything.
struct habits {
  uint32_t weak_percent = 0;
  uint32_t relaxed_percent = 0;  ///< of the strong accesses
  uint32_t fence_percent = 0;
  uint32_t modify_percent = 0;
  uint32_t sequential_percent = 0;  ///< of the fences
  std::array<scope, 3> reaches{};   ///< drawn from equally
};

class draw {
 public:
  draw(uint64_t seed, const program_size& size) : random_(seed), size_(size) {}

  litmus::program make() {
    litmus::program made;
    const uint32_t threads = 2 + random_.below(size_.threads_max - 1);
    const uint32_t locations = 1 + random_.below(size_.locations_max);
    for (uint32_t each = 0; each < locations; ++each) {
      made.locations.emplace_back(1, static_cast<char>("xyz"[each % 3]));
      if (each >= 3) made.locations.back() += std::to_string(each / 3);
      made.on_device.push_back(random_.below(2) == 0);
    }
    stored_.assign(locations, 0);
    draw_habits();
    draw_places(made, threads);
    for (uint32_t each = 0; each < threads; ++each) {
      made.threads.emplace_back();
      const uint32_t count = 1 + random_.below(size_.instructions_max);
      uint32_t reads = 0;
      for (uint32_t n = 0; n < count; ++n)
        made.threads.back().push_back(
            draw_instruction(made.places[each].host, n > 0 && n + 1 < count, locations, reads));
    }
    return made;
  }

 private:
  bool percent(uint32_t chance) { return random_.below(100) < chance; }

  void draw_habits() {
    static constexpr std::array kinds = {
        habits{.weak_percent = 40,
               .relaxed_percent = 40,
               .fence_percent = 15,
               .modify_percent = 15,
               .sequential_percent = 40},
        habits{.weak_percent = 0,
               .relaxed_percent = 20,
               .fence_percent = 5,
               .modify_percent = 10,
               .sequential_percent = 50},
        habits{.weak_percent = 10,
               .relaxed_percent = 90,
               .fence_percent = 35,
               .modify_percent = 10,
               .sequential_percent = 60},
        habits{.weak_percent = 10,
               .relaxed_percent = 50,
               .fence_percent = 10,
               .modify_percent = 50,
               .sequential_percent = 40},
    };
    habits_ = kinds[random_.below(kinds.size())];
    static constexpr std::array<std::array<scope, 3>, 4> reaches = {{
        {scope::block, scope::device, scope::system},
        {scope::system, scope::system, scope::system},
        {scope::device, scope::device, scope::system},
        {scope::device, scope::system, scope::system},
    }};
    habits_.reaches = reaches[random_.below(reaches.size())];
  }

  void draw_places(litmus::program& made, uint32_t threads) {
    enum { one_block, own_blocks, mixed };
    const uint32_t blocks = random_.below(3);
    const bool hosts = random_.below(2) == 0;
    for (uint32_t each = 0; each < threads; ++each) {
      place drawn;
      drawn.host = hosts && random_.below(3) == 0;
      drawn.block = blocks == one_block ? 0 : blocks == own_blocks ? each : random_.below(2);
      if (drawn.host) drawn.block = 0;
      made.places.push_back(drawn);
    }
  }

  instruction draw_instruction(bool host, bool inside, uint32_t locations, uint32_t& reads) {
    instruction made;
    made.reach = host ? scope::system : habits_.reaches[random_.below(3)];
    // At either end of a thread a fence orders nothing.
    if (inside && percent(habits_.fence_percent)) {
      made.kind = instruction_kind::fence;
      made.order = percent(habits_.sequential_percent) ? memory_order::seq_cst : memory_order::acq_rel;
      return made;
    }
    made.location = random_.below(locations);
    const bool may_read = reads < litmus::registers;
    const bool relaxed = percent(habits_.relaxed_percent);
    if (may_read && percent(habits_.modify_percent)) {
      draw_modification(made, relaxed);
    } else {
      made.kind = may_read && random_.below(2) == 0 ? instruction_kind::load : instruction_kind::store;
      made.weak = percent(habits_.weak_percent);
      const bool load = made.kind == instruction_kind::load;
      made.order = relaxed ? memory_order::relaxed : load ? memory_order::acquire : memory_order::release;
      if (!load) made.value = ++stored_[made.location];
    }
    if (made.kind != instruction_kind::store) made.reg = reads++;
    return made;
  }

  void draw_modification(instruction& made, bool relaxed) {
    static constexpr std::array orders = {memory_order::acquire, memory_order::release, memory_order::acq_rel};
    made.order = relaxed ? memory_order::relaxed : orders[random_.below(3)];
    switch (random_.below(3)) {
      case 0:
        made.kind = instruction_kind::exchange;
        made.value = ++stored_[made.location];
        break;
      case 1:
        // Hundreds, so that a sum says which of the additions it is made of.
        made.kind = instruction_kind::add;
        made.value = 100;
        break;
      default:
        made.kind = instruction_kind::compare_exchange;
        made.value = random_.below(stored_[made.location] + 1);
        made.desired = ++stored_[made.location];
        break;
    }
  }

  scheduler::random_stream random_;
  program_size size_;
  habits habits_;
  std::vector<uint32_t> stored_;  ///< per location: the last value that a store was given
};

std::string text_of(scope reach) {
  switch (reach) {
    case scope::wave:
      return "wave";
    case scope::block:
      return "cta";
    case scope::device:
      return "gpu";
    default:
      return "sys";
  }
}

std::string text_of(memory_order order) {
  switch (order) {
    case memory_order::relaxed:
      return "relaxed";
    case memory_order::acquire:
      return "acquire";
    case memory_order::release:
      return "release";
    case memory_order::acq_rel:
      return "acq_rel";
    default:
      return "sc";
  }
}

std::string text_of(const litmus::program& from, const instruction& made) {
  const std::string how = made.weak ? ".weak" : '.' + text_of(made.order) + '.' + text_of(made.reach);
  const std::string name = made.kind == instruction_kind::fence ? "" : from.locations[made.location];
  const std::string into = " r" + std::to_string(made.reg) + ", " + name;
  switch (made.kind) {
    case instruction_kind::load:
      return "ld" + how + into;
    case instruction_kind::store:
      return "st" + how + ' ' + name + ", " + std::to_string(made.value);
    case instruction_kind::exchange:
      return "atom" + how + ".exch" + into + ", " + std::to_string(made.value);
    case instruction_kind::add:
      return "atom" + how + ".add" + into + ", " + std::to_string(made.value);
    case instruction_kind::compare_exchange:
      return "atom" + how + ".cas" + into + ", " + std::to_string(made.value) + ", " + std::to_string(made.desired);
    case instruction_kind::fence:
      return "fence" + how;
    default:
      return "mfence";
  }
}

std::string text_of(const place& at) {
  return at.host ? "host" : "gpu" + std::to_string(at.device) + ".cta" + std::to_string(at.block);
}

/// Every program that has something less.
std::vector<litmus::program> smaller(const litmus::program& from) {
  std::vector<litmus::program> made;
  for (size_t thread = 0; thread < from.threads.size() && from.threads.size() > 1; ++thread) {
    made.push_back(from);
    made.back().threads.erase(made.back().threads.begin() + static_cast<ptrdiff_t>(thread));
    made.back().places.erase(made.back().places.begin() + static_cast<ptrdiff_t>(thread));
  }
  for (size_t thread = 0; thread < from.threads.size(); ++thread) {
    for (size_t n = 0; n < from.threads[thread].size() && from.threads[thread].size() > 1; ++n) {
      made.push_back(from);
      made.back().threads[thread].erase(made.back().threads[thread].begin() + static_cast<ptrdiff_t>(n));
    }
  }
  const auto with = [&](size_t thread, size_t n, auto change) {
    made.push_back(from);
    change(made.back().threads[thread][n]);
  };
  for (size_t thread = 0; thread < from.threads.size(); ++thread) {
    for (size_t n = 0; n < from.threads[thread].size(); ++n) {
      const instruction& at = from.threads[thread][n];
      const bool access = at.kind != instruction_kind::fence;
      const bool modifies = access && at.kind != instruction_kind::load && at.kind != instruction_kind::store;
      if (modifies) {
        with(thread, n, [&](instruction& it) {
          it.kind = instruction_kind::load;
          if (it.order != memory_order::relaxed) it.order = memory_order::acquire;
        });
        with(thread, n, [&](instruction& it) {
          it.value = it.kind == instruction_kind::compare_exchange ? it.desired : it.value;
          it.kind = instruction_kind::store;
          if (it.order != memory_order::relaxed) it.order = memory_order::release;
        });
      }
      if (!modifies && access && !at.weak) with(thread, n, [](instruction& it) { it.weak = true; });
      if (access && !at.weak && at.order != memory_order::relaxed)
        with(thread, n, [](instruction& it) { it.order = memory_order::relaxed; });
      if (!access && at.order == memory_order::seq_cst)
        with(thread, n, [](instruction& it) { it.order = memory_order::acq_rel; });
      if (!at.weak && at.reach != scope::system) with(thread, n, [](instruction& it) { it.reach = scope::system; });
    }
  }
  for (size_t thread = 0; thread < from.threads.size(); ++thread) {
    if (!from.places[thread].host) continue;
    made.push_back(from);
    uint32_t block = 0;
    for (const place& each : from.places) block = std::max(block, each.block + 1);
    made.back().places[thread] = {.host = false, .device = 0, .block = block};
  }
  return made;
}

}  // namespace

litmus::program random_program(uint64_t seed, const program_size& size) { return draw(seed, size).make(); }

litmus::program fully_fenced(litmus::program from) {
  const instruction fence = {.kind = instruction_kind::fence, .order = memory_order::seq_cst};
  for (std::vector<instruction>& thread : from.threads) {
    std::vector<instruction> fenced;
    for (instruction each : thread) {
      if (each.kind == instruction_kind::fence) continue;
      if (!fenced.empty()) fenced.push_back(fence);
      each.weak = false;
      each.order = memory_order::relaxed;
      each.reach = scope::system;
      fenced.push_back(each);
    }
    thread = std::move(fenced);
  }
  return from;
}

std::string to_text(const litmus::program& from) {
  std::string places;
  std::string code;
  for (size_t thread = 0; thread < from.threads.size(); ++thread) {
    const char* const between = thread == 0 ? "" : " || ";
    places += between + text_of(from.places[thread]);
    code += between;
    for (size_t n = 0; n < from.threads[thread].size(); ++n)
      code += (n == 0 ? "" : "; ") + text_of(from, from.threads[thread][n]);
  }
  std::string memory;
  for (size_t each = 0; each < from.locations.size(); ++each)
    memory += (each == 0 ? "" : " ") + from.locations[each] + (from.on_device[each] ? "=device" : "=host");
  return places + '\n' + code + '\n' + memory;
}

std::string to_text(const litmus::program& from, const litmus::final_state& seen) {
  std::string said;
  for (size_t thread = 0; thread < from.threads.size(); ++thread) {
    std::array<bool, litmus::registers> written{};
    for (const instruction& each : from.threads[thread])
      if (each.kind != instruction_kind::store && each.kind != instruction_kind::fence) written[each.reg] = true;
    for (size_t reg = 0; reg < written.size(); ++reg)
      if (written[reg])
        said += 'P' + std::to_string(thread) + ":r" + std::to_string(reg) + '=' +
                std::to_string(seen.registers[thread][reg]) + ' ';
  }
  for (size_t each = 0; each < from.locations.size(); ++each)
    said += (each == 0 ? "" : " ") + from.locations[each] + '=' + std::to_string(seen.locations[each]);
  return said;
}

litmus::program smallest(litmus::program failing, const std::function<bool(const litmus::program&)>& still_fails) {
  for (bool found = true; found;) {
    found = false;
    for (litmus::program& each : smaller(failing)) {
      if (!still_fails(each)) continue;
      failing = std::move(each);
      found = true;
      break;
    }
  }
  return failing;
}

}  // namespace heddle::sim::tests::axioms
