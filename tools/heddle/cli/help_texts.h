// What `heddle help` says of the commands that are used most.
#pragma once

#include <string_view>

namespace heddle::tools {

inline constexpr std::string_view list_help = R"(heddle list [SCENARIO...] [--settings] [--json]

Lists the scenarios of this program: name, expected verdict, one line, and the
parameters with their defaults. A SCENARIO is a name or a shell pattern; without
any, all are listed, and the settings of the machine, which every scenario has,
come last.

  --settings  the settings of the machine alone, by groups
  --json      keys, types, ranges, defaults and units, for programs
)";

inline constexpr std::string_view fuzz_help = R"(heddle fuzz [SCENARIO...] [OPTIONS]
heddle fuzz [SCENARIO...] [OPTIONS] -- ARGUMENTS OF main()
heddle fuzz --resume DIR [--jobs J] [--shard I/N] [--stuck T] [--json]
                  [--junit FILE] [--prove-if-small]

Runs each scenario under many schedules and shows what was found. A SCENARIO is
a name or a shell pattern ("port.*"); without any, all are run.

  -n, --schedules N
                    schedules per scenario (default 1000)
  --time T          instead of a number: 30, 45s, 5m, 2h for all together
  --seed S          schedule i of a scenario has seed S+i (default 1);
                    --seed K --schedules 1 repeats the schedule of seed K
  --strategy X      what decides (default mix), see below
  --set KEY=VALUE   a setting; may be repeated. KEY=VALUE beside the names is
                    the same. Every chosen scenario must know the key;
                    heddle list shows them. One that would have no effect beside
                    the others, as link.wc=on without fidelity=link, is refused
  --assume SITE=CHANGE
                    run as if the program were changed there: see heddle help
                    replay; may be repeated
  --excuse FILE     races that are left alone: lines "place FILE:LINE" and
                    "variable NAME", or a source that says so; see
                    docs/memory.md
  -- WORD...        what main(argc, argv) gets, in programs that have one; the
                    same as --set args="WORD..."
  -j, --jobs J      so many processes at a time (default 1); 0: one for each
                    core. What is found does not depend on J, unless code under
                    test keeps something in statics: that needs 1
  --shard I/N       only part I of N parts of the seeds, for as many processes
                    or machines. With --time the parts begin 2^40 seeds apart
  -k, --containing WORD
                    of these scenarios only those with WORD in their name
  -o, --out DIR     write each finding's trace to
                    DIR/SCENARIO-VERDICT-SEED.heddle.json before going on, and
                    what has been run to DIR/campaign.jsonl. There an earlier
                    campaign is set aside, never overwritten. Without it traces
                    are written to heddle-findings, or to where HEDDLE_FINDINGS
                    says, but not with --json
  --stop-at-first   end the campaign behind the first finding that was not
                    expected
  --resume DIR      go on with the campaign of DIR, which was ended at any
                    moment, with what it was asked for; a shard names itself by
                    --shard
  --behaviours      count in how many different ways the program has run, and
                    say how likely one more schedule shows another one
  --prove-if-small  where the schedules found nothing, go through all runs, as
                    verify does, for at most 10 s a scenario: a proof, or what
                    the schedules have missed
  --show-output     show what the code under test prints, of every schedule; a
                    finding says what was printed last in any case
  --stuck T         a schedule is "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers: what ends it is the end
  -q, --quiet       tell only of what is WRONG
  -v, --verbose     tell of expected findings in full, too
  --tokens          tell the token of each finding: its trace in one line
  --json            results for programs
  --junit FILE      results for services that build and test, a case a scenario

Schedules run in copies of this process. One that would end it (a signal, abort,
_exit, a damaged C++ heap, an overflowing stack) is a finding, "crash", and the
campaign goes on behind it. After three schedules that stood still until --stuck
ended them no more of that scenario are run.

Findings are grouped by verdict, place and message; the first of each is run
again to explain it. Those that were not expected are told in full behind all
rows; an expected one is a line, or, of more than 20 scenarios, its row. Of a
single scenario the first is told in full. The verdict of a scenario is the
expected one if nothing else was found, otherwise the first that was not
expected. A planted bug that is not found is as wrong as a violation where there
should be none. "budget" means that the step budget ran out without proof: no
bug, and not ok either. Ctrl-C, SIGTERM and SIGHUP end the schedules that are
under way, within a second, and print what there is; a second one ends at once.

Strategies
)";

inline constexpr std::string_view replay_help =
    R"(heddle replay FILE|TOKEN... [--try] [--assume SITE=CHANGE]... [--trace]
              [--dot FILE] [--repeat N] [--gdb] [--break PLACE]... [--json]

Runs recorded schedules again, by the recorded answers; "-" reads the file or
token from standard input. Of several, --json is refused. A trace of another
build is taken where every choice agrees and it ends in the same way; where not,
--try follows it as far as it fits.

  --try         go on where a choice is not the recorded one, and say at which
                step that was, and whether the same was found in the end
  --trace       print each step; repeated steps are folded
  --dot FILE    write what waits for what as a graph, for Graphviz (dot -Tsvg);
                cycles are red
  --repeat N    run it N times and compare the digests
  --assume SITE=CHANGE
                follow it, as --try does, as if the program were changed there;
                may be repeated. A SITE is FILE:LINE, as reports name it, of
                the end of a path; all operations of that line change. A CHANGE
                is an order (relaxed, acquire, release, acq_rel, seq_cst), of
                plain accesses plain.ORDER, by which they become atomic ones, a
                scope (wave, block, cluster, device, system), or what is added
                before: or after: it: fence.ORDER.SCOPE, proxy_fence,
                sync_lanes, sync_same (of the lanes that its last collective
                named) or sync_block; after:broadcast.VARIABLE gives all lanes
                of a collective the VARIABLE of the first; several with +
                between them, as acquire+system
  --gdb         under gdb, which then knows "heddle lanes", a list of all lanes,
                and "heddle lane ID", which shows a lane's own stack
  --break PLACE
                stop there for the debugger, on the stack of the lane that takes
                the step: in step PLACE, a number; in each step at FILE:LINE, or
                that is called from there; or at the "end" of the run, which is
                what --gdb does without a --break; may be repeated
  --stuck T     a run ends as "stuck" after so long without a scheduling point
                (default 10 s); 0: never
  --in-process  run in this process, for debuggers, and not in a copy of it
  --json        for programs; "ok" says whether the recorded run was reproduced

Exit status: 1 when the recorded violation was reproduced, 0 when the recorded
run had verdict ok and was reproduced, 2 when the run was not the recorded one:
the line on stderr says at which choice it left the recording and why. With
--try the same, of the finding; with --assume, 0 when the run ends well. Of
several traces the highest.
)";

}  // namespace heddle::tools
