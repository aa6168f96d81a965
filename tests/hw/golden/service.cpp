// Calls of the service library, as a kernel makes them: *.expected says which orders and scopes the hand-overs must come out with.
#include <heddle/rpc/rpc.h>
#include <heddle/rpc/service/client.h>

namespace rpc = heddle::rpc;
using service_client = rpc::basic_service_client<heddle::target>;

/// One packet there and one back.
extern "C" __global__ void short_call(service_client host, uint64_t* nanoseconds) {
  nanoseconds[threadIdx.x] = host.clock(rpc::clock_kind::steady).value;
}

/// A request of as many packets as it takes.
extern "C" __global__ void long_call(service_client host, const char* data, uint64_t size_bytes, uint64_t* written) {
  written[threadIdx.x] = host.write(rpc::standard_output, data, size_bytes).value;
}
