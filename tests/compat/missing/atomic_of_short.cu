__global__ void kernel(short* word) { atomicAdd(word, 1); }
