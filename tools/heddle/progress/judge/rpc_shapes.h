// What waves do around a remote call, as programs: which progress model each shape needs.
#pragma once

#include <string_view>
#include <vector>

namespace heddle::judge {

struct rpc_shape {
  std::string_view name;     ///< "shared-port"
  std::string_view summary;  ///< one line
  std::string_view program;  ///< as parse() reads it; one thread a line
};

/// In each, S0 serves. A call on port N: `ask`N is set, the server takes it and sets `done`N, the wave waits for that.
/// `lock`N is the bit by which waves share a port.
const std::vector<rpc_shape>& rpc_shapes();

}  // namespace heddle::judge
