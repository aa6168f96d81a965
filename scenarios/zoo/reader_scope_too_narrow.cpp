// What another agent has written is taken by an acquire load of device scope: it orders the reader after lanes of its own device only.
//
// DeepEP ffc39ba: a counter that the network card, or another device, raises was polled so. Here the card is the host, and the counter the
// mailbox of a port. Smallest: 1 wave, 1 port, 1 call.
#include "weakened.h"

namespace heddle::tests::zoo {

/// Loads reach the own device; stores reach all.
struct reader_scope_too_narrow : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word), word_(word) {}
    HEDDLE_FUNCTION T load(memory_order order) const {
      return true_ref < T, Scope == scope::system ? scope::device : Scope > (word_).load(order);
    }

   private:
    T& word_;
  };
  template <scope Scope, typename T>
  HEDDLE_FUNCTION static void acquire_seen(T&) {
    target::template fence<scope::device>(memory_order::acquire);
  }
};

}  // namespace heddle::tests::zoo

namespace heddle::tests {
namespace {

void run_reader_scope_too_narrow(const parameters& set) {
  if (zoo::is_fixed(set)) return run_echo(set);
  run_echo_on<zoo::reader_scope_too_narrow, target>(set);
}

}  // namespace

HEDDLE_ZOO(run_reader_scope_too_narrow,
           {.name = "zoo.reader-scope-too-narrow",
            .summary = "the host's answer is taken by an acquire of device scope",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::scope_race, zoo::late_over_the_link::loads>});

}  // namespace heddle::tests
