// What a latency program or scale_bench wrote, as rows that a chart can pick from.
#pragma once

#include <heddle/rpc/result.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::bench {

/// One measured point: where it lies, and its counters. Several repetitions are one row, which has their medians.
struct row {
  std::string protocol;
  uint64_t waves = 1;
  uint64_t lanes = 1;
  uint64_t bytes = 8;
  uint64_t servers = 1;
  std::string mailbox;
  std::string rings = {};  ///< how clients ring for servers that sleep; empty where servers look all the time
  std::map<std::string, double> counters;

  bool is_at(const row& other) const {
    return protocol == other.protocol && waves == other.waves && lanes == other.lanes && bytes == other.bytes &&
           servers == other.servers && mailbox == other.mailbox && rings == other.rings;
  }
};

struct results {
  std::string machine;  ///< host, cuda or hip
  std::string device;
  std::string date;
  std::vector<row> rows;              ///< in the order in which they were measured
  std::vector<std::string> failures;  ///< a line for each point that could not be measured
};

/// Reads a file of Google Benchmark's JSON, as the programs of bench/latency write it; an error says what is wrong with it.
result<results> read_results(const std::string& file);

}  // namespace heddle::bench
