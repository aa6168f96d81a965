// The host tests whether a request is ready, and stores that it is done, by plain accesses: nothing orders the results before the flag.
//
// GCC, libgomp/plugin/plugin-gcn.c. Smallest: 1 wave, 1 entry, 1 call.
#include "../offloads.h"
#include "weakened.h"

namespace heddle::tests::zoo {

/// The words between device and host are variables like any other.
struct plain_words : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word), plain_(word) {}
    HEDDLE_FUNCTION T load(memory_order order) const {
      if (Scope == scope::system) return plain_;
      return true_ref<T, Scope>::load(order);
    }
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      if (Scope == scope::system)
        plain_ = value;
      else
        true_ref<T, Scope>::store(value, order);
    }

   private:
    T& plain_;
  };
};

}  // namespace heddle::tests::zoo

namespace heddle::tests {
namespace {

void run_plain_completion(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::offload_ring, false>(set);
  run_offload_on<rpc::offload_ring, false, target, zoo::plain_words>(set);
}

std::vector<parameter> few_completions() {
  std::vector<parameter> all = zoo::with_twin(offload_parameters(1, 1, 2));
  all.push_back(entries_parameter("1"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_plain_completion,
           {.name = "zoo.plain-completion-flag",
            .summary = "the host reads and writes the flags of requests plainly",
            .parameters = few_completions(),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_ring>});

}  // namespace heddle::tests
