#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <vector>

namespace heddle::driver {
namespace {

class even final : public split_rule {
 public:
  const char* name() const override { return "even"; }
  share of(uint64_t items, uint64_t gpus, uint64_t index) const override { return share_of(items, gpus, index); }
};

class full final : public split_rule {
 public:
  const char* name() const override { return "full"; }
  share of(uint64_t items, uint64_t gpus, uint64_t index) const override {
    const uint64_t each = items / gpus + (items % gpus != 0 ? 1 : 0);
    const uint64_t first = std::min(index * each, items);
    return {.first = first, .count = std::min(each, items - first)};
  }
};

class rest_last final : public split_rule {
 public:
  const char* name() const override { return "rest-last"; }
  share of(uint64_t items, uint64_t gpus, uint64_t index) const override {
    const uint64_t each = items / gpus;
    return {.first = index * each, .count = index + 1 == gpus ? items - index * each : each};
  }
};

std::vector<const split_rule*>& all_rules() {
  static const even evenly;
  static const full fully;
  static const rest_last resting;
  static std::vector<const split_rule*> all = {&evenly, &fully, &resting};
  return all;
}

/// Why the rule is none, for so many items; empty where it is one.
std::string what_is_wrong(const split_rule& rule, uint64_t items, uint64_t gpus) {
  uint64_t next = 0;
  for (uint64_t n = 0; n < gpus; ++n) {
    const share mine = rule.of(items, gpus, n);
    if (mine.first != next || mine.count > items - next)
      return words("of ", items, " items, GPU ", n, " of ", gpus, " gets ", mine.count, " from ", mine.first,
                   " on, and the next one is ", next);
    next = mine.end();
  }
  return next == items ? "" : words("of ", items, " items, ", items - next, " go to no GPU of ", gpus);
}

}  // namespace

const split_rule& even_split() { return *all_rules().front(); }

std::span<const split_rule* const> split_rules() { return all_rules(); }

const split_rule* find_split_rule(std::string_view name) {
  for (const split_rule* const each : all_rules())
    if (each->name() == name) return each;
  return nullptr;
}

result<void> add_split_rule(const split_rule& fresh) {
  if (find_split_rule(fresh.name()) != nullptr)
    return failure("add_split_rule", fresh.name(), "in use", "there is a rule of this name");
  constexpr uint64_t most_items = 100;
  constexpr uint64_t most_gpus = 16;
  for (uint64_t gpus = 1; gpus <= most_gpus; ++gpus)
    for (uint64_t items = 0; items <= most_items; ++items)
      if (std::string wrong = what_is_wrong(fresh, items, gpus); !wrong.empty())
        return failure("add_split_rule", fresh.name(), "invalid value", std::move(wrong));
  all_rules().push_back(&fresh);
  return {};
}

}  // namespace heddle::driver
