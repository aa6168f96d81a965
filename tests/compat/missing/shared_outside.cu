
__shared__ int tile[32];
