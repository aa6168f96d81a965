// Streams: every size around an edge of the wire format, another one in each lane, and sizes that are refused.
#include "both_ends.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace heddle::rpc::tests::stream_test {
namespace {

constexpr uint64_t bound_bytes = 300;
constexpr uint64_t huge_bytes = uint64_t{1} << 63;

// Edges: nothing, the first packet's 56 bytes, whole packets behind it, the bound, above it.
const std::vector<uint64_t> edge_sizes = {0,           1,
                                          7,           8,
                                          9,           55,
                                          56,          57,
                                          63,          64,
                                          65,          119,
                                          120,         121,
                                          183,         184,
                                          185,         bound_bytes - 1,
                                          bound_bytes, bound_bytes + 1,
                                          huge_bytes,  ~uint64_t{0}};

static_assert(detail::packets_for(0) == 1);
static_assert(detail::packets_for(56) == 1);
static_assert(detail::packets_for(57) == 2);
static_assert(detail::packets_for(120) == 2);
static_assert(detail::packets_for(121) == 3);
static_assert(detail::packets_for(184) == 3);
// No size wraps the count: 56 bytes in the first packet, and the rest in packets of 64.
static_assert(detail::packets_for(huge_bytes) == 1 + (huge_bytes - 56 + 63) / 64);
static_assert(detail::packets_for(~uint64_t{0}) == 2 + (~uint64_t{0} - 57) / 64);

// A mebibyte through a staging area of 64 KiB: one hand-over there, and one back, for each of its parts.
static_assert(detail::stream_cut{1 << 16}.hand_overs(uint64_t{1} << 20) == 16);
static_assert(detail::stream_cut{1 << 16}.hand_overs((1 << 16) + 56) == 1);
static_assert(detail::stream_cut{1 << 16}.hand_overs((1 << 16) + 57) == 2);
static_assert(detail::stream_cut{72}.hand_overs(0) == 1);
static_assert(detail::stream_cut{72}.hand_overs(~uint64_t{0}) == 1 + (~uint64_t{0} - 57) / 72);

unsigned char byte_of(uint32_t lane, uint64_t n) {
  return static_cast<unsigned char>(uint64_t{lane} * 37 + n * 11 + n / 256 + 1);
}

/// The sizes that the lanes of the mask send, and for which of them the receiver has no memory.
struct plan {
  std::vector<uint64_t> sizes_bytes;
  uint64_t no_memory = 0;
  uint64_t mask = ~uint64_t{0};
};

/// What the receiver of a stream has seen.
struct received_stream {
  std::map<uint32_t, std::vector<unsigned char>> buffers;  ///< by lane
  std::map<uint32_t, uint64_t> named_bytes;                ///< that `allocate` was asked for
  uint64_t refused = 0;
};

/// The buffers of the sender: exactly as large as they say, so that AddressSanitizer sees a read too many.
class sent_buffers {
 public:
  explicit sent_buffers(const plan& what) {
    for (uint32_t lane = 0; lane < what.sizes_bytes.size(); ++lane) {
      const uint64_t bytes = what.sizes_bytes[lane] > bound_bytes ? 0 : what.sizes_bytes[lane];
      std::unique_ptr<unsigned char[]> buffer(new unsigned char[bytes]);
      for (uint64_t n = 0; n < bytes; ++n) buffer[n] = byte_of(lane, n);
      views_.push_back({buffer.get(), what.sizes_bytes[lane]});
      buffers_.push_back(std::move(buffer));
    }
  }
  bytes_view operator()(uint32_t lane) const { return views_.at(lane); }

 private:
  std::vector<std::unique_ptr<unsigned char[]>> buffers_;
  std::vector<bytes_view> views_;
};

template <typename Port>
uint64_t send_all(Port& port, const plan& what) {
  const sent_buffers buffers(what);
  return port.send_n(buffers, bound_bytes).refused;
}

template <typename Port>
received_stream receive_all(Port& port, const plan& what) {
  received_stream seen;
  seen.refused = port.recv_n(
                         [&](uint32_t lane, uint64_t bytes) -> void* {
                           EXPECT_LE(bytes, bound_bytes) << "memory is asked for above the bound";
                           EXPECT_TRUE(seen.named_bytes.emplace(lane, bytes).second) << "asked twice for lane " << lane;
                           if (((what.no_memory >> lane) & 1) != 0 || bytes > bound_bytes) return nullptr;
                           // Never null, also for nothing, and not a byte larger.
                           auto& buffer = seen.buffers[lane];
                           buffer.reserve(bytes + 1);
                           buffer.resize(bytes);
                           return buffer.data();
                         },
                         bound_bytes)
                     .refused;
  return seen;
}

void expect_as_planned(const received_stream& seen, const plan& what, uint64_t mask) {
  uint64_t refused = 0;
  for (uint32_t lane = 0; lane < what.sizes_bytes.size(); ++lane) {
    SCOPED_TRACE("lane " + std::to_string(lane));
    const uint64_t bytes = what.sizes_bytes[lane];
    const bool taking_part = ((mask >> lane) & 1) != 0;
    const bool above = bytes > bound_bytes;
    const bool no_memory = ((what.no_memory >> lane) & 1) != 0;
    EXPECT_EQ(seen.named_bytes.count(lane), taking_part && !above ? 1u : 0u);
    if (!taking_part) continue;
    // Nothing to hold needs no memory.
    if (above || (no_memory && bytes != 0)) refused |= uint64_t{1} << lane;
    if (above || no_memory) continue;
    const auto& buffer = seen.buffers.at(lane);
    ASSERT_EQ(buffer.size(), bytes);
    for (uint64_t n = 0; n < bytes; ++n) ASSERT_EQ(buffer[n], byte_of(lane, n)) << "byte " << n;
  }
  EXPECT_EQ(seen.refused, refused);
}

/// Streams both ways, with a word before, between and behind that shows whether the ends are in step; over a staging area of so many bytes.
template <uint32_t Lanes>
void stream_over(uint32_t stage_bytes, const plan& there, const plan& back) {
  both_ends<Lanes> ends(2, Lanes, stage_bytes);
  const uint64_t mask = there.mask & (~uint64_t{0} >> (64 - Lanes));
  uint64_t refused_sending = 0;
  uint64_t refused_answering = 0;
  for (uint32_t lane = 0; lane < Lanes; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    refused_sending |= uint64_t{there.sizes_bytes[lane] > bound_bytes} << lane;
    refused_answering |= uint64_t{back.sizes_bytes[lane] > bound_bytes} << lane;
  }
  const auto say = [](uint64_t word) { return [word](packet& to, uint32_t) { to.words[0] = word; }; };
  const auto hear = [](uint64_t word) { return [word](packet& from, uint32_t) { EXPECT_EQ(from.words[0], word); }; };
  run_both(
      [&] {
        rules.lanes_here = there.mask;
        auto port = ends.client().template open<test_opcode>();
        port.send(say(11));
        EXPECT_EQ(send_all(port, there), refused_sending);
        port.send(say(22));
        expect_as_planned(receive_all(port, back), back, mask);
        port.recv(hear(33));
      },
      [&] {
        auto server = ends.server();
        serve_one(server, [&](auto& port) {
          port.recv(hear(11));
          expect_as_planned(receive_all(port, there), there, mask);
          port.recv(hear(22));
          EXPECT_EQ(send_all(port, back), refused_answering);
          port.send(say(33));
        });
      });
  // The area behind is that of the other port.
  const layout shape = ends.shape();
  const unsigned char* const behind = ends.memory() + shape.stage_offset() + shape.stage_step();
  EXPECT_TRUE(std::all_of(behind, behind + shape.stage_step(), [](unsigned char byte) { return byte == 0; }));
}

/// Without a staging area, with one of which a lane's part is no more than a packet, with parts that are no lines, and with enough for all.
template <uint32_t Lanes>
void stream(const plan& there, const plan& back) {
  for (const uint32_t stage_bytes : {0U, 64 * Lanes, 72 * Lanes + 4, 1U << 16}) {
    SCOPED_TRACE("staging area of " + std::to_string(stage_bytes) + " bytes");
    stream_over<Lanes>(stage_bytes, there, back);
  }
}

template <typename Count>
class streams : public testing::Test {
 public:
  static constexpr uint32_t width = Count::value;
};
TYPED_TEST_SUITE(streams, lane_counts, lanes_in_name);

TYPED_TEST(streams, of_one_size_in_all_lanes_arrive_or_are_refused) {
  constexpr uint32_t lanes = TestFixture::width;
  for (const uint64_t bytes : edge_sizes) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    stream<lanes>({.sizes_bytes = std::vector<uint64_t>(lanes, bytes)},
                  {.sizes_bytes = std::vector<uint64_t>(lanes, bytes)});
  }
}

TYPED_TEST(streams, of_another_size_in_each_lane_arrive_whole) {
  constexpr uint32_t lanes = TestFixture::width;
  for (size_t shift = 0; shift < edge_sizes.size(); ++shift) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    plan there, back;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      there.sizes_bytes.push_back(edge_sizes[(lane + shift) % edge_sizes.size()]);
      back.sizes_bytes.push_back(edge_sizes[(size_t{lane} * 5 + shift) % edge_sizes.size()]);
    }
    stream<lanes>(there, back);
  }
}

TYPED_TEST(streams, for_which_there_is_no_memory_are_taken_off_the_wire) {
  constexpr uint32_t lanes = TestFixture::width;
  for (const uint64_t none : {~uint64_t{0}, uint64_t{1}, uint64_t{0x5555555555555555}, uint64_t{1} << (lanes - 1)})
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{56}, uint64_t{57}, bound_bytes}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, no memory for lanes " + std::to_string(none));
      stream<lanes>({.sizes_bytes = std::vector<uint64_t>(lanes, bytes), .no_memory = none},
                    {.sizes_bytes = std::vector<uint64_t>(lanes, 100), .no_memory = none});
    }
}

TYPED_TEST(streams, of_lanes_that_do_not_take_part_do_not_exist) {
  constexpr uint32_t lanes = TestFixture::width;
  plan there{.sizes_bytes = std::vector<uint64_t>(lanes, huge_bytes), .mask = uint64_t{1} << (lanes - 1)};
  there.sizes_bytes[lanes - 1] = 130;
  stream<lanes>(there, {.sizes_bytes = std::vector<uint64_t>(lanes, 70)});
}

TYPED_TEST(streams, of_random_sizes_arrive) {
  constexpr uint32_t lanes = TestFixture::width;
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  const auto random_plan = [&] {
    plan made;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const bool any_size = random() % 8 == 0;
      made.sizes_bytes.push_back(any_size ? random() : random() % (bound_bytes + 10));
    }
    if (random() % 2 == 0) made.no_memory = random() & random();
    return made;
  };
  for (uint32_t round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    plan there = random_plan();
    plan back = random_plan();
    do there.mask = random() % 3 == 0 ? random() : ~uint64_t{0};
    while ((there.mask & (~uint64_t{0} >> (64 - lanes))) == 0);
    stream<lanes>(there, back);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(streams, of_one_buffer_are_sent_by_every_lane) {
  constexpr uint32_t lanes = TestFixture::width;
  both_ends<lanes> ends(1);
  const char text[] = "the same for all lanes, and longer than what the first of the packets can hold";
  run_both(
      [&] {
        auto port = ends.client().template open<test_opcode>();
        EXPECT_TRUE(port.send_n(text, sizeof text).ok());
      },
      [&] {
        auto server = ends.server();
        serve_one(server, [&](auto& port) {
          char heard[max_lanes][sizeof text] = {};
          EXPECT_TRUE(port.recv_n([&](uint32_t lane, uint64_t bytes) -> void* {
                            EXPECT_EQ(bytes, sizeof text);
                            return bytes == sizeof text ? heard[lane] : nullptr;
                          })
                          .ok());
          for (uint32_t lane = 0; lane < lanes; ++lane) EXPECT_STREQ(heard[lane], text);
        });
      });
}

TYPED_TEST(streams, of_all_lanes_together_arrive_whole_and_above_the_bound_not_at_all) {
  constexpr uint32_t lanes = TestFixture::width;
  for (const uint64_t bytes : {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 128u, 1000u, 1001u})
    for (const uint32_t shift : {0u, 3u}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, not aligned by " + std::to_string(shift));
      both_ends<lanes> ends(2, lanes, 64);
      const uint64_t bound = 1000;
      std::vector<unsigned char> there(bytes + shift);
      for (uint64_t n = 0; n < bytes; ++n) there[n + shift] = byte_of(1, n);
      std::vector<unsigned char> back;
      run_both(
          [&] {
            auto port = ends.client().template open<test_opcode>();
            EXPECT_EQ(port.send_all(there.data() + shift, bytes, bound).ok(), bytes <= bound);
            EXPECT_TRUE(port.recv_all([&](const bytes_piece& piece) {
                              const auto* const at = static_cast<const unsigned char*>(piece.data);
                              EXPECT_EQ(piece.offset_bytes, back.size());
                              back.insert(back.end(), at, at + piece.size_bytes);
                            })
                            .ok());
          },
          [&] {
            auto server = ends.server();
            serve_one(server, [&](auto& port) {
              std::vector<unsigned char> heard;
              const stream_result result = port.recv_all(
                  [&](const bytes_piece& piece) {
                    EXPECT_EQ(piece.total_bytes, bytes);
                    const auto* const at = static_cast<const unsigned char*>(piece.data);
                    heard.insert(heard.end(), at, at + piece.size_bytes);
                  },
                  bound);
              EXPECT_EQ(result.ok(), bytes <= bound);
              port.send_all(heard.data(), heard.size());
            });
          });
      ASSERT_EQ(back.size(), bytes <= bound ? bytes : 0u);
      for (uint64_t n = 0; n < back.size(); ++n) ASSERT_EQ(back[n], byte_of(1, n)) << "byte " << n;
    }
}

TYPED_TEST(streams, and_answers_of_one_word_are_those_of_the_call_with_and_without_a_place_for_them) {
  constexpr uint32_t lanes = TestFixture::width;
  // The server answers by words, by packets, or by both in turns, so that words of the call before lie about.
  for (const bool has_words : {true, false})
    for (const uint32_t by_packet : {0u, 1u, 2u}) {
      both_ends<lanes> ends(1, lanes, 0, has_words);
      constexpr uint64_t calls = 50;
      const auto value_of = [](uint64_t call, uint32_t lane) { return call << 40 | lane << 3 | 1; };
      run_both(
          [&] {
            for (uint64_t call = 0; call < calls; ++call) {
              auto port = ends.client().template open_alone<test_opcode>(careful_target<lanes>::lane_mask());
              for (uint32_t again = 0; again < 2; ++again)
                port.send_and_recv_word([&](packet& to, uint32_t lane) { to.words[0] = value_of(call + again, lane); },
                                        [&](uint64_t word, uint32_t lane) {
                                          ASSERT_EQ(word, ~value_of(call + again, lane)) << "call " << call;
                                        });
            }
          },
          [&] {
            auto server = ends.server();
            for (uint64_t call = 0; call < calls; ++call)
              serve_one(server, [&](auto& port) {
                for (uint32_t again = 0; again < 2; ++again) {
                  uint64_t asked[max_lanes] = {};
                  port.recv([&](packet& from, uint32_t lane) { asked[lane] = from.words[0]; });
                  if (by_packet == 1 || (by_packet == 2 && (call + again) % 3 == 0))
                    port.send([&](packet& to, uint32_t lane) { to.words[0] = ~asked[lane]; });
                  else
                    port.send_word([&](uint32_t lane) { return ~asked[lane]; });
                }
              });
          });
    }
}

TEST(stream_bounds, are_a_mebibyte_unless_said_otherwise) {
  both_ends<1> ends(1);
  std::vector<unsigned char> buffer(default_stream_bound_bytes + 1, 7);
  run_both(
      [&] {
        auto port = ends.client().open<test_opcode>();
        EXPECT_TRUE(port.send_n(buffer.data(), buffer.size() - 1).ok());
        EXPECT_EQ(port.send_n(buffer.data(), buffer.size()).refused, 1u);
      },
      [&] {
        auto server = ends.server();
        std::vector<unsigned char> heard;
        const auto allocate = [&](uint32_t, uint64_t bytes) -> void* {
          heard.resize(bytes);
          return heard.data();
        };
        serve_one(server, [&](auto& port) {
          EXPECT_TRUE(port.recv_n(allocate).ok());
          EXPECT_EQ(heard.size(), default_stream_bound_bytes);
          EXPECT_EQ(heard.back(), 7);
          EXPECT_EQ(port.recv_n(allocate).refused, 1u);
        });
      });
}

TEST(stream_bounds, of_nothing_refuse_all_but_empty_buffers) {
  both_ends<2> ends(1);
  run_both(
      [&] {
        auto port = ends.client().open<test_opcode>();
        EXPECT_EQ(port.send_n([](uint32_t lane) { return bytes_view{"x", lane}; }, 0).refused, 2u);
      },
      [&] {
        auto server = ends.server();
        serve_one(server, [&](auto& port) {
          const auto allocate = [](uint32_t, uint64_t bytes) -> void* {
            EXPECT_EQ(bytes, 0u);
            return nullptr;
          };
          EXPECT_EQ(port.recv_n(allocate, 0).refused, 2u);
        });
      });
}

TEST(stream_receivers, of_one_buffer_take_no_piece_of_one_that_is_above_their_bound) {
  both_ends<1> ends(1, 1, 64);
  const rules_for_now never_wait({.may_wait = false});
  auto server = ends.server();
  for (const uint64_t lie : {bound_bytes + 1, huge_bytes, ~uint64_t{0}}) {
    ends.client().open<test_opcode>().send([&](packet& to, uint32_t) { to.words[0] = lie; });
    auto port = server.try_open();
    EXPECT_FALSE(port.recv_all([](const bytes_piece&) { ADD_FAILURE() << "a piece came"; }, bound_bytes).ok());
  }
}

TEST(streams_of_all_lanes, over_a_port_that_is_closed_wait_for_nothing_and_send_nothing) {
  both_ends<1> ends(1, 1, 64);
  const rules_for_now never_wait({.may_wait = false});
  auto server = ends.server();
  auto port = ends.client().open<test_opcode>();
  port.send([](packet&, uint32_t) {});
  // The server has the packet now.
  port.close();
  EXPECT_TRUE(port.send_all("more than nothing", 17).ok());
  EXPECT_TRUE(port.recv_all([](const bytes_piece&) { ADD_FAILURE() << "a piece came"; }).ok());
  port.send_and_recv_word([](packet&, uint32_t) { ADD_FAILURE() << "a packet is filled"; },
                          [](uint64_t, uint32_t) { ADD_FAILURE() << "an answer came"; });
  server.try_open();
}

TEST(ports, of_some_lanes_alone_are_refused_to_others_in_a_checked_build) {
  both_ends<1> ends(1);
  auto held = ends.client().open<test_opcode>();
  EXPECT_THROW(ends.client().open_alone<test_opcode>(1), trapped);
}

TEST(stream_receivers, that_take_a_lying_size_word_read_no_more_than_their_own_bound) {
  // A hostile client streams 300 bytes by hand and says that they are more. The server has the last word.
  both_ends<1> ends(1);
  const rules_for_now never_wait({.may_wait = false});
  auto server = ends.server();
  for (const uint64_t lie : {bound_bytes + 1, huge_bytes, ~uint64_t{0}}) {
    ends.client().open<test_opcode>().send([&](packet& to, uint32_t) { to.words[0] = lie; });
    auto port = server.try_open();
    const auto allocate = [](uint32_t, uint64_t) -> void* {
      ADD_FAILURE() << "memory is asked for";
      return nullptr;
    };
    EXPECT_EQ(port.recv_n(allocate, bound_bytes).refused, 1u);
  }
}

}  // namespace
}  // namespace heddle::rpc::tests::stream_test
