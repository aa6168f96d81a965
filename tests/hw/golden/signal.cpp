// The kernels of a machine whose rings interrupt the host: a ring, and a call of a port that rings.
#include <heddle/hw/hip_signal/target.h>

using target = heddle::hip_signal::target;

extern "C" __global__ void ring(heddle::doorbell* bell) { target::notify(*bell); }

extern "C" __global__ void raise(heddle::hip_signal::detail::signal_memory* signal) {
#ifdef __HIP_DEVICE_COMPILE__
  heddle::hip_signal::detail::raise(*signal);
#endif
}
