#include <heddle/tools/trial/kernel_names.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace heddle::tools {
namespace {

constexpr std::string_view wave_begins = "wave ";

/// The function that a wave runs, by the calls of its steps: the outermost. Where that is a lambda in which nothing is done but a call of one
/// function, as a launch by <<<>>> is rewritten to, it is that function.
class outermost {
 public:
  void note(const std::vector<sim::source_line>& calls) {
    name_ = calls.back().function;
    if (calls.size() < 2 || !name_.starts_with("a lambda of ")) {
      calls_one_ = false;
      return;
    }
    const std::string& called = calls[calls.size() - 2].function;
    calls_one_ = calls_one_ && (called_.empty() || called_ == called);
    called_ = called;
  }
  const std::string& name() const { return calls_one_ && !called_.empty() ? called_ : name_; }

 private:
  std::string name_;
  std::string called_;
  bool calls_one_ = true;
};

std::map<uint32_t, outermost> kernels_of(const sim::run_record& of) {
  std::map<uint32_t, outermost> found;
  for (const sim::run_record::step& each : of.steps) {
    const uint32_t wave = of.actors[each.actor].wave;
    if (each.calls == sim::run_record::none || of.waves[wave].host || !of.waves[wave].name.starts_with(wave_begins))
      continue;
    const std::vector<sim::source_line>& calls = of.call_chains[each.calls];
    if (!calls.empty() && !calls.back().function.empty()) found[wave].note(calls);
  }
  return found;
}

uint64_t number_in(std::string_view text, size_t& end) {
  uint64_t number = 0;
  const auto [last, failed] = std::from_chars(text.data() + end, text.data() + text.size(), number);
  if (failed != std::errc()) return sim::run_record::never;
  end = static_cast<size_t>(last - text.data());
  return number;
}

}  // namespace

kernel_names::kernel_names(const sim::run_record& of) {
  const std::map<uint32_t, outermost> kernels = kernels_of(of);
  const bool are_several = std::any_of(kernels.begin(), kernels.end(), [&](const auto& each) {
    return each.second.name() != kernels.begin()->second.name();
  });
  if (!are_several) return;
  for (const auto& [wave, kernel] : kernels) {
    size_t end = wave_begins.size();
    names_.emplace(number_in(of.waves[wave].name, end), kernel.name());
  }
}

std::string kernel_names::in(std::string_view text) {
  std::string made;
  size_t done = 0;
  for (size_t at = text.find(wave_begins); at != std::string_view::npos; at = text.find(wave_begins, at + 1)) {
    if (at != 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0) continue;
    size_t end = at + wave_begins.size();
    const auto name = names_.find(number_in(text, end));
    if (name == names_.end() || !told_.insert(name->first).second) continue;
    made += std::string(text.substr(done, end - done)) + " (" + name->second + ")";
    done = end;
  }
  return made + std::string(text.substr(done));
}

}  // namespace heddle::tools
