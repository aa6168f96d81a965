// Percentiles by nearest rank.
#include <bench/latency/percentile.h>

#include <gtest/gtest.h>

namespace heddle::bench {
namespace {

TEST(percentile, is_a_sample_that_so_many_do_not_exceed) {
  std::vector<double> hundred;
  for (int n = 1; n <= 100; ++n) hundred.push_back(n);
  EXPECT_EQ(percentile(hundred, 0), 1);
  EXPECT_EQ(percentile(hundred, 0.01), 1);
  EXPECT_EQ(percentile(hundred, 0.5), 50);
  EXPECT_EQ(percentile(hundred, 0.501), 51);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 0.999), 100);
  EXPECT_EQ(percentile(hundred, 1), 100);
}

TEST(percentile, of_one_sample_is_that_sample) {
  for (const double share : {0.0, 0.5, 1.0}) EXPECT_EQ(percentile({7}, share), 7);
}

}  // namespace
}  // namespace heddle::bench
