#include <heddle/tools/report/flows.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace heddle::tools {

std::vector<store_flow> flows_of(const sim::run_record& of) {
  std::map<std::pair<uint32_t, uint32_t>, store_flow> flows;  // by store and reader
  std::unordered_map<uint64_t, uint32_t> newest;              // by address: the last store of a word
  const auto flow = [&](uint32_t store, uint32_t reader) -> store_flow& {
    store_flow& one = flows[{store, reader}];
    one.store = store;
    return one;
  };
  for (uint32_t n = 0; n < of.steps.size(); ++n) {
    const sim::run_record::step& one = of.steps[n];
    const bool has_read = one.reads != sim::run_record::never;
    if (has_read && one.is_old) {
      const auto latest = newest.find(one.address);
      const uint64_t read = one.reads < of.first_step ? 0 : one.reads - of.first_step + 1;
      if (latest != newest.end() && latest->second + uint64_t{1} > read &&
          of.steps[latest->second].actor != one.actor) {
        store_flow& missing = flow(latest->second, one.actor);
        if (missing.seen == store_flow::none) missing.missed = n;
      }
    }
    if (has_read && one.reads >= of.first_step) {
      const auto store = static_cast<uint32_t>(one.reads - of.first_step);
      if (store < n && of.steps[store].actor != one.actor) {
        store_flow& seen = flow(store, one.actor);
        if (seen.seen == store_flow::none) seen.seen = n;
      }
    }
    if (may_write(one.kind) && one.address != 0) newest[one.address] = n;
  }
  std::vector<store_flow> made;
  made.reserve(flows.size());
  for (const auto& [key, one] : flows) made.push_back(one);
  return made;
}

}  // namespace heddle::tools
