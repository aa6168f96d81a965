// Orders that the program lacks where a load has missed a store, or a store counts as older than one that came before it.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/step_words.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// A change of one line.
struct order_change {
  std::string where;  ///< "rpc/mailbox.h:75"
  std::string words;  ///< as --assume takes them: "release"
  std::string text;   ///< "a release at rpc/mailbox.h:75, or a fence before it"
};

/// Changes that belong together, and why they are needed.
struct missing_order {
  std::vector<order_change> changes;
  std::string why;              ///< ": wave 2 reads ... and may miss ..."
  bool is_of_both = false;      ///< full fences: one alone is of no use
  uint64_t late = 0;            ///< the step that has missed a store, or counts as older than one
  std::vector<uint64_t> steps;  ///< that a story tells beside it: what hands over, by stores and reads

  std::string assumed() const;  ///< for the setting `assume`
  std::string text() const;     ///< "a release at ..., or a fence before it; and an acquire at ..."
};

/// Those that may have kept the last of these steps from what it did, weaker ones first: a release or an acquire where the one side has read
/// what the other has stored behind that store (message passing), else full fences. None of them has been tried.
std::vector<missing_order> missing_orders(const sim::run_record& of, const std::vector<uint64_t>& decided);

}  // namespace heddle::tools
