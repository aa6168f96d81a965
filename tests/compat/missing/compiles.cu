// What the files beside it lack is missing from them alone.
__global__ void kernel(unsigned* word) { atomicAdd(word, 1); }

void launch(unsigned* word) {
  kernel<<<1, 32>>>(word);
  cudaEvent_t event;
  cudaEventCreate(&event);
}
