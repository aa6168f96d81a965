// Streams of the driver API that write words and wait for them. Included by <cuda.h> alone.
#pragma once

// -- writes and waits of streams, each by a lane of the device; a write is a release, a wait an acquire, of system scope

inline constexpr unsigned int CU_STREAM_WRITE_VALUE_DEFAULT = 0;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_GEQ = 0;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_EQ = 1;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_AND = 2;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_NOR = 3;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

namespace heddle::compat {

template <typename Word>
void write_in_stream(CUstream stream, CUdeviceptr to, Word value) {
  launch_body([=] { sim::runtime::store(memory_at(to), sizeof(Word), value, memory_order::release, scope::system); },
              one_lane(stream));
}
/// (CUDA Driver API, "CUstreamWaitValue_flags".)
template <typename Word>
bool is_waited_for(Word found, Word value, unsigned int how) {
  using difference = std::make_signed_t<Word>;
  if (how == CU_STREAM_WAIT_VALUE_EQ) return found == value;
  if (how == CU_STREAM_WAIT_VALUE_AND) return (found & value) != 0;
  if (how == CU_STREAM_WAIT_VALUE_NOR) return static_cast<Word>(~(found | value)) != 0;
  return static_cast<difference>(found - value) >= 0;
}
template <typename Word>
CUresult wait_in_stream(CUstream stream, CUdeviceptr at, Word value, unsigned int how) {
  if (how > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  launch_body(
      [=] {
        while (!is_waited_for(
            static_cast<Word>(sim::runtime::load(memory_at(at), sizeof(Word), memory_order::acquire, scope::system)),
            value, how))
          sim::runtime::pause();
      },
      one_lane(stream));
  return CUDA_SUCCESS;
}

}  // namespace heddle::compat

inline CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int) {
  heddle::compat::write_in_stream(stream, to, value);
  return CUDA_SUCCESS;
}
inline CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned int) {
  heddle::compat::write_in_stream(stream, to, value);
  return CUDA_SUCCESS;
}
inline CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int how) {
  return heddle::compat::wait_in_stream(stream, at, value, how);
}
inline CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned int how) {
  return heddle::compat::wait_in_stream(stream, at, value, how);
}
