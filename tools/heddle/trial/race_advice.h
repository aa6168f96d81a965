// What would order the two accesses of a race, where nothing leads from one to the other.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/step_words.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::tools {

/// "missing: a barrier of block 0 between a.cu:21 and a.cu:25; or a wait of ...". `edge`: what the race's text says of the edge that is missing.
std::string advice_on_race(const sim::run_record& of, const step_words& words, const sim::run_record::step& earlier,
                           const sim::run_record::step& later, std::string_view edge);

/// The same where a store and a load lead from one to the other, and order nothing: "missing: an acquire at a.cu:25, or a fence behind it".
std::string advice_on_edge(const sim::run_record& of, const step_words& words, uint64_t store, uint64_t load,
                           std::string_view edge);

}  // namespace heddle::tools
