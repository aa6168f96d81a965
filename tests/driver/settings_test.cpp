// The driver's settings as keys and values.
#include <gtest/gtest.h>
#include <heddle/driver/settings.h>
#include <heddle/sim/settings/link.h>

namespace heddle::driver {
namespace {

parameters all() {
  std::vector<parameter> keys = sim::link_parameters();
  for (parameter& each : driver_parameters()) keys.push_back(std::move(each));
  return parameters(std::move(keys));
}

TEST(driver_settings, the_keys_begin_with_the_defaults_of_the_struct) {
  const driver_settings read = driver_settings::from(all());
  const driver_settings fresh;
  EXPECT_EQ(read.page_bits, fresh.page_bits);
  EXPECT_EQ(read.cpu_bytes, fresh.cpu_bytes);
  EXPECT_EQ(read.cycle, fresh.cycle);
  EXPECT_EQ(read.copies, fresh.copies);
  EXPECT_EQ(read.flush_before_copy, fresh.flush_before_copy);
  EXPECT_EQ(read.posted, fresh.posted);
  EXPECT_EQ(read.read, fresh.read);
  EXPECT_EQ(read.fence, fresh.fence);
  EXPECT_EQ(read.launch, fresh.launch);
  EXPECT_EQ(read.copy, fresh.copy);
  EXPECT_EQ(read.copy_byte, fresh.copy_byte);
  EXPECT_EQ(read.compute_units, fresh.compute_units);
  EXPECT_EQ(read.groups_per_unit, fresh.groups_per_unit);
  EXPECT_EQ(read.dispatch, fresh.dispatch);
}

TEST(driver_settings, each_key_is_read) {
  parameters values = all();
  for (const char* const each :
       {"driver.page_bits=16", "driver.cpu_mib=7", "driver.cycle_ps=500", "driver.copies=instant", "driver.flush=off",
        "driver.copy_ns=40", "driver.copy_byte_ps=3", "driver.units=5", "driver.unit_groups=6",
        "driver.dispatch=partition", "link.posted_ns=1", "link.read_ns=2", "link.fence_ns=3", "link.launch_ns=4"})
    ASSERT_FALSE(values.set(each)) << each;
  const driver_settings read = driver_settings::from(values);
  EXPECT_EQ(read.page_bits, 16u);
  EXPECT_EQ(read.cpu_bytes, uint64_t{7} << 20);
  EXPECT_EQ(read.cycle, 500u);
  EXPECT_EQ(read.copies, copy_model::instant);
  EXPECT_FALSE(read.flush_before_copy);
  EXPECT_EQ(read.copy, 40'000u);
  EXPECT_EQ(read.copy_byte, 3u);
  EXPECT_EQ(read.compute_units, 5u);
  EXPECT_EQ(read.groups_per_unit, 6u);
  EXPECT_EQ(read.dispatch, dispatch_policy::partition);
  EXPECT_EQ(read.posted, 1'000u);
  EXPECT_EQ(read.read, 2'000u);
  EXPECT_EQ(read.fence, 3'000u);
  EXPECT_EQ(read.launch, 4'000u);
}

}  // namespace
}  // namespace heddle::driver
