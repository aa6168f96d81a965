// Variables in frames of the host that the device reaches: by the copies of a graph, by copies of memory that is registered, and by kernels where
// it is. Each way waits for the device, or does not ("_early"); argv[1] says which.
#include <cstdio>
#include <cstring>
#include <string>

__global__ void fill(int* words, int value) { words[threadIdx.x] = value; }

__global__ void touch(int* flags, int* word) {
  atomicAdd(flags, 1);
  atomicExch(word, 7);
}

namespace {

constexpr int lanes = 8;
constexpr int expected = 7;

int* on_device() {
  int* words = nullptr;
  cudaMalloc(&words, lanes * sizeof(int));
  return words;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

/// A graph that fills the device's memory and copies it to `to`.
cudaGraphExec_t filled_and_copied(cudaStream_t stream, int* words, int* to) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<1, lanes, 0, stream>>>(words, expected);
  cudaMemcpyAsync(to, words, lanes * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&made, graph, 0);
  return made;
}

[[gnu::noinline]] cudaGraphExec_t to_a_frame_that_returns(cudaStream_t stream, int* words) {
  int there[lanes] = {};
  return filled_and_copied(stream, words, there);
}

/// The same, far below what the host calls later.
[[gnu::noinline]] cudaGraphExec_t to_a_deep_frame_that_returns(cudaStream_t stream, int* words) {
  volatile char above[8192];
  above[0] = 1;
  const cudaGraphExec_t made = to_a_frame_that_returns(stream, words);
  above[1] = above[0];
  return made;
}

int graph_copies_out(cudaStream_t stream, bool early) {
  int there[lanes] = {};
  const cudaGraphExec_t graph = filled_and_copied(stream, on_device(), there);
  for (int n = 0; n < 2; ++n) {
    there[3] = 0;
    cudaGraphLaunch(graph, stream);
    if (!early) cudaStreamSynchronize(stream);
    if (there[3] != expected) return 1;
  }
  return 0;
}

int graph_copies_in(cudaStream_t stream, bool early) {
  int here[lanes] = {};
  int back[lanes] = {};
  int* const words = on_device();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(words, here, sizeof here, cudaMemcpyHostToDevice, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&made, graph, 0);
  here[3] = expected;
  cudaGraphLaunch(made, stream);
  if (early) here[3] = 0;
  cudaStreamSynchronize(stream);
  cudaMemcpy(back, words, sizeof back, cudaMemcpyDeviceToHost);
  return back[3] == expected ? 0 : 1;
}

int graph_copies_to_a_frame_that_has_returned(cudaStream_t stream) {
  const cudaGraphExec_t graph = to_a_deep_frame_that_returns(stream, on_device());
  cudaGraphLaunch(graph, stream);
  cudaStreamSynchronize(stream);
  return 0;
}

int registered_is_copied_to(cudaStream_t stream, bool early) {
  int there[lanes] = {};
  int* const words = on_device();
  cudaHostRegister(there, sizeof there, cudaHostRegisterDefault);
  fill<<<1, lanes, 0, stream>>>(words, expected);
  cudaMemcpyAsync(there, words, sizeof there, cudaMemcpyDeviceToHost, stream);
  if (!early) cudaStreamSynchronize(stream);
  const bool is_right = there[3] == expected;
  cudaStreamSynchronize(stream);
  cudaHostUnregister(there);
  return is_right ? 0 : 1;
}

int kernel_fills(cudaStream_t stream, const std::string& what, bool early) {
  int there[lanes] = {};
  int* words = there;
  if (what != "not_registered") {
    cudaHostRegister(there, sizeof there, cudaHostRegisterMapped);
    void* seen = nullptr;
    if (cudaHostGetDevicePointer(&seen, there, 0) != cudaSuccess) return 2;
    words = static_cast<int*>(seen);
  }
  if (what == "no_longer_registered") cudaHostUnregister(there);
  fill<<<1, lanes, 0, stream>>>(words, expected);
  if (!early) cudaStreamSynchronize(stream);
  const bool is_right = there[3] == expected;
  cudaStreamSynchronize(stream);
  return is_right ? 0 : 1;
}

/// The memory is given back while the kernel may not have come to it: both orders count, whichever a search takes first.
int given_back_beside(cudaStream_t stream) {
  int there = 0;
  int* flags = nullptr;
  cudaMallocHost(&flags, 64 * sizeof(int));
  flags[0] = flags[32] = 0;
  cudaHostRegister(&there, sizeof there, cudaHostRegisterMapped);
  touch<<<1, 1, 0, stream>>>(flags, &there);
  __atomic_store_n(&flags[32], 1, __ATOMIC_RELAXED);
  cudaHostUnregister(&there);
  __atomic_store_n(&flags[32], 2, __ATOMIC_RELAXED);
  cudaStreamSynchronize(stream);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  const bool early = what.ends_with("_early");
  if (early) what.resize(what.size() - std::strlen("_early"));
  const cudaStream_t stream = new_stream();
  if (what == "graph_copies_out") return graph_copies_out(stream, early);
  if (what == "graph_copies_in") return graph_copies_in(stream, early);
  if (what == "graph_copies_to_a_frame_that_has_returned") return graph_copies_to_a_frame_that_has_returned(stream);
  if (what == "registered_is_copied_to") return registered_is_copied_to(stream, early);
  if (what == "given_back_beside") return given_back_beside(stream);
  if (what.ends_with("registered")) return kernel_fills(stream, what, early);
  std::printf("no such way: %s\n", what.c_str());
  return 3;
}
