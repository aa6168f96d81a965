// Progress models: which waves a machine guarantees a turn. core/fair_set.h keeps those waves, and names the papers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

enum class progress_model : uint8_t {
  fair,     ///< every live wave
  unfair,   ///< no wave
  hsa,      ///< the live wave of lowest id
  obe,      ///< every live wave that has ever stepped (occupancy-bound)
  hsa_obe,  ///< those of hsa and those of obe
  lobe,     ///< every live wave of an id no greater than the highest that has ever stepped (linear occupancy-bound)
  slots,    ///< every wave that has a place on the device; without preemption, so no other one can step at all
  cuda,  ///< every live wave of a block, a cluster or a cooperative grid of which one has ever stepped; kernels start for hosts in driver calls
};

/// The names that the setting `progress` takes.
std::vector<std::string> progress_model_names();
progress_model parse_progress_model(std::string_view name);
const char* to_string(progress_model model);
/// All models, in the order of their names' list.
std::vector<progress_model> progress_models();

}  // namespace heddle::sim
