// Loads that have overtaken a store of their own lane.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace heddle::tools {

/// Two lanes each store a word and then load the other's, and a load has found what was there before the other lane's store ("store buffering":
/// Owens, Sarkar, Sewell, A better x86 memory model, TPHOLs 2009, section 2). Only a full fence between the store and the load orders them, on
/// both sides. Likewise where each stores the other's word, and such a store counts as older ("2+2W"). Each is an index in run_record::steps.
struct overtaking {
  size_t store = 0;         ///< that `load` has overtaken, of the same lane
  size_t load = 0;          ///< has found an old value, or is a store that counts as older
  size_t missed_store = 0;  ///< the newer one, of the other lane
  size_t other_load = 0;    ///< of the other lane, behind `missed_store`, of what `store` stores; or a store there
};

/// That of a load which has missed this store, or of a store that counts as older than it, if the two lanes do so.
std::optional<overtaking> overtaking_of(const sim::run_record& run, size_t late, size_t missed_store);

/// Those of the last loads of a run, at most 32.
std::vector<overtaking> overtakings_in(const sim::run_record& run);

}  // namespace heddle::tools
