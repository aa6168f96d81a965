// Whatever one end does, the other end mirrors: sequences of sends and receives, each end in a thread of its own.
#include "both_ends.h"

#include <cstdio>
#include <random>
#include <string>

namespace heddle::rpc::tests {
namespace {

/// What the packet of a lane holds at one hand-over of one call.
uint64_t value_of(uint64_t call, size_t step, uint32_t lane) { return call << 32 | step << 8 | lane; }

/// Performs "SSR": sends and receives in this order, with the value of each step in the packet of each lane.
template <typename Port>
void perform(Port& port, const std::string& operations, uint64_t call) {
  for (size_t step = 0; step < operations.size(); ++step) {
    if (operations[step] == 'S')
      port.send([&](packet& to, uint32_t lane) {
        to.words[0] = value_of(call, step, lane);
        to.words[7] = ~value_of(call, step, lane);
      });
    else
      port.recv([&](packet& from, uint32_t lane) {
        ASSERT_EQ(from.words[0], value_of(call, step, lane)) << operations << " step " << step << " lane " << lane;
        ASSERT_EQ(from.words[7], ~value_of(call, step, lane)) << operations << " step " << step << " lane " << lane;
      });
  }
}

std::string mirror_of(std::string operations) {
  for (char& each : operations) each = each == 'S' ? 'R' : 'S';
  return operations;
}

/// The client performs each of the sequences as one call, the server its mirror.
template <uint32_t Lanes, typename Check>
void run_calls(const std::vector<std::string>& sequences, uint32_t ports) {
  both_ends<Lanes, Check> ends(ports);
  run_both(
      [&] {
        const auto client = ends.client();
        for (uint64_t call = 0; call < sequences.size(); ++call) {
          auto port = client.template open<test_opcode>();
          perform(port, sequences[call], call);
        }
      },
      [&] {
        // Asynchronous calls may be served in another order than they were made in: the packet says which it is.
        auto server = ends.server();
        for (size_t served = 0; served < sequences.size(); ++served)
          serve_one(server, [&](auto& port) {
            const uint64_t call = ends.server_end().packet_of(port.index(), 0).words[0] >> 32;
            ASSERT_LT(call, sequences.size());
            perform(port, mirror_of(sequences[call]), call);
          });
      });
}

template <typename Count>
class sequences : public testing::Test {};
TYPED_TEST_SUITE(sequences, lane_counts, lanes_in_name);

TYPED_TEST(sequences, of_the_interface_test_of_llvm_and_one_more_of_either) {
  for (const char* each : {"SSRSRSSRR", "SSRSRSSRRS", "SSRSRSSRRR"}) {
    SCOPED_TRACE(each);
    run_calls<TypeParam::value, checked>({each}, 1);
    run_calls<TypeParam::value, unchecked>({each}, 1);
  }
}

TYPED_TEST(sequences, of_one_kind_are_as_good_as_any) {
  for (const char* each : {"S", "SS", "SSS", "SR", "SRR", "SRRR", "SRSRSR", "SSRRSSRR"}) {
    SCOPED_TRACE(each);
    run_calls<TypeParam::value, checked>({each}, 1);
    run_calls<TypeParam::value, checked>(std::vector<std::string>(30, each), 2);
  }
}

TYPED_TEST(sequences, chosen_at_random_follow_each_other_on_few_ports) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  std::vector<std::string> chosen(300);
  for (std::string& each : chosen) {
    each = "S";
    const auto more = random() % 12;
    for (uint32_t n = 0; n < more; ++n) each += random() % 2 == 0 ? 'S' : 'R';
  }
  run_calls<TypeParam::value, checked>(chosen, 3);
  run_calls<TypeParam::value, unchecked>(chosen, 3);
}

}  // namespace
}  // namespace heddle::rpc::tests
