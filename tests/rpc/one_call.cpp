// One call of each kind on a machine whose trap is a function without a definition: the object file shows whether any check was
// compiled in. Compiled twice, see CMakeLists.txt.
#include <heddle/hw/host/target.h>
#include <heddle/rpc/port/client.h>
#include <heddle/rpc/port/server.h>

// Defined nowhere.
[[noreturn]] void heddle_test_check_is_compiled_in(const char* message);

namespace heddle::rpc {

struct bare_target : host::basic_target<32> {
  [[noreturn]] static void trap(fault, const char* message) { heddle_test_check_is_compiled_in(message); }
};

void call(const basic_client<bare_target, CHECKING>& client, const void* data, uint64_t bytes) {
  auto port = client.open<user_opcode(1)>();
  port.send_and_recv([](packet& to, uint32_t lane) { to.words[0] = lane; }, [](packet&, uint32_t) {});
  port.send_n(data, bytes);
}

bool serve(basic_server<bare_target, CHECKING>& server, void* data) {
  auto port = server.try_open();
  if (!port) return false;
  port.recv_and_send([](packet& both, uint32_t) { ++both.words[0]; });
  port.recv_n([data](uint32_t, uint64_t) { return data; });
  return true;
}

}  // namespace heddle::rpc
