// A program that begins anew with each schedule: variables, their initialization, the C++ heap, thread-local variables, arguments, ends.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

int runs = 0;
int changed = 7;
std::vector<int> grown(3, 1);
thread_local int mine = 5;
thread_local std::vector<int> own(2, 3);
int ended = 0;

struct counts_ends {
  ~counts_ends() { ++ended; }
};
const std::unique_ptr<counts_ends> at_exit_first = std::make_unique<counts_ends>();

int& in_function() {
  static int value = static_cast<int>(grown.size());
  return value;
}

bool begins_anew() {
  const bool anew = ++runs == 1 && changed == 7 && grown.size() == 3 && in_function() == 3 && mine == 5;
  changed = 8;
  grown.push_back(2);
  in_function() = 9;
  mine = 6;
  return anew;
}

// Each thread has its own, whatever others do meanwhile.
bool keeps_its_own(int id) {
  for (int n = 0; n < 3; ++n) {
    if (mine != 5 + n * id || own.size() != 2 + static_cast<size_t>(n)) return false;
    mine += id;
    own.push_back(id);
    std::this_thread::yield();
  }
  return true;
}

__global__ void kernel(int* to) { *to = 4; }

}  // namespace

int main(int count, char** arguments) {
  if (!begins_anew()) return EXIT_FAILURE;
  bool one_does = false, two_does = false;
  std::thread one([&] { one_does = keeps_its_own(1); });
  std::thread two([&] { two_does = keeps_its_own(10); });
  one.join();
  two.join();
  if (!one_does || !two_does || mine != 6 || own.size() != 2) return 2;
  int* memory = nullptr;
  cudaMallocHost(&memory, sizeof(int));
  kernel<<<1, 1>>>(memory);
  cudaDeviceSynchronize();
  if (*memory != 4) return 3;
  // A thread that goes on for ever ends with the program.
  std::thread([] {
    while (true) std::this_thread::yield();
  }).detach();
  if (count > 1 && std::strcmp(arguments[1], "exit") == 0) std::exit(count == 3 ? std::stoi(arguments[2]) : 0);
  if (count > 2) std::puts(arguments[2]);
  return count > 1 ? std::stoi(arguments[1]) : 0;
}
