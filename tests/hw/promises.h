// What a program may rely on, whichever machine it was built for. A promise that is broken ends the program, or the run.
#pragma once

#include <heddle/rpc/selected_device.h>

#include <memory>
#include <string>

namespace heddle::tests {

using word = target::atomic_ref<uint32_t, scope::system>;

inline void promise(bool kept, const char* otherwise) {
  if (!kept) target::trap(fault::assertion, otherwise);
}

/// Counts lanes, waves and what their collectives say.
struct count_lanes {
  uint32_t* lanes;
  uint32_t* leaders;
  uint32_t* wrong;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = target::lane_mask();
    word(*lanes).fetch_add(1, memory_order::relaxed);
    if (target::is_first_lane(mask)) word(*leaders).fetch_add(1, memory_order::relaxed);
    const uint32_t of_first = target::broadcast(mask, target::lane_id());
    const uint64_t wide = target::broadcast(mask, uint64_t{of_first} << 40);
    const bool same = target::ballot(mask, true) == mask && target::ballot(mask, false) == 0;
    target::sync_lanes(mask);
    if (wide != uint64_t{of_first} << 40 || !same || target::lane_count() > 64 || (mask >> of_first & 1) == 0)
      word(*wrong).fetch_add(1, memory_order::relaxed);
  }
};

inline void lanes_run_once(device& on) {
  uint32_t* const counts = on.allocate_shared<uint32_t>(3, "counts");
  constexpr uint32_t lanes = 3;
  on.launch({.blocks = 2, .waves = 2, .lanes = lanes}, count_lanes{&counts[0], &counts[1], &counts[2]});
  on.synchronize();
  promise(counts[0] == 4 * lanes, "not every lane of a launch has run once");
  promise(counts[1] >= 4 && counts[1] <= counts[0], "not every group of lanes has one first lane");
  promise(counts[2] == 0, "collectives do not agree with their mask");
  on.free(counts);
}

/// Multiplies by ten and adds a digit, so that the result tells the order.
struct append_digit {
  uint32_t* number;
  uint32_t digit;
  HEDDLE_FUNCTION void operator()() const { *number = *number * 10 + digit; }
};

inline uint32_t copied(device& on, const uint32_t* from) {
  uint32_t result = 0;
  on.copy(&result, from, sizeof result);
  return result;
}

inline void launches_keep_their_order(device& on) {
  uint32_t* const number = on.allocate_device<uint32_t>(1, "number");
  for (uint32_t digit = 1; digit <= 4; ++digit) on.launch({}, append_digit{number, digit});
  on.synchronize();
  promise(copied(on, number) == 1234, "launches do not run in order");
  on.free(number);
}

/// Each stream keeps the order of its own launches, and is asked and waited for alone.
inline void streams_keep_their_order(device& on) {
  const device::stream left = on.create_stream();
  const device::stream right = on.create_stream();
  uint32_t* const numbers = on.allocate_device<uint32_t>(2, "numbers");
  for (uint32_t digit = 1; digit <= 3; ++digit) {
    on.launch({}, append_digit{&numbers[0], digit}, left);
    on.launch({}, append_digit{&numbers[1], 4 - digit}, right);
  }
  on.synchronize(left);
  promise(on.query(left), "a stream that was waited for has not ended");
  promise(copied(on, &numbers[0]) == 123, "the launches of a stream do not run in order");
  while (!on.query(right)) target::pause();
  promise(copied(on, &numbers[1]) == 321, "the launches of a stream do not run in order");
  promise(on.query(), "a device with no launch left has not ended");
  on.destroy(left);
  on.destroy(right);
  on.free(numbers);
}

/// Waits until the host says so.
struct wait_for_host {
  uint32_t* go;
  HEDDLE_FUNCTION void operator()() const {
    // Acquire: pairs with the release of the host, which then reads what this launch has done.
    while (word(*go).load(memory_order::acquire) == 0) target::pause();
  }
};

/// A place in one stream that another waits for.
inline void events_order_streams(device& on) {
  const device::stream first = on.create_stream();
  const device::stream second = on.create_stream();
  const device::event between = on.create_event();
  promise(on.query(between), "an event that was never recorded holds something up");
  uint32_t* const number = on.allocate_device<uint32_t>(1, "number");
  uint32_t* const go = on.allocate_shared<uint32_t>(1, "go");
  on.launch({}, wait_for_host{go}, first);
  on.launch({}, append_digit{number, 1}, first);
  on.record(between, first);
  on.wait(second, between);
  on.launch({}, append_digit{number, 2}, second);
  promise(!on.query(first) && !on.query(second) && !on.query(between) && !on.query(),
          "something has ended that the host holds up");
  word(*go).store(1, memory_order::release);
  on.synchronize(between);
  promise(on.query(between), "an event that was waited for has not been reached");
  on.synchronize(second);
  promise(copied(on, number) == 12, "a stream has not waited for the event");
  // Recorded anew, it is another place.
  on.record(between, second);
  promise(on.query(between), "an event behind launches that have ended has not been reached");
  on.synchronize();
  on.destroy(between);
  on.destroy(first);
  on.destroy(second);
  on.free(number);
  on.free(go);
}

/// A copy has its place in a stream, as a launch has.
inline void copies_keep_their_order(device& on) {
  const device::stream in = on.create_stream();
  const device::event behind = on.create_event();
  constexpr uint32_t count = 3;
  uint32_t* const there = on.allocate_device<uint32_t>(count, "there");
  uint32_t* const given = on.allocate_shared<uint32_t>(count, "given");
  uint32_t* const back = on.allocate_shared<uint32_t>(count, "back");
  uint32_t* const go = on.allocate_shared<uint32_t>(1, "go");
  for (uint32_t n = 0; n < count; ++n) given[n] = n + 1;
  on.launch({}, wait_for_host{go}, in);
  on.copy(there, given, count * sizeof(uint32_t), in);
  on.launch({}, append_digit{&there[1], 7}, in);
  promise(bool(on.try_copy(back, there, count * sizeof(uint32_t), in)), "a copy in a stream was refused");
  on.record(behind, in);
  promise(!on.query(in) && !on.query(behind) && !on.query(), "a copy has passed the kernel in front of it");
  word(*go).store(1, memory_order::release);
  on.synchronize(behind);
  promise(back[0] == 1 && back[1] == 27 && back[2] == 3, "a stream does not keep the order of copies and launches");
  promise(on.query(in), "a copy that was waited for has not ended");
  on.destroy(behind);
  on.destroy(in);
  for (uint32_t* const each : {there, given, back, go}) on.free(each);
}

/// Sends a number to a host thread, rings, and waits for the answer.
struct ask {
  doorbell* bell;
  uint32_t* words;  ///< payload, request flag, answer flag, result
  HEDDLE_FUNCTION void operator()() const {
    words[0] = 20;
    word(words[1]).store(1, memory_order::release);  // pairs with the acquire in the host thread
    target::notify(*bell);
    while (word(words[2]).load(memory_order::acquire) == 0)
      target::pause();  // pairs with the release in the host thread
    words[3] = words[0] + 1;
  }
};

/// In whatever memory the two share.
inline void a_host_thread_answers(device& on, uint32_t* words) {
  auto* const bell = on.allocate_shared<doorbell>(1, "bell");
  auto server = on.spawn_host("server", [bell, words] {
    for (;;) {
      const uint32_t seen = word(*bell).load(memory_order::acquire);
      if (word(words[1]).load(memory_order::acquire) != 0) break;
      target::wait(*bell, seen, 10'000'000);
    }
    words[0] += 21;
    word(words[2]).store(1, memory_order::release);
  });
  on.launch({}, ask{bell, words});
  while (!on.query()) target::pause();
  server.join();
  promise(words[3] == 42, "a host thread does not serve a running kernel");
  promise(word(*bell).load(memory_order::acquire) == 1, "a ring does not count once");
  on.free(bell);
}

inline void a_kernel_asks_a_host_thread(device& on) {
  uint32_t* const words = on.allocate_shared<uint32_t>(4, "words");
  a_host_thread_answers(on, words);
  on.free(words);
}

inline bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == std::string::npos; }

/// The same in device memory that the host maps, where the machine has such memory; elsewhere it says so.
inline void mapped_memory_serves_or_is_refused(device& on) {
  result<uint32_t*> words = on.try_allocate_mapped<uint32_t>(4, "mapped words");
  if (!words) {
    promise(is_one_line(words.why().line()), "a refusal is not one line");
    promise(words.why().subject == "mapped words", "a refusal does not say of what");
    return;
  }
  a_host_thread_answers(on, words.value());
  on.free(words.value());
}

inline void a_device_that_is_not_there_is_an_error(device&) {
  promise(device::count() > 0, "there is no device, and yet there is");
  result<std::unique_ptr<device>> none = device::open(device::count());
  promise(!none && is_one_line(none.why().line()), "a device that is not there was opened");
  result<std::unique_ptr<device>> last = device::open(device::count() - 1);
  promise(bool(last), "the last device cannot be opened");
  lanes_run_once(*last.value());
}

/// The calls that answer with a result do what their twins do.
inline void results_tell_of_success(device& on) {
  result<uint32_t*> number = on.try_allocate_device<uint32_t>(1, "number");
  result<uint32_t*> seen = on.try_allocate_shared<uint32_t>(1, "seen");
  result<device::stream> in = on.try_create_stream();
  result<device::event> behind = on.try_create_event();
  promise(number && seen && in && behind, "an allocation, a stream or an event was refused");
  promise(bool(on.try_launch({}, append_digit{number.value(), 5}, in.value())), "a launch was refused");
  promise(on.try_record(behind.value(), in.value()) && on.try_wait(in.value(), behind.value()), "an event was refused");
  promise(bool(on.try_synchronize(behind.value())), "waiting failed");
  promise(on.try_query(behind.value()).value(), "an event that was waited for has not been reached");
  promise(bool(on.try_copy(seen.value(), number.value(), sizeof(uint32_t))), "a copy was refused");
  promise(*seen.value() == 5, "a copy brought something else");
  promise(bool(on.try_launch({}, append_digit{seen.value(), 6})), "a launch was refused");
  promise(on.try_synchronize() && on.try_query().value(), "waiting failed");
  promise(*seen.value() == 56, "a launch did nothing");
  on.destroy(behind.value());
  on.destroy(in.value());
  on.free(number.value());
  on.free(seen.value());
}

inline void memory_is_zeroed(device& on) {
  constexpr uint32_t count = 200;
  const uint64_t* const memory = on.allocate_device<uint64_t>(count, "zeroes");
  uint64_t read[count];
  on.copy(read, memory, sizeof read);
  uint64_t any = 0;
  for (const uint64_t each : read) any |= each;
  promise(any == 0, "memory is not zeroed");
}

}  // namespace heddle::tests
