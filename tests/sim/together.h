// Programs of a few lanes that stand anywhere in the machine and share a few words, and what may be found in the words afterwards.
#pragma once

#include "run.h"

#include <set>
#include <string>

namespace heddle::sim::tests {

/// Where the lanes of a program are to each other.
enum class place { wave, block, device, from_device, to_device, host };

constexpr place all_places[] = {place::wave,        place::block,     place::device,
                                place::from_device, place::to_device, place::host};

inline std::string to_string(place where) {
  constexpr const char* names[] = {"lanes of a wave",    "waves of a block",   "blocks of a device",
                                   "device before host", "host before device", "host threads"};
  return names[static_cast<size_t>(where)];
}

/// The narrowest scope that includes all of them.
constexpr scope scope_of(place where) {
  switch (where) {
    case place::wave:
      return scope::wave;
    case place::block:
      return scope::block;
    case place::device:
    case place::host:
      return scope::device;
    default:
      return scope::system;
  }
}

/// The scope that an access counts with, of the first part (0) of a program of two or of the second (1): all of a host's are the system's.
constexpr scope counts_as(place where, uint32_t part, scope given) {
  const bool on_host = where == place::host || where == (part == 0 ? place::to_device : place::from_device);
  return on_host ? scope::system : given;
}

constexpr scope all_scopes[] = {scope::wave, scope::block, scope::device, scope::system};

/// Each in a granule of its own; zero at first.
struct words {
  alignas(8) uint32_t data;
  alignas(8) uint32_t flag;
  alignas(8) uint32_t other;
  struct alignas(8) result {
    uint32_t value;
  };
  result seen[4];
};

/// What the last run has left, if it came to its end.
inline words left;

template <typename... Parts>
void run_part(uint32_t n, words& at, const Parts&... parts) {
  uint32_t passed = 0;
  ((passed++ == n ? parts(at) : void()), ...);
}

/// By value, and not inline: the parts lie on the main thread's own stack, where reading them is not a step.
template <typename... Parts>
[[gnu::noinline]] void run_together(place where, Parts... parts) {
  constexpr uint32_t count = sizeof...(Parts);
  device host;
  words* const at = host.allocate_shared<words>(1, "words");
  switch (where) {
    case place::wave:
      host.launch({.blocks = 1, .waves = 1, .lanes = count}, [=] { run_part(target::lane_id(), *at, parts...); });
      break;
    case place::block:
      host.launch({.blocks = 1, .waves = count, .lanes = 1}, [=] { run_part(target::wave_id(), *at, parts...); });
      break;
    case place::device:
      host.launch({.blocks = count, .waves = 1, .lanes = 1}, [=] { run_part(target::block_id(), *at, parts...); });
      break;
    case place::from_device: {
      host.launch({.blocks = count - 1, .waves = 1, .lanes = 1}, [=] { run_part(target::block_id(), *at, parts...); });
      host.spawn_host("last", [=] { run_part(count - 1, *at, parts...); }).join();
      break;
    }
    case place::to_device: {
      auto thread = host.spawn_host("first", [=] { run_part(0, *at, parts...); });
      host.launch({.blocks = count - 1, .waves = 1, .lanes = 1},
                  [=] { run_part(target::block_id() + 1, *at, parts...); });
      thread.join();
      break;
    }
    case place::host: {
      uint32_t n = 0;
      host_thread threads[] = {
          ((void)parts, host.spawn_host("part", [=, number = n++] { run_part(number, *at, parts...); }))...};
      for (host_thread& each : threads) each.join();
      break;
    }
  }
  host.synchronize();
  left = *at;
}

/// Each part runs on a lane of its own. Between the device and the host, only the first or the last is the host's.
template <typename... Parts>
program together(place where, Parts... parts) {
  return [=] { run_together(where, parts...); };
}

/// What runs have left, each as `text` says it, or the verdict of those that did not come to their end.
using sightings = std::set<std::string>;

inline std::string first_two(const words& of) {
  return std::to_string(of.seen[0].value) + ' ' + std::to_string(of.seen[1].value);
}
inline std::string data_alone(const words& of) { return std::to_string(of.data); }

inline sightings all_seen(machine& on, const program& body, uint64_t schedules,
                          const std::function<std::string(const words&)>& text = first_two) {
  sightings seen;
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    const outcome ended = on.run(body, seed);
    seen.insert(ended.verdict == verdict::ok ? text(left) : std::string(to_string(ended.verdict)));
  }
  return seen;
}

/// A machine whose memory is scoped.
inline machine scoped(std::vector<std::string> settings = {}, std::string strategy = "random") {
  settings.emplace_back("fidelity=scoped");
  return machine(settings, std::move(strategy));
}
/// Where races do not end a run, what they let lanes see can be seen.
inline machine counting(std::vector<std::string> settings = {}) {
  settings.emplace_back("races=count");
  return scoped(std::move(settings));
}

// -- orders and scopes that are known when the program runs ------------------------------------------------------------------

inline uint32_t load_at(scope reach, uint32_t& from, memory_order order) {
  switch (reach) {
    case scope::wave:
      return target::atomic_ref<uint32_t, scope::wave>(from).load(order);
    case scope::block:
      return target::atomic_ref<uint32_t, scope::block>(from).load(order);
    case scope::device:
      return target::atomic_ref<uint32_t, scope::device>(from).load(order);
    default:
      return target::atomic_ref<uint32_t, scope::system>(from).load(order);
  }
}
inline void store_at(scope reach, uint32_t& to, uint32_t value, memory_order order) {
  switch (reach) {
    case scope::wave:
      return target::atomic_ref<uint32_t, scope::wave>(to).store(value, order);
    case scope::block:
      return target::atomic_ref<uint32_t, scope::block>(to).store(value, order);
    case scope::device:
      return target::atomic_ref<uint32_t, scope::device>(to).store(value, order);
    default:
      return target::atomic_ref<uint32_t, scope::system>(to).store(value, order);
  }
}
inline void fence_at(scope reach, memory_order order) {
  switch (reach) {
    case scope::wave:
      return target::fence<scope::wave>(order);
    case scope::block:
      return target::fence<scope::block>(order);
    case scope::device:
      return target::fence<scope::device>(order);
    default:
      return target::fence<scope::system>(order);
  }
}

// -- message passing ---------------------------------------------------------------------------------------------------------

enum class payload { plain, atomic };

/// How the flag is handed over. With `fences` its accesses are relaxed and of system scope, and fences stand next to them.
struct handover {
  memory_order given = memory_order::release;
  memory_order taken = memory_order::acquire;
  scope given_to = scope::system;
  scope taken_from = scope::system;
  bool fences = false;
};

/// The second lane notes the flag, and the payload: an atomic one in any case, a plain one only behind the flag.
inline program passes(place where, const handover& by, payload kind) {
  return together(
      where,
      [=](words& at) {
        if (kind == payload::plain)
          at.data = 7;
        else
          word<uint32_t>(at.data).store(7, memory_order::relaxed);
        if (by.fences && by.given != memory_order::relaxed) fence_at(by.given_to, by.given);
        store_at(by.fences ? scope::system : by.given_to, at.flag, 1, by.fences ? memory_order::relaxed : by.given);
      },
      [=](words& at) {
        const uint32_t flag =
            load_at(by.fences ? scope::system : by.taken_from, at.flag, by.fences ? memory_order::relaxed : by.taken);
        if (by.fences && by.taken != memory_order::relaxed) fence_at(by.taken_from, by.taken);
        at.seen[0].value = flag;
        if (kind == payload::atomic)
          at.seen[1].value = word<uint32_t>(at.data).load(memory_order::relaxed);
        else if (flag == 1)
          at.seen[1].value = at.data;
      });
}

/// Whether the machine itself orders what the program does: host threads run on x86.
inline bool is_ordered(place where, const handover& by) {
  const bool from_host = where == place::to_device || where == place::host;
  const bool to_host = where == place::from_device || where == place::host;
  const scope needed = scope_of(where);
  return (from_host || (by.given != memory_order::relaxed && by.given_to >= needed)) &&
         (to_host || (by.taken != memory_order::relaxed && by.taken_from >= needed));
}

}  // namespace heddle::sim::tests
