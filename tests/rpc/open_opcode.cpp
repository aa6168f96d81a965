// Must compile with -DOPCODE=user_opcode(0) and must not with an opcode that is reserved or has more than 16 bits.
#include <heddle/rpc/rpc.h>

namespace heddle::rpc {
void open(const client& from) {
  from.open<OPCODE>().send([](packet&, uint32_t) {});
}
}  // namespace heddle::rpc
