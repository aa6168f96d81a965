// What a caller is told when it was not ready to wait long enough in a ring, or when the other end has ended.
//
// Of the queues in the field MSCCL++ alone bounds its waits, and stops the kernel (`maxSpinCount`); here the caller
// gets an answer and goes on.
#pragma once

#include <heddle/rpc/wait.h>

namespace heddle::rpc {

enum class ring_status : uint8_t {
  done,
  timed_out,  ///< the bound was reached; the ring is as if the call had not been made, unless `waited_for` says otherwise
  unanswered,  ///< of a hostcall: the server's handler has thrown; there is no answer
  ended,       ///< the server, or the consumer, has ended; what `waited_for` names does not come any more
};

/// What a call waited for when its bound was reached.
enum class ring_wait : uint8_t {
  nothing,
  credit,       ///< room in the FIFO, which its consumer gives back
  reservation,  ///< there was room, but another producer reserved first each time
  consumption,  ///< the consumer, to come behind everything that was pushed
  packet,       ///< a packet that is free
  answer,       ///< the server: the request has been made and will be handled once; its answer is thrown away
};

/// The outcome of a call, the same for all lanes that made it together. Converts to whether it is done.
struct ring_result {
  ring_status status = ring_status::done;
  ring_wait waited_for = ring_wait::nothing;
  /// FIFO: the number of the wave's first entry; of a push that timed out, the one that it would have had; of a flush,
  /// the one that it wanted consumed up to. Hostcall: the packet.
  uint32_t index = 0;
  uint32_t seen = 0;  ///< of a FIFO that timed out: the number of the first entry not consumed, as last seen

  HEDDLE_FUNCTION explicit operator bool() const { return status == ring_status::done; }
};

}  // namespace heddle::rpc
