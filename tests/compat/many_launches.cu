// Programs that launch kernels, copy and start threads again and again: what of them has ended takes no room among what runs, and is still told apart.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

__global__ void add_one(int* numbers) { numbers[threadIdx.x] += 1; }
__global__ void store(int* word, int value) { *word = value; }
__global__ void add_up(int* numbers, int* sum) {
  int& own = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  own += 1;
  atomicAdd(sum, own);
}

namespace {

constexpr unsigned lanes = 32;

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) abort();
  return stream;
}

/// Whether the process has taken no more than a GiB.
bool takes_little_room(const char* what, int count) {
  constexpr long most_kib = 1 << 20;
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  if (used.ru_maxrss > most_kib) printf("%ld KiB for %d %s\n", used.ru_maxrss, count, what);
  return used.ru_maxrss <= most_kib;
}

/// Each launch comes behind the one before, in a stream and beside copies of it. Lanes by the ten thousand, of which a wave runs at a time.
int launches_in_a_row(int count) {
  int* numbers = nullptr;
  int host[lanes] = {};
  if (cudaMalloc(&numbers, sizeof host) != cudaSuccess) return 2;
  cudaMemset(numbers, 0, sizeof host);
  const cudaStream_t stream = new_stream();
  cudaDeviceSynchronize();
  for (int n = 1; n <= count; ++n) {
    add_one<<<1, lanes, 0, stream>>>(numbers);
    cudaMemcpyAsync(host, numbers, sizeof host, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    if (host[0] != n || host[lanes - 1] != n) return 1;
  }
  return takes_little_room("launches", count) ? 0 : 1;
}

/// Lanes that run at a time, behind a fill, and each store to a word of their own and add to one of all.
int lanes_at_once(int blocks) {
  constexpr int threads = 128;
  int* numbers = nullptr;
  int* sum = nullptr;
  int host = 0;
  const size_t bytes = static_cast<size_t>(blocks) * threads * sizeof(int);
  if (cudaMalloc(&numbers, bytes) != cudaSuccess || cudaMalloc(&sum, sizeof(int)) != cudaSuccess) return 2;
  cudaMemset(numbers, 0, bytes);
  cudaMemset(sum, 0, sizeof(int));
  add_up<<<blocks, threads>>>(numbers, sum);
  cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
  return host == blocks * threads && takes_little_room("blocks", blocks) ? 0 : 1;
}

/// Two streams that wait for each other in turn, and a graph that is launched again and again.
int streams_that_meet(int count) {
  constexpr size_t bytes = lanes * sizeof(int);
  int* numbers = nullptr;
  int* host = nullptr;
  if (cudaMalloc(&numbers, bytes) != cudaSuccess || cudaMallocHost(&host, bytes) != cudaSuccess) return 2;
  cudaMemset(numbers, 0, bytes);
  cudaDeviceSynchronize();
  const cudaStream_t streams[] = {new_stream(), new_stream()};
  cudaEvent_t events[2];
  for (cudaEvent_t& each : events) cudaEventCreate(&each);
  for (int n = 0; n < count; ++n)
    for (int from = 0; from < 2; ++from) {
      cudaEventRecord(events[from], streams[from]);
      cudaStreamWaitEvent(streams[1 - from], events[from], 0);
      if (n % 4 == from) add_one<<<1, lanes, 0, streams[from]>>>(numbers);
    }
  cudaGraph_t graph;
  cudaGraphExec_t made;
  cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
  add_one<<<1, lanes, 0, streams[0]>>>(numbers);
  cudaMemcpyAsync(host, numbers, bytes, cudaMemcpyDeviceToHost, streams[0]);
  cudaStreamEndCapture(streams[0], &graph);
  cudaGraphInstantiate(&made, graph, 0);
  cudaDeviceSynchronize();
  for (int n = 0; n < count; ++n) {
    cudaGraphLaunch(made, streams[0]);
    cudaStreamSynchronize(streams[0]);
  }
  return host[0] == count + (count + 3) / 4 + (count + 2) / 4 ? 0 : 1;
}

/// Lanes enough that later ones take the places of those that have ended.
void begin_with_many(int* numbers, cudaStream_t stream) {
  for (int n = 0; n < 20; ++n) add_one<<<1, lanes, 0, stream>>>(numbers);
  cudaDeviceSynchronize();
}

/// The host reads what a kernel has stored, and waits for that kernel only if it is told to. Behind it, in its stream, others take its place.
int reads_after_many(bool waits) {
  int* numbers = nullptr;
  if (cudaMallocManaged(&numbers, (lanes + 1) * sizeof *numbers) != cudaSuccess) return 2;
  memset(numbers, 0, (lanes + 1) * sizeof *numbers);
  const cudaStream_t stream = new_stream();
  begin_with_many(numbers, stream);
  int* const word = numbers + lanes;
  store<<<1, 1, 0, stream>>>(word, 7);
  cudaEvent_t stored;
  cudaEventCreate(&stored);
  cudaEventRecord(stored, stream);
  for (int n = 0; n < 3; ++n) add_one<<<1, lanes, 0, stream>>>(numbers);
  if (waits) cudaEventSynchronize(stored);
  const int read = *word;
  cudaDeviceSynchronize();
  return waits && read != 7 ? 1 : 0;
}

/// Of threads that run one behind the other the last but one stores, and a thread that has run all along reads.
int threads_in_a_row(bool waits) {
  static int word = 0;
  word = 0;
  std::thread all_along;
  for (int n = 0; n < 300; ++n) std::thread([] {}).join();
  int read = 0;
  if (!waits) all_along = std::thread([&] { read = word; });
  std::thread([] { word = 7; }).join();
  std::thread([] {}).join();
  if (waits) all_along = std::thread([&] { read = word; });
  all_along.join();
  return waits && read != 7 ? 1 : 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "launches") return launches_in_a_row(atoi(words[2]));
  if (what == "lanes") return lanes_at_once(atoi(words[2]));
  if (what == "meetings") return streams_that_meet(atoi(words[2]));
  if (what == "reads" || what == "waits") return reads_after_many(what == "waits");
  if (what == "thread_reads" || what == "thread_waits") return threads_in_a_row(what == "thread_waits");
  return 2;
}
