#include <heddle/tools/trial/missing_barrier.h>
#include <heddle/tools/trial/race_advice.h>

namespace heddle::tools {
namespace {

using sim::run_record;

class race_adviser {
 public:
  race_adviser(const run_record& of, const step_words& words) : of_(of), words_(words) {}

  std::string advice(const run_record::step& earlier, const run_record::step& later, std::string_view edge) const {
    if (edge.find("the scope of one does not include") != std::string_view::npos) {
      const bool first_is_narrow = of_.texts[earlier.operation].find("system") == std::string::npos;
      const bool second_is_narrow = of_.texts[later.operation].find("system") == std::string::npos;
      if (first_is_narrow && second_is_narrow)
        return "missing: a scope that includes both, at " + words_.where(earlier) + " and at " + words_.where(later);
      const run_record::step& narrow = first_is_narrow ? earlier : later;
      return "missing: a wider scope at " + words_.where(narrow) + ", which is " + of_.texts[narrow.operation];
    }
    std::string text = "missing: ";
    if (edge.find("a copy by cp.async is made at some time") != std::string_view::npos)
      return text + "a wait of " + words_.name_of(earlier.actor) + " for the copy that it has issued at " +
             words_.where(earlier) + ", before " + words_.where(later) + " or what that comes behind";
    if (const auto told = missing_barrier(of_, words_, earlier, later); !told.empty()) return "missing: " + told;
    if (edge.find("a bulk copy is of another proxy") != std::string_view::npos)
      return text + "fence.proxy.async behind " + words_.where(earlier) + ", by " + words_.name_of(earlier.actor) +
             " or by what comes between it and the copy";
    if (is_bulk_copy(earlier.actor) || is_bulk_copy(later.actor)) {
      const bool copy_is_first = is_bulk_copy(earlier.actor);
      const run_record::step& other = copy_is_first ? later : earlier;
      text += "a wait for the end of " + words_.name_of(copy_is_first ? earlier.actor : later.actor) +
              ", at its mbarrier or by wait_group, before " + words_.where(other) + " or what that comes behind";
      return copy_is_first ? text : text + "; or an order that has it issued later";
    }
    const bool either_copies = is_copy(earlier.actor) || is_copy(later.actor);
    const bool either_is_plain = is_plain_access(earlier.kind) || is_plain_access(later.kind);
    const bool at_one_object = earlier.address == later.address && earlier.size_bytes == later.size_bytes;
    if (!either_copies && !either_is_plain && !at_one_object) {
      // Scopes that reach and yet a race: the memory model knows atomic accesses by what they access.
      text += "one size at " + words_.where(earlier) + " (" + std::to_string(earlier.size_bytes) + " bytes) and at " +
              words_.where(later) + " (" + std::to_string(later.size_bytes) +
              "): atomic accesses that overlap in part race as plain ones do; or, if they are not to meet, ";
    } else if (!either_copies && is_plain_access(earlier.kind) != is_plain_access(later.kind)) {
      const run_record::step& plain = is_plain_access(earlier.kind) ? earlier : later;
      const run_record::step& other = is_plain_access(earlier.kind) ? later : earlier;
      // What loads a word, or stores it, may be a flag; what counts on it wants it set first.
      const bool may_be_flag = other.kind != sim::operation_kind::read_modify_write;
      if (!may_be_flag) text += barrier_between(earlier, later);
      text += "an atomic access at " + words_.where(plain) + "; or, if they are not to meet, ";
      if (may_be_flag) text += barrier_between(earlier, later);
    } else if (!either_copies) {
      text += barrier_between(earlier, later);
    }
    text += "a wait of " + words_.name_of(later.actor) + " before " + words_.where(later) + " for something that " +
            words_.name_of(earlier.actor) + " releases behind " + words_.where(earlier);
    return text;
  }

 private:
  /// "a barrier of block 0 between a.cu:21 and a.cu:25; or ", of lanes that have one in common.
  std::string barrier_between(const run_record::step& earlier, const run_record::step& later) const {
    const uint32_t first = of_.actors[earlier.actor].wave;
    const uint32_t second = of_.actors[later.actor].wave;
    const run_record::wave& one = of_.waves[first];
    const run_record::wave& other = of_.waves[second];
    if (one.host || other.host || one.launched != other.launched || one.block != other.block) return {};
    return "a barrier of " + (first == second ? one.name : "block " + std::to_string(one.block)) + " between " +
           words_.where(earlier) + " and " + words_.where(later) + "; or ";
  }

  /// Whether it is a copy in a stream, whose accesses the program cannot change.
  bool is_copy(uint32_t actor) const { return words_.name_of(actor).starts_with("copy "); }
  bool is_bulk_copy(uint32_t actor) const {
    return words_.name_of(actor).starts_with("bulk copy ") || words_.name_of(actor).starts_with("asynchronous copy ");
  }

  const run_record& of_;
  const step_words& words_;
};

}  // namespace

std::string advice_on_race(const run_record& of, const step_words& words, const run_record::step& earlier,
                           const run_record::step& later, std::string_view edge) {
  return race_adviser(of, words).advice(earlier, later, edge);
}

}  // namespace heddle::tools
