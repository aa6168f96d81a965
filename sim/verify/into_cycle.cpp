#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/into_cycle.h>

namespace heddle::sim {

bool run_fair_cycle(explorer& deciding, const shared_states& known, const explored_run& run,
                    const search_options& options, search_result& result) {
  scheduler::choice_source choices;
  const auto state = find_fair_cycle(known.graph());
  if (!state) return true;
  const std::vector<uint8_t> answers = known.answers_to(*state);
  into_cycle comes(answers, 0);
  choices.begin(comes, 0);
  const uint64_t steps = run(choices).steps;
  into_cycle leads(answers, steps + 1);
  choices.begin(leads, 0);
  const outcome hung = run(choices);
  ++result.runs;
  ++result.executions;
  if (hung.stopped_by_source) return false;
  if (hung.verdict == scheduler::verdict::ok || hung.verdict == scheduler::verdict::budget)
    deciding.leave_out("in a fair cycle of states nothing is ever done, but a fair run from there on comes to an end");
  else if (options.ended)
    result.stopped = !options.ended(hung, choices.recorded());
  return true;
}

}  // namespace heddle::sim
