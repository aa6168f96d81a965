// A program for AMD's GPUs, whose waves have one program counter: by what it is called with, it is right there alone, or hangs there.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <string_view>

namespace {

constexpr unsigned lanes = 4;
constexpr int rounds = 2;

struct account {
  unsigned next;
  unsigned serving;
  int balance;
};

__device__ unsigned take_ticket(account* of) {
  return __hip_atomic_fetch_add(&of->next, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

__device__ bool is_served(account* of, unsigned ticket) {
  return __hip_atomic_load(&of->serving, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == ticket;
}

__device__ void leave(account* of, unsigned ticket) {
  __hip_atomic_store(&of->serving, ticket + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

/// One lane enters what its wave has summed up. `kept`: the block that ends with the lock.
__global__ void one_for_all(account* of, int kept) {
  for (int round = 0; round < rounds; ++round) {
    int sum = static_cast<int>(threadIdx.x) + 1;
    for (int apart = lanes / 2; apart > 0; apart /= 2) sum += __shfl_xor(sum, apart, lanes);
    if (threadIdx.x == 0) {
      const unsigned ticket = take_ticket(of);
      while (!is_served(of, ticket)) __builtin_amdgcn_s_sleep(2);
      of->balance += sum;
      if (round == 1 && static_cast<int>(blockIdx.x) == kept) return;
      leave(of, ticket);
    }
  }
}

/// Lanes of one wave wait for each other's tickets, and the lane that is served waits for them.
__global__ void each_by_itself(account* of) {
  const unsigned ticket = take_ticket(of);
  while (!is_served(of, ticket)) __builtin_amdgcn_s_sleep(2);
  of->balance += 1;
  leave(of, ticket);
}

/// The second block finds the flag of the first one by an exchange that fails, in the order that it has then.
template <int Failure>
__global__ void find_by_failing(unsigned* words) {
  if (blockIdx.x == 0) {
    words[0] = 7;
    return __hip_atomic_store(&words[1], 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
  unsigned found = 5;
  while (!__hip_atomic_compare_exchange_strong(&words[1], &found, 6u, __ATOMIC_ACQ_REL, Failure,
                                               __HIP_MEMORY_SCOPE_AGENT) &&
         found != 1)
    found = 5;
  words[2] = words[0];
}
int finds_by_failing(bool acquires) {
  unsigned* words = nullptr;
  if (hipHostMalloc(reinterpret_cast<void**>(&words), 3 * sizeof *words, hipHostMallocDefault) != hipSuccess) return 2;
  words[1] = 0;
  if (acquires)
    find_by_failing<__ATOMIC_ACQUIRE><<<2, 1>>>(words);
  else
    find_by_failing<__ATOMIC_RELAXED><<<2, 1>>>(words);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  return words[2] == 7 ? 0 : 1;
}

__global__ void add_one(const int* from, int* result) { *result = *from + 1; }

/// A copy from pageable memory, and a kernel of a stream that does not come behind it.
int copies(bool waits) {
  int pageable = 4;
  int* to = nullptr;
  int* result = nullptr;
  hipStream_t stream = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&to), sizeof(int)) != hipSuccess) return 2;
  if (hipHostMalloc(reinterpret_cast<void**>(&result), sizeof(int), hipHostMallocDefault) != hipSuccess) return 2;
  if (hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess) return 2;
  if (hipMemcpy(to, &pageable, sizeof(int), hipMemcpyHostToDevice) != hipSuccess) return 2;
  pageable = 7;
  if (waits && hipDeviceSynchronize() != hipSuccess) return 3;
  add_one<<<1, 1, 0, stream>>>(to, result);
  if (hipStreamSynchronize(stream) != hipSuccess) return 3;
  return *result == 5 ? 0 : 1;
}

__global__ void put(int* to) { *to = 9; }

/// A kernel stores to memory of another device, by its address.
int stores_to_peer(bool lets) {
  int* to = nullptr;
  if (hipSetDevice(1) != hipSuccess || hipMalloc(&to, sizeof *to) != hipSuccess) return 2;
  if (hipSetDevice(0) != hipSuccess || (lets && hipDeviceEnablePeerAccess(1, 0) != hipSuccess)) return 3;
  put<<<1, 1>>>(to);
  // The host reaches it.
  return hipDeviceSynchronize() == hipSuccess && *to == 9 ? 0 : 1;
}

/// It is memory of that device, which all reach.
int stores_to_fine_grained_of_peer() {
  int* to = nullptr;
  hipPointerAttribute_t of;
  hipSetDevice(1);
  if (hipExtMallocWithFlags(&to, sizeof *to, hipDeviceMallocFinegrained) != hipSuccess) return 2;
  if (hipPointerGetAttributes(&of, to) != hipSuccess || of.type != hipMemoryTypeDevice || of.device != 1) return 3;
  hipSetDevice(0);
  put<<<1, 1>>>(to);
  return hipDeviceSynchronize() == hipSuccess && *to == 9 ? 0 : 1;
}

/// A fill that the host waits for, as the memory says so.
int fills_what_is_waited_for() {
  int* to = nullptr;
  const unsigned waits = 1;
  if (hipMalloc(&to, sizeof *to) != hipSuccess ||
      hipPointerSetAttribute(&waits, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, to) != hipSuccess ||
      hipMemset(to, 1, sizeof *to) != hipSuccess)
    return 2;
  return *to == 0x01010101 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "";
  if (what.starts_with("copied")) return copies(what.ends_with("waited_for"));
  if (what.starts_with("found")) return finds_by_failing(what.ends_with("acquires"));
  if (what == "peer_is_fine_grained") return stores_to_fine_grained_of_peer();
  if (what == "waits_for_copies") return fills_what_is_waited_for();
  if (what.starts_with("peer")) return stores_to_peer(what == "peer_is_let");
  account* of = nullptr;
  if (hipHostMalloc(reinterpret_cast<void**>(&of), sizeof *of, hipHostMallocDefault) != hipSuccess) return 2;
  *of = {};
  if (what == "each")
    each_by_itself<<<1, lanes>>>(of);
  else
    one_for_all<<<2, lanes>>>(of, what == "kept" ? 1 : 2);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  if (what == "sums" && of->balance != 2 * rounds * 10) std::abort();
  return 0;
}
