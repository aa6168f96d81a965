// What the processes of a campaign tell each other. One message is one text; both ends are the same program, and trust each other.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/tools/fuzz/campaign/seeds.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// From the leader: seeds to run.
struct piece_to_run {
  uint64_t number = 0;  ///< of the piece, unique in the campaign
  std::string scenario = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< all of them, as parameters::values
  std::string strategy = {};
  seed_range seeds = {};
  double seconds_max = 0;                      ///< 0: no limit
  std::vector<scheduler::finding> known = {};  ///< groups that need no explanation but with a lower seed
};

/// To the leader: what came of a piece, with the findings that were explained for it.
struct piece_done {
  uint64_t number = 0;
  scheduler::campaign_result result = {};
};

/// To the leader, which answers when it is written: a finding.
struct piece_found {
  uint64_t number = 0;
  scheduler::finding found = {};
};

std::string to_text(const piece_to_run& piece);
std::string to_text(const piece_done& done);
std::string to_text(const piece_found& found);

/// They throw what nlohmann::json throws when the text is none of them.
piece_to_run piece_to_run_of(const std::string& text);
piece_done piece_done_of(const std::string& text);
piece_found piece_found_of(const std::string& text);

}  // namespace heddle::tools
