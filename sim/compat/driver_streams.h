// Streams of the driver API that write words and wait for them. Included by <cuda.h> alone.
#pragma once

#include <heddle/sim/compat/stream_words.h>

// -- writes and waits of streams, by the GPU itself; a write is a release unless it is to have no barrier, a wait an acquire, of system scope

inline constexpr unsigned int CU_STREAM_WRITE_VALUE_DEFAULT = 0;
inline constexpr unsigned int CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_GEQ = 0;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_EQ = 1;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_AND = 2;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_NOR = 3;
/// Remote writes that came before are visible behind the wait, as they are here behind each.
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_FLUSH = 1U << 30;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

namespace heddle::compat {

template <typename Word>
CUresult stream_writes(CUstream stream, CUdeviceptr to, Word value, unsigned int how) {
  if (how > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;
  write_in_stream<Word>(stream, memory_at(to), value, how == CU_STREAM_WRITE_VALUE_DEFAULT);
  return CUDA_SUCCESS;
}
template <typename Word>
CUresult stream_waits(CUstream stream, CUdeviceptr at, Word value, unsigned int how) {
  return wait_in_stream<Word>(stream, memory_at(at), value, how & ~CU_STREAM_WAIT_VALUE_FLUSH)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace heddle::compat

inline CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int how) {
  return heddle::compat::stream_writes(stream, to, value, how);
}
inline CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned int how) {
  return heddle::compat::stream_writes(stream, to, value, how);
}
inline CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int how) {
  return heddle::compat::stream_waits(stream, at, value, how);
}
inline CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned int how) {
  return heddle::compat::stream_waits(stream, at, value, how);
}

// -- several of them at once, in their order. (CUDA Driver API, "CUstreamBatchMemOpParams".)

enum CUstreamBatchMemOpType {
  CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
  CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
  CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
  CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
  CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
  CU_STREAM_MEM_OP_BARRIER = 6
};
struct CUstreamMemOpValueParams {
  CUstreamBatchMemOpType operation;
  CUdeviceptr address;
  union {
    cuuint32_t value;
    cuuint64_t value64;
  };
  unsigned int flags;
  CUdeviceptr alias;
};
struct CUstreamMemOpOrderParams {
  CUstreamBatchMemOpType operation;
  unsigned int flags;
};
union CUstreamBatchMemOpParams {
  CUstreamBatchMemOpType operation;
  CUstreamMemOpValueParams waitValue;
  CUstreamMemOpValueParams writeValue;
  CUstreamMemOpOrderParams flushRemoteWrites;
  CUstreamMemOpOrderParams memoryBarrier;
  cuuint64_t pad[6];
};

inline CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* all, unsigned int) {
  constexpr unsigned int most = 256;
  if (count > most) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned int n = 0; n < count; ++n) {
    const CUstreamMemOpValueParams& one = all[n].waitValue;
    CUresult said = CUDA_SUCCESS;
    switch (all[n].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        said = heddle::compat::stream_waits(stream, one.address, one.value, one.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        said = heddle::compat::stream_waits(stream, one.address, one.value64, one.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        said = heddle::compat::stream_writes(stream, one.address, one.value, one.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        said = heddle::compat::stream_writes(stream, one.address, one.value64, one.flags);
        break;
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:  // waits do that
      case CU_STREAM_MEM_OP_BARRIER:              // what a stream is given comes one behind the other
        break;
      default:
        said = CUDA_ERROR_INVALID_VALUE;
    }
    if (said != CUDA_SUCCESS) return said;
  }
  return CUDA_SUCCESS;
}
