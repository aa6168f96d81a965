float elapsed(cudaEvent_t first, cudaEvent_t second) {
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, first, second);
  return milliseconds;
}
