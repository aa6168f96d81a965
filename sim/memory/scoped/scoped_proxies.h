// What bulk copies may see of scoped memory (scoped_memory.h): they are made by another proxy than the accesses of lanes.
//
// An access by a lane comes before a copy by the async proxy only where, on the way from one to the other, a lane performs a fence that names the
// proxy and the memory. The start of a kernel is one for all that came before. What copies write comes back with their completion. (PTX ISA,
// "Causality Order", "Proxy-preserved base causality order"; Lustig, Cooksey, Giroux, "Mixed-Proxy Extensions for the NVIDIA PTX Memory Consistency
// Model", ISCA 2022.)
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::scoped {

class proxies {
 public:
  proxies(run_core& core, race_log& log, knowledge& known, const locations& all)
      : core_(core), log_(log), known_(known), locations_(all) {}

  void reset() { fences_.clear(); }
  /// All that the lane knows of now has come to the async proxy, in these spaces (proxy_space).
  void fence(lane_facts& mine, uint32_t spaces);
  /// Reports stores that come before the copy, which the lane is about to issue, and have not come to its proxy: to what it reads, and to what it
  /// writes. A load that it overwrites has its value by then, and needs no fence; nor does its mbarrier behind mbarrier.init: NVIDIA's guide has one
  /// there, its library libcu++ does without.
  void before_bulk(lane& self, lane_facts& mine, const bulk_copy& what);

 private:
  struct made_fence {
    uint32_t lane = 0;
    uint32_t epoch = 0;
    uint32_t spaces = 0;
    snapshot view;
  };
  clock_entries what_has_come(const lane& self, const lane_facts& mine, uint32_t spaces) const;
  void look(lane& self, lane_facts& mine, const void* address, size_t size_bytes, uint32_t spaces);

  run_core& core_;
  race_log& log_;
  knowledge& known_;
  const locations& locations_;
  std::vector<made_fence> fences_;  ///< of the run, in order
};

}  // namespace heddle::sim::scoped
