// What you need to see of a run that went wrong: where each lane stands, what it waits for, and which lanes could end the wait.
#pragma once

#include <heddle/sim/code/source_line.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/report/wait_graph.h>
#include <heddle/sim/run/execution.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// Reads the machine as the run left it; to be used before the next run starts, on a run that was recorded.
class hang_report {
 public:
  explicit hang_report(const execution& run, const other_schedules* others)
      : run_(run), core_(run.core()), others_(others) {}

  /// Several lines, the first paragraph of which says what happened: which lane waits for which, or the calls of the lane that ended the run, or, of
  /// a livelock, the steps that are repeated. Behind an empty line every lane that has not ended, in groups that stand alike, with the calls that
  /// led there, what it reads and which lane changed that last. `cycle` is what is repeated for ever, if anything is. To be called once.
  std::string text(const std::string& cycle);
  /// Which lane waits for which; filled by text().
  const wait_graph& graph() const { return graph_; }
  /// Places that something waits for without having been changed by anything that is left; filled by text().
  std::vector<std::string> unexplained() const { return unexplained_; }

 private:
  /// In this order.
  enum class order : uint8_t { ends_the_run, in_circle, others, waits_for_ends };
  /// Lanes of a wave that stand alike.
  struct group {
    const wave* of = nullptr;
    std::string told;
    uint64_t lanes = 0;
    hang_report::order rank = hang_report::order::others;
  };
  static constexpr size_t most_untouched = 8;  ///< others that may each be the one

  void collect();
  order rank_of(const lane& who) const;
  static std::string text_of(const group& one);
  std::string standing(const lane& who) const;
  std::string watching(const lane& who, wait_graph& graph);
  void wait_for_places(const wave& waiting);
  std::string who_could_change(const lane& who, const watched& entry) const;
  bool is_store(const recorder::change& last) const;
  std::string giver_of_notice(const lane& who, const watched& entry) const;
  std::string object_at(const void* address) const;
  static bool waits_for_an_end(const lane& who);
  const std::vector<watched>& looked_at(const lane& who) const;
  bool only_follows(const lane& who, const std::vector<watched>& words) const;
  /// Whether the lane, which waits, looks at the word itself.
  bool looks_at(const lane& waiting, const watched& entry) const;
  /// Whether `storer` holds what `waiting` waits for, as a lock is held.
  bool holds(const lane& storer, const lane& waiting, const watched& entry) const;
  /// Whether `other` could change the words that the waiting lane looks at, before anything else has let that lane go on.
  bool may_change(const lane& other, const lane& who, const std::vector<watched>& words) const;
  /// "in other schedules wave 0 stored it at FILE:LINE", "in other schedules wave 0, which has ended here, stored it"
  std::string told_of(const std::vector<const store_elsewhere*>& stores) const;
  std::vector<const store_elsewhere*> stores_elsewhere(const watched& entry, const lane* by) const;
  bool add_edges_elsewhere(const lane& who, const std::vector<watched>& words, wait_graph& graph) const;
  bool add_edges(const lane& who, const watched& entry, const std::vector<watched>& words, const std::string& location,
                 wait_graph& graph) const;
  bool add_edges_to_copies(const lane& who, const std::vector<watched>& words, wait_graph& graph) const;
  bool add_edges_to_servers(const lane& who, const std::vector<watched>& words, wait_graph& graph) const;
  /// Says which are left.
  std::string add_edges_to_all(const lane& who, const watched& entry, const std::vector<watched>& words,
                               const std::string& location, wait_graph& graph) const;
  std::string why_unknown(const lane& who, const watched& entry, const std::vector<watched>& words) const;
  std::string state_of(const lane& who) const;
  static bool is_masked_off(const lane& who);
  std::string held_back();
  std::string told_of_function(const wave& held, uint32_t function);
  std::string missing_lanes(const lane& who, wait_graph& graph) const;

  const execution& run_;
  const run_core& core_;
  const other_schedules* others_;  ///< null: nothing is known of them
  wait_graph graph_;
  std::vector<group> groups_;
  std::vector<std::string> unexplained_;
  mutable std::unordered_map<const lane*, std::vector<watched>> looked_at_;  ///< what looked_at() has found
  uint64_t not_started_ = 0;
};

}  // namespace heddle::sim
