// What `heddle help` says of commands that look for bugs that are known, and of those that change programs.
#include <heddle/tools/cli/help_page.h>

namespace heddle::tools {

const std::string_view run_help =
    R"(heddle run [SCENARIO] [--seed S] [--strategy X] [--set KEY=VALUE]...
           [--assume SITE=CHANGE]... [--excuse FILE]... [--trace] [-o FILE]
           [--json] -- ARGUMENTS OF main()

Runs one schedule, the one that fuzz runs for the seed, and records it whether
it ends well or not. What it writes is a trace like others: heddle replay
repeats it, and heddle report makes a page of it. A program with one scenario,
as with main(), needs no name.

  --seed S          the seed (default 1)
  --strategy X      as of heddle fuzz (default mix)
  --set KEY=VALUE   a setting; may be repeated. KEY=VALUE beside the names is
                    the same
  --assume SITE=CHANGE
                    as if the program were changed there; see heddle help
                    replay; may be repeated
  --excuse FILE     races that are left alone; may be repeated
  --trace           print each step; repeated steps are folded
  -o, --out FILE    where the trace is written (default:
                    SCENARIO-VERDICT-SEED.heddle.json in heddle-findings, or
                    where HEDDLE_FINDINGS says)
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in a copy of it
  --json            for programs

Exit status: 0 when the verdict is one that the scenario expects, else 1. A run
that ends its process leaves no trace here; fuzz records such a one.
)";

const std::string_view mend_help = R"(heddle mend FILE|TOKEN [--schedules N] [--changes N] [OPTIONS]

Looks for the smallest change of the program that ends a finding, and all others
of a campaign: a stronger order, a wider scope, a fence, sync_lanes, a plain
access that becomes an atomic one, a local variable that is broadcast. Nothing
is compiled; the run assumes the change, at all operations of a source line. One
change is tried before two, a cheap one before a dear one, and first where the
finding says that an order is missing. Each is tried with the finding's
schedule, then in a campaign; then verify goes through all runs, for at most
10 s, for the first three answers. An answer names the lines, what to do there,
what was explored, and the options that repeat it. Where no change ends
everything, those that end this finding.

  --schedules N     in which nothing may be found (default 10000)
  --changes N       at most so many changes together (default 3)
  --seed S          the first seed (default 1)
  --strategy X      what decides (default mix)
  -j, --jobs J      so many processes (default: one for each core)
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --json            for programs

Exit status: 0 when there is an answer, 1 when there is none.
)";

const std::string_view slack_help = R"(heddle slack [SCENARIO] [--set KEY=VALUE]... [--schedules N] [OPTIONS]

Makes each order and each scope of a scenario that ends well weaker by one step,
one at a time, and lists those for which nothing is found: in a campaign, and
then, for at most 10 s each, by verify. Such an order may be superfluous, or
needed by what the scenario does not do: it is a question, and no advice.
A program with one scenario needs no name.

  --schedules N     of each (default 10000)
  --set KEY=VALUE   a setting; may be repeated. KEY=VALUE beside the names is
                    the same
  --assume SITE=CHANGE
                    as if the program were changed there, beside: see heddle
                    help replay; may be repeated
  --details         also those that are needed, and what is found without them
  --seed S          the first seed (default 1)
  --strategy X      what decides (default mix)
  -j, --jobs J      so many processes (default: one for each core)
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --json            for programs

Exit status: 0, but 1 when the scenario does not end well as it is.
)";

const std::string_view zoo_help = R"(heddle zoo [ENTRY...] [OPTIONS]

Puts the planted bugs to the test: each scenario NAME that has a twin, the
scenario NAME.fixed, which is the same program without the bug. The bug must be
found with the verdict that its scenario expects, be played again from its token
to the same digest, and be shrunk; in the twin nothing may be found. An ENTRY is
a name or a shell pattern; without any, all are taken.

  -n, --schedules N
                    in which the bug must be found (default 10000)
  --twin N          in which its twin must be silent (default 50000)
  --seed S          the first seed (default 1)
  --strategy X      what decides (default mix)
  --set KEY=VALUE   a setting of all; may be repeated
  -j, --jobs J      so many processes (default: one for each core)
  --compare         instead: a Markdown table of how many schedules each
                    strategy needs, the median of 20 ranges of seeds; "-" is
                    more than --schedules, which is 1000 then
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in copies of it
  --json            for programs

Exit status: 0 when every entry is as expected, 1 when one is not.
)";

const std::string_view import_help = R"(heddle import DUMP.json [--schedules N | --time T] [-o FILE] [OPTIONS]

Runs the scenario of a dump, which a watchdog wrote when it hung on a real
machine, on the simulated one, and leads it along the recorded order of events.
When it hangs there too, the trace is an ordinary one: heddle replay repeats it.

  -n, --schedules N
                    at most so many schedules (default 1000)
  --time T          instead of a number: 30, 45s, 5m, 2h
  --seed S          the first seed (default 1). Its schedule keeps to the
                    recorded order strictly, each later one a little less
  --set KEY=VALUE   a setting beside those of the dump, such as progress=hsa;
                    may be repeated
  -o, --out FILE    where the trace is written (default: here, as
                    SCENARIO-VERDICT-import.heddle.json)
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in copies of it

Exit status: 0 when the model hangs too and the trace was written, 1 when it
does not in that many schedules, 2 when the dump or another input was wrong.
)";

}  // namespace heddle::tools
