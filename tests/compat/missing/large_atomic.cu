#include <cuda/atomic>

struct wide {
  long long a, b;
};
__global__ void kernel(wide* at) { cuda::atomic_ref<wide>(*at).load(); }
