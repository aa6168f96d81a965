// An entry of a FIFO is published by a store of block scope: MSCCL++ 85e80175. Smallest: 1 wave, 1 lane, 1 entry.
#include "small_fifo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

struct publishes_to_its_block : zoo::noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : zoo::true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : zoo::true_ref<T, Scope>(word), word_(word) {}
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      zoo::true_ref<T, Scope == scope::system ? scope::block : Scope>(word_).store(value, order);
    }

   private:
    T& word_;
  };
};

void run_narrow_writer(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, set.count("calls"));
  if (zoo::is_fixed(set)) return zoo::run_flushing(test, set, test.producer(), test.consumer());
  zoo::run_flushing(test, set, test.producer<publishes_to_its_block>(), test.consumer());
}

}  // namespace

HEDDLE_ZOO(
    run_narrow_writer,
    {.name = "zoo.writer-scope-too-narrow",
     .summary = "an entry of a FIFO is published in block scope",
     .parameters = zoo::small_fifo(0),
     .expected = zoo::where_memory_is_late<verdict::scope_race, zoo::late_over_the_link::stores, zoo::flushed_fifo>});

}  // namespace heddle::tests
