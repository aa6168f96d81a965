#include <heddle/sim/settings/progress_model.h>

#include <array>

namespace heddle::sim {
namespace {
constexpr std::array names = {"fair", "unfair", "hsa", "obe", "hsa_obe", "lobe", "slots", "cuda"};
}

std::vector<std::string> progress_model_names() { return {names.begin(), names.end()}; }

progress_model parse_progress_model(std::string_view name) {
  for (size_t n = 0; n < names.size(); ++n)
    if (name == names[n]) return static_cast<progress_model>(n);
  return progress_model::fair;
}

const char* to_string(progress_model model) { return names[static_cast<size_t>(model)]; }

std::vector<progress_model> progress_models() {
  std::vector<progress_model> all;
  for (size_t n = 0; n < names.size(); ++n) all.push_back(static_cast<progress_model>(n));
  return all;
}

}  // namespace heddle::sim
