// Tables of progress: programs, and whether each ends under the progress models. They are judged exactly, on no machine.
#pragma once

#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/progress/judge/examination.h>

#include <string>
#include <vector>

namespace heddle::litmus {

/// What a column of a table says.
struct published_verdict {
  std::string column;
  judge::model under;
  judge::fairness how = judge::fairness::weak;
  bool ends = false;  ///< P; else F
};

struct progress_test {
  std::string table;  ///< the file's name without folder and ending
  std::string name;   ///< GROUP.ID, or the column `name`
  judge::program code;
  std::vector<published_verdict> published;

  /// "progress_2threads/2_threads_3.90"
  std::string full_name() const { return table + "/" + name; }
};

/// Whether the table has a column with verdicts of a progress model.
bool is_progress_table(const csv_table& table);

/// The programs of a table (column `program`, grammar: judge/program.h) with the verdicts of the columns WEAK_FAIR,
/// STRONG_FAIR; HSA, OBE, HSA_OBE, LOBE, UNFAIR and the same with _STRONG; SIMT_STACK_then_first(computed), which is
/// compared twice, with lockstep and with one slot in order. An empty verdict is none; other columns are passed over.
/// Throws std::invalid_argument with one line that names file and line.
std::vector<progress_test> progress_tests_of(const csv_table& table);

struct progress_result {
  std::vector<judge::judgement> judged;  ///< by verdict of the test
  size_t states = 0;

  bool equal(const progress_test& to, size_t verdict) const {
    return judged[verdict].ends == to.published[verdict].ends;
  }
  size_t equal_count(const progress_test& to) const;
  bool ok(const progress_test& to) const { return equal_count(to) == judged.size(); }
};

/// Throws std::invalid_argument with one line that names the test when the program has too many states.
progress_result judge_progress(const progress_test& test);

}  // namespace heddle::litmus
