// Declarations of kernels in a source for the host alone, which shares its headers with those for the GPU: there the vendors' headers make these words
// of no effect, and in a source for the GPU the rewriter reads them (tools/rewrite/).
#pragma once

#if !defined(__CUDACC__) && !defined(__HIPCC__) && !defined(HEDDLE_REWRITTEN)
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#endif
