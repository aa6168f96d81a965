// Freestanding code for clang's GPU mode, compiled by heddle_simulate_clang_gpu().
#include <gpuintrin.h>

#include "../sim/run.h"

#if !__has_builtin(__scoped_atomic_load_n) || !__has_builtin(__scoped_atomic_thread_fence)
#error "scopes would mean nothing"
#endif
#if __has_builtin(__nvvm_reflect)
#error "nothing supplies this one"
#endif

namespace {

using namespace heddle::sim::tests;

struct mailbox {
  uint32_t value;
  uint32_t flag;
};

/// One lane passes a word to the host.
void pass(mailbox& to, int scope) {
  to.value = 7;
  if (scope == __MEMORY_SCOPE_SYSTEM)
    __scoped_atomic_store_n(&to.flag, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  else
    __scoped_atomic_store_n(&to.flag, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

tally passes(int scope) {
  return machine({"fidelity=scoped"})
      .run_many(
          [=] {
            heddle::sim::device device;
            mailbox* const box = device.allocate_shared<mailbox>(1, "mailbox");
            device.launch({.waves = 1, .lanes = 1}, [=] { pass(*box, scope); });
            while (__scoped_atomic_load_n(&box->flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) == 0)
              heddle::sim::runtime::pause();
            SIM_CHECK(box->value == 7);
            device.synchronize();
          },
          50);
}

TEST(clang_gpu_freestanding, has_scopes) {
  EXPECT_TRUE(always(verdict::ok, passes(__MEMORY_SCOPE_SYSTEM)));
  EXPECT_GT(passes(__MEMORY_SCOPE_DEVICE).count(verdict::scope_race), 0U);
}

TEST(clang_gpu_freestanding, has_waves_as_wide_as_they_are_launched) {
  for (const uint32_t lanes : {2U, 5U, 64U})
    EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"})
                                        .run_many(
                                            [=] {
                                              heddle::sim::device device;
                                              device.launch({.waves = 2, .lanes = lanes}, [=] {
                                                SIM_CHECK(__gpu_num_lanes() == lanes);
                                                const uint64_t all =
                                                    lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
                                                SIM_CHECK(__gpu_read_first_lane_u32(all, __gpu_lane_id() + 9) == 9);
                                                const uint32_t last = lanes - 1;
                                                SIM_CHECK(__gpu_shuffle_idx_u32(all, last, __gpu_lane_id()) == last);
                                              });
                                              device.synchronize();
                                            },
                                            3)));
}

}  // namespace
