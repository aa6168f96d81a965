// Opcodes: 16 bits, the lower half of them the library's own. That a reserved one does not compile is tested by compiling one:
// see CMakeLists.txt and open_opcode.cpp.
#include "both_ends.h"

namespace heddle::rpc::tests {
namespace {

static_assert(user_opcode(0) == 32768);
static_assert(user_opcode(32767) == 65535);
static_assert(is_reserved(0) && is_reserved(32767) && !is_reserved(32768) && !is_reserved(65535));

template <auto Opcode>
uint16_t opcode_as_served() {
  both_ends<2> ends(1);
  auto server = ends.server();
  {
    auto port = ends.client().template open<Opcode>();
    EXPECT_EQ(port.opcode(), static_cast<uint16_t>(Opcode));
    port.send([](packet&, uint32_t) {});
  }
  auto port = server.try_open();
  EXPECT_TRUE(static_cast<bool>(port));
  return port.opcode();
}

enum class own : uint16_t { lowest = first_user_opcode, highest = 0xffff };

TEST(opcode, reaches_the_server_with_all_of_its_16_bits) {
  EXPECT_EQ((opcode_as_served<user_opcode(0)>()), 0x8000);
  EXPECT_EQ((opcode_as_served<user_opcode(0x1234)>()), 0x9234);
  EXPECT_EQ((opcode_as_served<uint16_t{0xffff}>()), 0xffff);
}

TEST(opcode, may_be_any_integer_or_enumeration_that_fits) {
  EXPECT_EQ((opcode_as_served<own::lowest>()), 0x8000);
  EXPECT_EQ((opcode_as_served<own::highest>()), 0xffff);
  EXPECT_EQ((opcode_as_served<40000>()), 40000);
  EXPECT_EQ((opcode_as_served<uint64_t{50000}>()), 50000);
}

TEST(opcode, of_the_library_itself_may_be_reserved) { EXPECT_EQ((opcode_as_served<opcode::nothing>()), 0); }

TEST(opcode, of_one_call_does_not_stay_for_the_next_on_the_same_port) {
  both_ends<1> ends(1);
  auto server = ends.server();
  ends.client().open<user_opcode(1)>().send([](packet&, uint32_t) {});
  EXPECT_EQ(server.try_open().opcode(), user_opcode(1));
  ends.client().open<user_opcode(2)>().send([](packet&, uint32_t) {});
  EXPECT_EQ(server.try_open().opcode(), user_opcode(2));
}

}  // namespace
}  // namespace heddle::rpc::tests
