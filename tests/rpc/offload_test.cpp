// Reverse offload on host threads: what a request carries, which are refused, what waits for what, and counters that wrap. Both ends are run by
// one thread: a wait of the client is the server's turn, or an error.
#include "both_ends.h"

#include <heddle/rpc/offload/client.h>
#include <heddle/rpc/offload/server.h>

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::rpc::tests::offload_test {
namespace {

constexpr uint32_t lanes = 3;

/// The pauses of the client are the server's turns.
struct serving_machine : careful_target<lanes> {
  static inline std::function<void()> serve;
  static void pause() {
    if (!serve) throw would_wait("nothing serves");
    serve();
  }
};

/// Counts what it copies, each time in one piece.
struct counting_copy {
  std::vector<size_t>* sizes;
  void operator()(void* to, const void* from, size_t bytes) const {
    std::memcpy(to, from, bytes);
    sizes->push_back(bytes);
  }
};

template <typename FormOfEntries, bool CopiedByServer>
struct variant {
  using form = FormOfEntries;
  static constexpr bool is_copied = CopiedByServer;
};

template <typename Variant>
class ends {
 public:
  using form = typename Variant::form;
  using memory =
      std::conditional_t<Variant::is_copied, copied_entries<counting_copy>, mapped_entries<careful_target<lanes>>>;
  using client_type = basic_offload_client<serving_machine, form, checked>;
  using server_type = basic_offload_server<careful_target<lanes>, form, memory, checked>;

  explicit ends(uint32_t entries)
      : shape_{entries, lanes}, shared_(shape_.size_bytes() / sizeof(line)), locks_(shape_.lock_words()) {}

  client_type client() { return {shared_.data(), &own_, shape_}; }
  server_type server(offload_limits limits = {}, uint32_t start = 0) {
    return {entries(), locks_.data(), limits, start};
  }
  memory entries() {
    if constexpr (Variant::is_copied)
      return {shared_.data(), shape_, counting_copy{&copies}};
    else
      return memory(shared_.data(), shape_);
  }
  offload_turns<careful_target<lanes>> turns() { return {shared_.data(), shape_}; }

  /// Each pause of a client is one look of a server that adds 1 to the first word.
  void serve_by_adding(offload_limits limits = {}) {
    serving_machine::serve = [server = server(limits)]() mutable {
      server.handle([](uint64_t function, offload_line& to, uint32_t) { to.words[0] += function; });
    };
  }
  ~ends() { serving_machine::serve = nullptr; }

  void begin_with_ticket(uint32_t first)
    requires(!form::has_one_entry)
  {
    own_ = first;
    for (uint32_t entry = 0; entry < shape_.entries; ++entry)
      turns().store(entry, form::turn_before(first, entry, shape_));
  }
  uint32_t own() const { return own_; }

  std::vector<size_t> copies;

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };
  offload_layout shape_;
  std::vector<line> shared_;
  std::vector<uint32_t> locks_;
  uint32_t own_ = 0;
};

template <typename Variant>
class offload : public testing::Test {};
using variants = testing::Types<variant<single_mailbox, false>, variant<single_mailbox, true>,
                                variant<offload_ring, false>, variant<offload_ring, true>>;
struct variant_names {
  template <typename Variant>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's
    return std::string(Variant::form::has_one_entry ? "single" : "ring") + (Variant::is_copied ? "_copied" : "_mapped");
  }
};
TYPED_TEST_SUITE(offload, variants, variant_names);

constexpr auto nothing = [](offload_line&, uint32_t) {};

TYPED_TEST(offload, carries_function_words_and_payload_of_each_lane_there_and_words_back) {
  ends<TypeParam> both(4);
  std::vector<std::string> seen;
  uint64_t payloads[lanes] = {70, 71, 72};
  const payload_range all{reinterpret_cast<uint64_t>(payloads), sizeof payloads};
  serving_machine::serve = [&, server = both.server({.payloads = {&all, 1}})]() mutable {
    server.handle([&](uint64_t function, offload_line& line, uint32_t lane) {
      uint64_t payload = 0;
      ASSERT_EQ(line.payload_bytes, sizeof payload);
      EXPECT_TRUE(server.fetch(&payload, line.payload, sizeof payload));
      seen.push_back(std::to_string(function) + ":" + std::to_string(lane) + ":" + std::to_string(line.words[5]) + ":" +
                     std::to_string(payload));
      payload *= 2;
      EXPECT_TRUE(server.put(line.payload, &payload, sizeof payload));
      EXPECT_FALSE(server.fetch(&payload, all.address + all.size_bytes - 7, sizeof payload));
      EXPECT_FALSE(server.put(all.address - 1, &payload, 1));
      line.words[0] = line.words[5] + 1;
    });
  };
  std::vector<uint64_t> answers;
  EXPECT_EQ(both.client().call(
                9,
                [&](offload_line& line, uint32_t lane) {
                  line.words[5] = 50 + lane;
                  line.payload = reinterpret_cast<uint64_t>(&payloads[lane]);
                  line.payload_bytes = sizeof(uint64_t);
                },
                [&](offload_line& line, uint32_t) { answers.push_back(line.words[0]); }),
            offload_status::done);
  EXPECT_EQ(seen, (std::vector<std::string>{"9:0:50:70", "9:1:51:71", "9:2:52:72"}));
  EXPECT_EQ(answers, (std::vector<uint64_t>{51, 52, 53}));
  EXPECT_EQ(payloads[0], 140U);
  EXPECT_EQ(payloads[2], 144U);
  EXPECT_TRUE(both.server().all_idle());
}

TYPED_TEST(offload, serves_the_lanes_that_ask_and_no_others) {
  ends<TypeParam> both(2);
  std::vector<uint32_t> served;
  serving_machine::serve = [&, server = both.server()]() mutable {
    server.handle([&](uint64_t, offload_line&, uint32_t lane) { served.push_back(lane); });
  };
  const rules_for_now some({.lanes_here = 0b101});
  EXPECT_EQ(both.client().call(1, nothing, nothing), offload_status::done);
  EXPECT_EQ(served, (std::vector<uint32_t>{0, 2}));
}

TYPED_TEST(offload, has_words_as_arguments_and_one_as_result) {
  ends<TypeParam> both(2);
  both.serve_by_adding();
  const offload_result result = both.client().call_words(7, 10, 20);
  EXPECT_EQ(result.status, offload_status::done);
  EXPECT_EQ(result.value, 17U);
}

TYPED_TEST(offload, refuses_a_function_that_is_not_there) {
  ends<TypeParam> both(2);
  both.serve_by_adding({.functions = 3});
  bool used = false;
  EXPECT_EQ(both.client().call(3, nothing, [&](offload_line&, uint32_t) { used = true; }),
            offload_status::unknown_function);
  EXPECT_FALSE(used);
  EXPECT_EQ(both.client().call(2, nothing, nothing), offload_status::done);
  EXPECT_TRUE(both.server().all_idle());
}

TEST(offload_table, is_read_from_an_image_and_has_each_function_at_its_place) {
  const uint64_t image[] = {0, 0x7000, 0, 0x4000, 0x5000};
  size_t copied = 0;
  const auto copy = [&](void* to, const void* from, size_t bytes) {
    std::memcpy(to, from, bytes);
    copied += bytes;
  };
  const offload_table table(image, std::size(image), copy);
  EXPECT_EQ(copied, sizeof image);
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.place_of(0x7000), 1U);
  EXPECT_EQ(table.place_of(0x4000), 3U);
  EXPECT_EQ(table.place_of(0x5000), 4U);
  for (const uint64_t none : {uint64_t{0}, uint64_t{1}, uint64_t{0x4001}, uint64_t{0x7001}, ~uint64_t{0}})
    EXPECT_FALSE(table.place_of(none)) << none;
}

TEST(offload_table, is_empty_where_the_image_names_no_function) {
  const uint64_t nulls[3] = {};
  const auto copy = [](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); };
  EXPECT_TRUE(offload_table(nulls, 3, copy).empty());
  EXPECT_TRUE(offload_table(nullptr, 0, copy).empty());
  EXPECT_FALSE(offload_table(nulls, 3, copy).place_of(0));
}

TYPED_TEST(offload, runs_functions_of_a_table_by_their_places_and_refuses_others) {
  ends<TypeParam> both(2);
  const uint64_t image[] = {0x7000, 0, 0x4000};
  const offload_table table(image, 3, [](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); });
  std::vector<uint64_t> run;
  serving_machine::serve = [&, server = both.server({.functions = 0, .table = &table})]() mutable {
    server.handle([&](uint64_t place, offload_line&, uint32_t lane) {
      if (lane == 0) run.push_back(place);
    });
  };
  EXPECT_EQ(both.client().call(0x4000, nothing, nothing), offload_status::done);
  EXPECT_EQ(both.client().call(0x7000, nothing, nothing), offload_status::done);
  for (const uint64_t none : {uint64_t{0}, uint64_t{2}, uint64_t{0x4001}})
    EXPECT_EQ(both.client().call(none, nothing, nothing), offload_status::unknown_function) << none;
  EXPECT_EQ(run, (std::vector<uint64_t>{2, 0}));
  EXPECT_TRUE(both.server().all_idle());
}

TYPED_TEST(offload, refuses_a_payload_above_the_limit_and_runs_nothing_of_the_request) {
  ends<TypeParam> both(2);
  uint32_t runs = 0;
  serving_machine::serve = [&, server = both.server({.payload_bytes = 64, .payloads_anywhere = true})]() mutable {
    server.handle([&](uint64_t, offload_line&, uint32_t) { ++runs; });
  };
  const auto with = [&](uint64_t bytes_of_last_lane) {
    return both.client().call(
        0, [&](offload_line& line, uint32_t lane) { line.payload_bytes = lane == lanes - 1 ? bytes_of_last_lane : 64; },
        nothing);
  };
  EXPECT_EQ(with(65), offload_status::too_large);
  EXPECT_EQ(runs, 0U);
  EXPECT_EQ(with(64), offload_status::done);
  EXPECT_EQ(runs, lanes);
}

TYPED_TEST(offload, refuses_a_payload_that_does_not_lie_where_payloads_may_lie) {
  ends<TypeParam> both(2);
  const payload_range all[] = {{0x1000, 0x100}, {0x3000, 8}};
  serving_machine::serve = [server = both.server({.payloads = all})]() mutable {
    server.handle([](uint64_t, offload_line&, uint32_t) {});
  };
  const auto at = [&](uint64_t address, uint64_t bytes) {
    return both.client().call(
        0, [&](offload_line& line, uint32_t) { line.payload = address, line.payload_bytes = bytes; }, nothing);
  };
  EXPECT_EQ(at(0x1000, 0x100), offload_status::done);
  EXPECT_EQ(at(0x3001, 7), offload_status::done);
  EXPECT_EQ(at(0x5000, 0), offload_status::done);
  EXPECT_EQ(at(0x1001, 0x100), offload_status::bad_address);
  EXPECT_EQ(at(0xfff, 2), offload_status::bad_address);
  EXPECT_EQ(at(0x3000, ~uint64_t{0}), offload_status::bad_address);
}

TYPED_TEST(offload, maps_variables_as_their_kinds_say) {
  ends<TypeParam> both(2);
  using kind = offload_map_kind;
  uint32_t variables[4] = {10, 20, 30, 40};
  uint32_t elsewhere = 50;
  offload_map_entry list[4];
  for (uint32_t n = 0; n < 4; ++n)
    list[n] = {reinterpret_cast<uintptr_t>(&variables[n]), sizeof variables[n], uint64_t{n}};
  const payload_range all[] = {{reinterpret_cast<uintptr_t>(variables), sizeof variables},
                               {reinterpret_cast<uintptr_t>(list), sizeof list}};
  std::vector<uint32_t> seen;
  uint32_t thrown = 0;
  serving_machine::serve = [&, server = both.server({.payloads = all, .map_bytes = 200})]() mutable {
    try {
      server.handle_mapped([&](uint64_t function, offload_line&, offload_maps& maps, uint32_t) {
        for (size_t n = 0; n < maps.count(); ++n) {
          EXPECT_EQ(maps.kind(n), static_cast<kind>(n));
          ASSERT_EQ(maps.bytes(n).size(), sizeof(uint32_t));
          uint32_t value = 0;
          memcpy(&value, maps.bytes(n).data(), sizeof value);
          seen.push_back(value);
          value += static_cast<uint32_t>(function);
          memcpy(maps.bytes(n).data(), &value, sizeof value);
        }
        if (function == 9) throw function;
      });
    } catch (uint64_t) {
      ++thrown;
    }
  };
  const auto call = [&](uint64_t function, uint64_t bytes) {
    return both.client().call(
        function,
        [&](offload_line& line, uint32_t lane) {
          line.payload = reinterpret_cast<uintptr_t>(list), line.payload_bytes = lane == 0 ? bytes : 0;
        },
        nothing);
  };
  EXPECT_EQ(call(7, sizeof list), offload_status::done);
  EXPECT_EQ(seen, (std::vector<uint32_t>{0, 20, 0, 40})) << "alloc, to, from, tofrom";
  EXPECT_EQ(std::vector<uint32_t>(variables, variables + 4), (std::vector<uint32_t>{10, 20, 7, 47}));
  EXPECT_EQ(call(9, sizeof list), offload_status::failed);
  EXPECT_EQ(thrown, 1u);
  EXPECT_EQ(variables[2], 7u) << "nothing comes back of a function that has thrown";

  seen.clear();
  EXPECT_EQ(call(1, sizeof list - 1), offload_status::bad_map);
  list[3].kind = 4;
  EXPECT_EQ(call(1, sizeof list), offload_status::bad_map);
  list[3] = {reinterpret_cast<uintptr_t>(&elsewhere), sizeof elsewhere, 2};
  EXPECT_EQ(call(1, sizeof list), offload_status::bad_address);
  list[3].size_bytes = ~uint64_t{0};
  EXPECT_EQ(call(1, sizeof list), offload_status::too_large);
  EXPECT_TRUE(seen.empty()) << "nothing has run";
  EXPECT_EQ(elsewhere, 50u);
}

TYPED_TEST(offload, serves_several_devices_by_their_numbers) {
  ends<TypeParam> first(1), second(2);
  offload_devices<typename ends<TypeParam>::server_type> devices;
  EXPECT_EQ(devices.add(first.server()), 0u);
  EXPECT_EQ(devices.add(second.server()), 1u);
  std::vector<uint32_t> asked;
  serving_machine::serve = [&] {
    devices.handle([&](uint32_t device, uint64_t function, offload_line& line, uint32_t lane) {
      if (lane == 0) asked.push_back(device);
      line.words[0] = 100 * device + function;
    });
  };
  EXPECT_EQ(second.client().call_words(3, 0).value, 103u);
  EXPECT_EQ(first.client().call_words(4, 0).value, 4u);
  EXPECT_EQ(second.client().call_words(5, 0).value, 105u);
  EXPECT_EQ(asked, (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_FALSE(devices.handle([](uint32_t, uint64_t, offload_line&, uint32_t) { ADD_FAILURE() << "nothing asks"; }));
}

TEST(offload_access, is_what_the_link_allows) {
  EXPECT_EQ(access_by(link_properties::everything()), offload_access::mapped);
  EXPECT_EQ(access_by({.fine = true}), offload_access::copied);
  EXPECT_EQ(access_by({.add = true, .swap = true, .compare = true, .bits = true}), offload_access::none);
  struct {
    static result<link_properties> try_link() { return error{"link", "device", "no answer", "it is gone"}; }
  } silent;
  EXPECT_FALSE(access_of(silent));
}

TYPED_TEST(offload, checks_what_it_runs_whatever_the_device_writes_meanwhile) {
  ends<TypeParam> both(2);
  auto turns = both.turns();
  const uint32_t entry = 0;
  serving_machine::serve = [&, server = both.server({.payload_bytes = 8, .payloads_anywhere = true})]() mutable {
    server.handle([&](uint64_t, offload_line& line, uint32_t lane) {
      EXPECT_LE(line.payload_bytes, 8U);
      if (lane != 0) return;
      for (uint32_t n = 0; n < lanes; ++n) turns.line(entry, n).payload_bytes = uint64_t{1} << 40;
    });
  };
  EXPECT_EQ(both.client().call(
                0, [](offload_line& line, uint32_t) { line.payload_bytes = 8; }, nothing),
            offload_status::done);
}

TYPED_TEST(offload, tells_the_client_of_a_function_that_throws_and_goes_on) {
  ends<TypeParam> both(2);
  uint32_t thrown = 0;
  serving_machine::serve = [&, server = both.server()]() mutable {
    try {
      server.handle([](uint64_t function, offload_line&, uint32_t) {
        if (function == 1) throw function;
      });
    } catch (uint64_t) {
      ++thrown;
    }
  };
  bool used = false;
  EXPECT_EQ(both.client().call(1, nothing, [&](offload_line&, uint32_t) { used = true; }), offload_status::failed);
  EXPECT_FALSE(used);
  EXPECT_EQ(thrown, 1U);
  for (uint32_t n = 0; n < 5; ++n) EXPECT_EQ(both.client().call(2, nothing, nothing), offload_status::done);
  EXPECT_TRUE(both.server().all_idle());
}

TYPED_TEST(offload, serves_many_more_calls_than_there_are_entries) {
  ends<TypeParam> both(2);
  both.serve_by_adding();
  for (uint64_t call = 0; call < 1000; ++call) ASSERT_EQ(both.client().call_words(1, call).value, call + 1);
  EXPECT_TRUE(both.server().all_idle());
}

TYPED_TEST(offload, has_nothing_to_handle_where_nobody_asks) {
  ends<TypeParam> both(4);
  EXPECT_FALSE(both.server().handle([](uint64_t, offload_line&, uint32_t) { FAIL(); }));
  EXPECT_TRUE(both.server().all_idle());
}

TYPED_TEST(offload, leaves_a_request_that_another_thread_serves_to_it) {
  ends<TypeParam> both(1);
  uint32_t runs = 0;
  serving_machine::serve = [&, first = both.server(), second = both.server()]() mutable {
    first.handle([&](uint64_t, offload_line&, uint32_t lane) {
      if (lane == 0) ++runs;
      EXPECT_FALSE(second.handle([](uint64_t, offload_line&, uint32_t) { FAIL() << "it is served twice"; }));
      EXPECT_FALSE(second.all_idle());
    });
  };
  EXPECT_EQ(both.client().call(1, nothing, nothing), offload_status::done);
  EXPECT_EQ(runs, 1U);
}

TYPED_TEST(offload, believes_no_mask_that_names_lanes_which_do_not_exist) {
  ends<TypeParam> both(1);
  both.turns().header(0).mask = ~uint64_t{0};
  both.turns().store(0, TypeParam::form::posted_turn(0, {1, lanes}));
  uint32_t served = 0;
  EXPECT_TRUE(both.server().handle([&](uint64_t, offload_line&, uint32_t) { ++served; }));
  EXPECT_EQ(served, lanes);
}

TYPED_TEST(offload, sees_that_a_request_changes_while_it_is_served) {
  ends<TypeParam> both(1);
  both.turns().header(0).mask = 1;
  both.turns().store(0, TypeParam::form::posted_turn(0, {1, lanes}));
  EXPECT_THROW(both.server().handle([&](uint64_t, offload_line&, uint32_t) { both.turns().store(0, 9); }), trapped);
}

TYPED_TEST(offload, copies_a_turn_alone_and_what_it_stands_for_behind_it) {
  if (!TypeParam::is_copied) GTEST_SKIP() << "nothing is copied";
  ends<TypeParam> both(1);
  both.serve_by_adding();
  EXPECT_EQ(both.client().call_words(1, 5).value, 6U);
  // Seen, seen again with the lock in hand, brought; taken back; looked at once more by the check, and handed over.
  const size_t rest = offload_layout{1, lanes}.entry_bytes() - sizeof(uint64_t);
  EXPECT_EQ(both.copies, (std::vector<size_t>{8, 8, rest, rest, 8, 8}));
}

// -- the ring ---------------------------------------------------------------------------------------------------------------------

using ring_ends = ends<variant<offload_ring, false>>;

TEST(offload_ring, goes_round_where_its_counter_wraps) {
  for (const uint32_t entries : {1U, 2U, 8U}) {
    ring_ends both(entries);
    both.begin_with_ticket(~uint32_t{0} - 20);
    both.serve_by_adding();
    for (uint64_t call = 0; call < 50; ++call) ASSERT_EQ(both.client().call_words(1, call).value, call + 1);
    EXPECT_EQ(both.own(), 29U);
    EXPECT_TRUE(both.server().all_idle());
  }
}

TEST(offload_ring, lets_nobody_into_an_entry_that_is_in_use) {
  ring_ends both(2);
  // A client of the lap before has its answer and has not read it.
  both.turns().store(0, 2);
  EXPECT_THROW(both.client().call(1, nothing, nothing), would_wait);
  EXPECT_EQ(both.turns().load(0), 2U);
}

TEST(offload_ring, serves_the_filled_entry_behind_one_that_is_not) {
  ring_ends both(2);
  both.turns().header(1).mask = 0b010;
  both.turns().store(1, offload_ring::posted_turn(1, {2, lanes}));
  std::vector<uint32_t> served;
  EXPECT_TRUE(both.server().handle([&](uint64_t, offload_line&, uint32_t lane) { served.push_back(lane); }));
  EXPECT_EQ(served, std::vector<uint32_t>{1});
  EXPECT_EQ(both.turns().load(0), 0U);
  EXPECT_EQ(both.turns().load(1), 2U);
}

TEST(offload_ring, passes_over_no_entry) {
  ring_ends both(8);
  std::vector<uint64_t> order;
  auto server = both.server({}, 5);
  for (uint32_t entry = 0; entry < 8; ++entry) {
    both.turns().header(entry).mask = 1;
    both.turns().header(entry).function = entry;
    both.turns().store(entry, offload_ring::posted_turn(entry, {8, lanes}));
  }
  while (server.handle([&](uint64_t function, offload_line&, uint32_t) { order.push_back(function); }));
  EXPECT_EQ(order, (std::vector<uint64_t>{5, 6, 7, 0, 1, 2, 3, 4}));
}

TEST(offload_ring, gives_every_ticket_of_an_entry_another_turn) {
  const offload_layout shape{4, 1};
  EXPECT_EQ(offload_ring::free_turn(0, shape), 0U);
  EXPECT_EQ(offload_ring::free_turn(4, shape), 4U);
  EXPECT_EQ(offload_ring::free_turn(~uint32_t{0}, shape), (uint64_t{1} << 32) - 4);
  EXPECT_EQ(offload_ring::free_turn(~uint32_t{0} + 1, shape), 0U);
  // Just in front of the end, entries 0 to 2 are those of the first lap again.
  EXPECT_EQ(offload_ring::turn_before(~uint32_t{0}, 3, shape), (uint64_t{1} << 32) - 4);
  EXPECT_EQ(offload_ring::turn_before(~uint32_t{0}, 0, shape), 0U);
}

TEST(offload_ring, has_a_power_of_two_of_entries) {
  EXPECT_THROW(ring_ends(3).client(), trapped);
  EXPECT_THROW(ring_ends(3).server(), trapped);
  EXPECT_THROW(ring_ends(0).server(), trapped);
  EXPECT_FALSE((offload_layout{0, 1}.is_valid()));
  EXPECT_FALSE((offload_layout{max_offload_entries * 2, 1}.is_valid()));
  EXPECT_FALSE((offload_layout{1, 65}.is_valid()));
  EXPECT_TRUE((offload_layout{max_offload_entries, 64}.is_valid()));
}

// -- the single mailbox -----------------------------------------------------------------------------------------------------------

TEST(offload_single, waits_for_the_lock) {
  ends<variant<single_mailbox, false>> both(1);
  auto client = both.client();
  both.serve_by_adding();
  EXPECT_EQ(client.call_words(1, 5).value, 6U);
  EXPECT_EQ(both.own(), 0U) << "the lock is given back";
  // The server's turn comes while the mailbox is in use: a second client would wait.
  serving_machine::serve = [&] {
    EXPECT_EQ(both.own(), 1U) << "the lock is held until the answer has come";
    throw would_wait("seen");
  };
  EXPECT_THROW(client.call_words(1, 5), would_wait);
}

}  // namespace
}  // namespace heddle::rpc::tests::offload_test
