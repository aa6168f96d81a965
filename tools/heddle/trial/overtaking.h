// Loads that have overtaken a store of their own lane.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/step_words.h>

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::tools {

/// Two lanes each store a word and then load the other's, and a load has found what was there before the other lane's store ("store buffering":
/// Owens, Sarkar, Sewell, A better x86 memory model, TPHOLs 2009, section 2). Only a full fence between the store and the load orders them, on
/// both sides. Each is an index in run_record::steps.
struct overtaking {
  size_t store = 0;         ///< that `load` has overtaken, of the same lane
  size_t load = 0;          ///< has found an old value
  size_t missed_store = 0;  ///< the newer one, of the other lane
  size_t other_load = 0;    ///< of the other lane, behind `missed_store`, of what `store` stores
};

/// The last ones of a run, at most 32.
std::vector<overtaking> overtakings_in(const sim::run_record& run);

/// "to change: a full fence ... on both sides ..." where one of these steps is such a load; empty where none is.
std::string advice_on_overtaking(const sim::run_record& of, const step_words& words,
                                 const std::vector<uint64_t>& decided);

}  // namespace heddle::tools
