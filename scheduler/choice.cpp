#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/strategy.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace heddle::scheduler {
namespace {

constexpr std::array<std::string_view, choice_kind_count> kind_names = {
    "actor", "mask", "wake", "visible", "place", "arrive", "start", "end", "arm", "spurious", "part", "lane", "evict"};

[[noreturn]] void fail(const char* what, uint32_t count, uint32_t picked) {
  dprintf(own_errors, "heddle: %s (count %u, picked %u)\n", what, count, picked);
  std::abort();
}

}  // namespace

std::string_view to_string(choice_kind kind) { return kind_names.at(static_cast<size_t>(kind)); }

std::optional<choice_kind> parse_choice_kind(std::string_view text) {
  for (uint32_t index = 0; index < choice_kind_count; ++index)
    if (kind_names[index] == text) return static_cast<choice_kind>(index);
  return std::nullopt;
}

void choice_source::begin(strategy& deciding, uint64_t seed) {
  deciding_ = &deciding;
  seed_ = seed;
  recorded_.clear();  // keeps its memory: a campaign's runs do not allocate once the longest has been seen
  deciding.begin(seed);
  uniform_ = deciding.answers_out_of();
}

void choice_streams::begin_stream(uint32_t index) {
  static constexpr std::array<uint64_t, choice_kind_count> mixed = [] {
    std::array<uint64_t, choice_kind_count> made{};
    for (uint32_t n = 0; n < choice_kind_count; ++n) made[n] = random_stream::mixed(n);
    return made;
  }();
  seeded_ |= 1u << index;
  streams_[index].begin(seed_, mixed[index]);
}

uint32_t choice_source::pick(uint32_t count, choice_kind kind, const candidate_list& candidates) {
  if (count == 1) return 0;
  if (uniform_ == nullptr || count == 0) return ask(count, kind, candidates);
  const uint32_t picked = uniform_->of(kind).below(count);
  append(recorded_, {.kind = kind, .count = count, .picked = picked});
  return picked;
}

bool choice_source::draws_end_game() const { return deciding_ != nullptr && deciding_->draws_end_game(); }

bool choice_source::strategy_looks_at_headway() const { return deciding_ != nullptr && deciding_->looks_at_headway(); }

bool choice_source::strategy_looks_at_steps() const { return deciding_ != nullptr && deciding_->looks_at_steps(); }

void choice_source::performed(const candidate& who) { deciding_->performed(who); }

uint32_t choice_source::ask(uint32_t count, choice_kind kind, const candidate_list& candidates) {
  if (count == 0 || deciding_ == nullptr) fail("a choice among none, or before begin()", count, 0);
  const choice asked{.kind = kind, .count = count, .candidates = candidates};
  const uint32_t picked = deciding_->pick(asked);
  if (picked == no_answer) return no_answer;
  if (picked >= count) fail("a strategy answered what was not asked", count, picked);
  recorded_.push_back({.kind = kind, .count = count, .picked = picked});
  return picked;
}

}  // namespace heddle::scheduler
