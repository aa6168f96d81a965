#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/help_page.h>
#include <heddle/tools/cli/help_texts.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/cli/version.h>

#include <iostream>
#include <string>

namespace heddle::tools {
namespace {

constexpr std::string_view overview = R"(heddle finds schedules under which GPU and host hang or break a protocol.

  heddle list                    scenarios, with their parameters and expected
                                 verdicts
  heddle fuzz [SCENARIO...]      run scenarios under many schedules
  heddle run [SCENARIO]          one schedule, recorded whatever comes of it
  heddle replay FILE|TOKEN...    run recorded schedules again
  heddle shrink FILE|TOKEN       make a failing schedule as small as can be
  heddle report FILE|TOKEN...    recorded schedules as pages for a browser
  heddle mend FILE|TOKEN         which change of orders, scopes, fences and
                                 barriers ends a finding
  heddle slack [SCENARIO]        which orders and scopes are stronger than need
                                 be
  heddle verify SCENARIO...      go through all schedules of a small
                                 configuration
  heddle zoo [ENTRY...]          find, replay and shrink every planted bug
  heddle import DUMP.json        look for a hang of a real machine in the model
  heddle litmus [FILE...]        run litmus tests of the memory model; judge
                                 tables of progress
  heddle progress [PROGRAM...]   which progress models a program needs, judged
                                 exactly; without one, a table for remote calls
  heddle build COMMAND...        runs what builds a program: each program that
                                 comes out has these commands
  heddle c++ ARGS...             in the place of a compiler for C++
  heddle cc ARGS...              in the place of a compiler for C
  heddle hipcc ARGS...           in the place of hipcc
  heddle cuda ARGS...            in the place of nvcc, which it does not need
  heddle nvcc ARGS...            in the place of nvcc, whose PTX then runs
  heddle completion SHELL        what a shell reads to complete commands and
                                 options
  heddle help [COMMAND]          more about a command
  heddle --version

With --json, standard output is JSON and nothing else: what the code under test
prints goes to standard error.

Exit status
  0    every scenario gave its expected verdict
  1    one did not, or replay reproduced a violation
  2    the input was wrong; one line on stderr says what and how to mend it
  3    heddle could not go on (disk full, out of memory); what was found is kept
  130  stopped by Ctrl-C or SIGXCPU; what was found is printed
  143  the same by SIGTERM
  129  the same by SIGHUP (the terminal is gone), but not under nohup

Environment
  NO_COLOR         when not empty: no colours, which are for terminals only
  HEDDLE_FINDINGS  where fuzz and programs with HEDDLE_TEST write what they find
  HEDDLE_AS        how a program runs that is called with no command of these, as
                   its tests call it: a command and its options, to which what
                   stands there is added behind "--" (HEDDLE_AS="fuzz -n 100"
                   ctest), or "itself": one schedule, and nothing is told
  HEDDLE_STUCK, HEDDLE_IN_PROCESS
                   for such programs: as --stuck and --in-process
)";

constexpr std::string_view shrink_help = R"(heddle shrink FILE|TOKEN [-o FILE] [--runs N] [--time T] [--json]

Looks for a smaller run that fails in the same way: with the same verdict at the
same place, and, where it hangs, with the same actors waiting. First the numbers
among the scenario's own parameters are reduced, such as waves, lanes and calls;
the settings of the machine stay as they are. Then parts of the schedule are
left out and moved: fewer steps, fewer context switches, fewer stale reads and
late arrivals. The result has never more steps or more context switches than the
trace, and is a trace like others: heddle replay repeats it.

  -o, --out FILE    where it is written (default: NAME-shrunk.heddle.json beside
                    NAME.heddle.json; of a token, here as
                    SCENARIO-VERDICT-shrunk.heddle.json)
  --runs N          at most so many runs (default 20000); one of more than 5000
                    steps counts as several. The same trace and the same N give
                    the same file
  --time T          no longer than this: 30, 45s, 5m, 2h; what comes out then
                    depends on the speed of the machine
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in copies of it
  --json            for programs

Ctrl-C ends the search; the smallest run so far is written.

Exit status: 0 when the trace was written, also where nothing smaller was found;
2 when the input was wrong or the run was not the recorded one, 3 when it could
not be written, 130 when stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
)";

constexpr std::string_view report_help = R"(heddle report FILE|TOKEN... [-o FILE.html] [--perfetto FILE.json]

Runs each recorded schedule again and writes it as a page of HTML, which needs
nothing else: what happened, in words; what waits for what; every step, wave by
wave, with what it waited for, which store it read and the line of source; the
states of ports, slots and shared words; the settings. Of a run of more than
200,000 steps it shows the last ones.

  -o, --out FILE    where the page is written; by default NAME.html beside
                    NAME.heddle.json, for a token SCENARIO-VERDICT.html here
                    (this and --perfetto of one schedule alone)
  --perfetto FILE   also writes the run as a trace in JSON for
                    https://ui.perfetto.dev
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in copies of it
)";

constexpr std::string_view verify_help = R"(heddle verify [SCENARIO...] [--set KEY=VALUE]... [OPTIONS]
heddle verify --all [SCENARIO...] [OPTIONS]
heddle verify --resume FILE [OPTIONS]

Goes through every run of a scenario: every schedule, every value that a load
may see, every fault that is switched on. It ends with one of

  proved        no run ends badly, for ever waits or goes round in vain, in the
                progress model and with the settings that were given
  a violation   with the trace of a run, as heddle fuzz gives it
  incomplete    a bound was hit or something cannot be gone through; says which

A program with one scenario, as with main(), needs no name. Small configurations
end in seconds: start with waves=1, and raise one number at a time.
docs/verify.md says what is explored, and what a proof rests on.

With --all, what the scenarios claim: each small configuration that one names
(scenario::proofs) under every progress model; proved where it must end, a hang
found where the model is too weak. A proof under one model is one under each
that promises more, which is not searched again.

  --set KEY=VALUE   a setting; may be repeated. KEY=VALUE beside the names is
                    the same
  --assume SITE=CHANGE
                    as if the program were changed there: see heddle help
                    replay; may be repeated
  --excuse FILE     as heddle fuzz has it; of a proof, variables alone
  --all             what the scenarios claim, see above
  --time T          no longer than 30, 45s, 5m, 2h for one search
  --states N        no more states than these
  --memory M        MiB that the search may keep (default 8192)
  -j, --jobs J      so many processes at a time (default 1); 0: one for each
                    core. The result is the same
  --save FILE       where a search of one scenario that a bound, Ctrl-C,
                    SIGTERM or SIGHUP has cut is written
  --resume FILE     go on with that search: its scenario and settings are in
                    the file, and bounds are those of this command
  --stateless       a state that was met before is gone through again: for
                    comparison
  --unreduced       without any reduction: for comparison, and very small
                    programs
  -o, --out FILE    where the trace of a violation is written
  --stuck T         a run ends as "stuck" after so long without a scheduling
                    point (default 10 s); 0: never
  --in-process      run in this process, for debuggers, and not in copies of it
  --json            for programs
)";

constexpr std::string_view litmus_help = R"(heddle litmus [FILE.csv...] [OPTIONS]

Runs litmus tests on the simulated machine: small programs, each with an outcome
that its memory model allows or forbids. Without a FILE, the tables that ship
are run: ptx.csv and rpc.csv (fidelity scoped), pcie.csv (fidelity link, each
configuration of the link).

A table with verdicts of progress models (columns WEAK_FAIR, HSA, OBE_STRONG,
...) is not run: each program is judged exactly, on the graph of all its states,
and compared with the table. heddle help progress has the grammar of programs.

  --row REGEX       only tests whose name, such as "ptx/MP+rlx.gpu+cta" or
                    "pcie/SB.fences [pool+drain]", has a match
  -n, --schedules N
                    schedules per test (default 20000); where an outcome must be
                    seen, ten times as many before it counts as missed
  --exact           all runs there are in place of a sample: a forbidden outcome
                    that is not seen cannot be; see heddle help verify
  --time T          with --exact: no longer than that for one test (30, 45s, 5m,
                    2h)
  --all             all of them, also when an allowed outcome has been seen
  --seed S          schedule i of a test has seed S+i (default 1)
  -j, --jobs J      OS threads (default: one per core)
  --strategy X      what decides (default random); see heddle help fuzz
  --set KEY=VALUE   a setting of the machine for all tests; wins over theirs,
                    and must have an effect on each
  --json            results for programs
  -q, --quiet       no line for a test that went as expected

One line per test: what came of it, what was expected, in how many schedules the
outcome was seen. UNSOUND: a forbidden outcome was seen. MISSED: an outcome that
must be seen was not, or a protocol's bug was caught neither by its outcome nor
as a race. Allowed outcomes that need load buffering or a host weaker than x86
are not modelled, and need not be seen; neither need those that only a store's
place in its location's order shows ("coherence"). WRONG: a program of a table
of progress has another verdict here; the line below it gives the reason.

Exit status: 0 when the machine is sound and complete and the verdicts on
progress are those of the tables, 1 when not.
)";

constexpr std::string_view progress_help = R"(heddle progress [SHAPE|PROGRAM...] [--json]
heddle progress --simulate [SHAPE|PROGRAM|FILE.csv...] [OPTIONS]

Says under which progress models a program must end, whatever the scheduler
does. The verdicts are exact: they come from the graph of all states. Without an
argument, a table of what waves do around a remote call; with the name of one of
its shapes, or a program of your own, also the reason where it may hang.

With --simulate they are also played on the simulated machine, each under each
model: a hang must be found where a program may hang (F, weak), and none where
it must end. FILE.csv is a table of programs with their verdicts; heddle litmus
judges it.

  --json            for programs
  --simulate        play
  -n, --schedules N
                    schedules for each program and model (default 1000)
  --seed S          schedule i has seed S+i (default 1)
  --strategy X      what decides (default rhythm); see heddle help fuzz
  --details         a line for each program and model

  PROGRAM  threads, separated by blanks: T0{...} T1{...} are waves of the
           device, H0{...} host threads, S0{...} servers: host threads that need
           not end
  {...}    steps, numbered from 0: 0:if ld m0==0 goto 0; 1:st m1=1
  step     st LOC=V, xchg(LOC,V), if ld LOC==V goto N, if xchg(LOC,V)==V goto N:
           the branch is taken when the old value is V; END ends the thread
  LOC, V   a lower-case word; 0 to 255. Memory is 0 at first

P: every execution ends. F: one may not. First under weak fairness (no thread
that is guaranteed a turn is starved), then under strong (also, what it can do
again and again is done). Host threads and servers are always guaranteed a turn.

Exit status: 0, or 2 when the input was wrong. With --simulate 1 when a program
that must end hung, or when under some model more than 1 of 100 hangs was
missed.
)";

constexpr std::string_view nvcc_help = R"(heddle nvcc ARGS...

Stands in the place of nvcc in a build: make NVCC="heddle nvcc". It takes what
nvcc takes. nvcc compiles as always; the host code is instrumented, and the PTX
becomes C++, so that an object has both. What it links is a program with the
commands of heddle, whose main() is a scenario with the name of its source. No
library of CUDA is linked, and no GPU is needed: docs/ptx.md. Where there is no
nvcc: heddle help cuda.

  FILE.ptx, FILE.fatbin   among what is linked: the program loads it by itself
                          (cuModuleLoad, cuModuleLoadData)

Devices, the runtime and how much is optimized (-arch, -gencode, -cudart, -O)
are heddle's choice. -ptx, -fatbin, -M and the like are nvcc's own. Device code
in several files (-rdc=true, -dc) is linked with the program. -shared makes an
archive of that name: the program that links it has its objects.

Environment: NVCC   nvcc itself, where it was not found when heddle was built
)";

constexpr std::string_view cuda_help = R"(heddle cuda ARGS...

Stands in the place of nvcc in a build, and needs no nvcc: make
NVCC="heddle cuda". It takes what nvcc takes. The C++ compiler compiles what
nvcc would, as C++20, with heddle's own headers of CUDA: docs/existing-code.md
says what is there. Other sources are the host's, as by heddle c++ and
heddle cc. What it links is a program with the commands of heddle, whose main()
is a scenario with the name of its source.

-shared makes an archive of that name: the program that links it has its
objects. -ptx, -cubin, -fatbin and -E are left to nvcc, where there is one.
)";

constexpr std::string_view hipcc_help = R"(heddle hipcc ARGS...

Stands in the place of hipcc in a build, and needs no ROCm: make
HIPCC="heddle hipcc". It takes what hipcc takes. The C++ compiler compiles each
source of C++ as HIP, as C++20, with heddle's own headers: docs/existing-code.md
says what is there. What it links is a program with the commands of heddle,
whose main() is a scenario with the name of its source.

A wave has 64 lanes; 32 where --offload-arch names gfx10 or later. -shared makes
an archive of that name: the program that links it has its objects. -E, -S and
--version are hipcc's own.
)";

constexpr std::string_view cxx_help = R"(heddle c++ ARGS...

Stands in the place of a C++ compiler in a build: make CXX="heddle c++". What it
links is a program with the commands of heddle: each main() is a scenario with
the name of its source, its threads are host threads of the simulation, and so
is each HEDDLE_SCENARIO. Sources that end in .cu and .hip are CUDA and HIP.

  heddle c++ -g queue.cpp -o queue && ./queue fuzz

The options are those of the compiler that heddle was built with. Sanitizers,
-static, -flto and profiles are left out. -O2 where no -O is given. -shared
makes an archive of that name: the program that links it has its objects. -E,
-S and --version are the compiler's own. It builds projects of CMake's too:
CC="heddle cc" CXX="heddle c++" cmake -B build.
)";

constexpr std::string_view cc_help = R"(heddle cc ARGS...

As heddle c++, and a source that ends in .c is C: make CC="heddle cc".
)";

constexpr std::string_view build_help = R"(heddle build COMMAND...

Runs the command, such as make, cmake or a script. What it calls g++, gcc, c++,
cc, clang++, clang, hipcc and nvcc are heddle c++, heddle cc, heddle hipcc and
heddle nvcc (heddle cuda where there is no nvcc). So each program that is linked
has the commands of heddle, and its main() is a scenario:

  heddle build make -j4 && ./program fuzz
  heddle build cmake -B build && cmake --build build

A project of CMake's may enable the languages CUDA and HIP and look for CUDA's
toolkit and for hip; Makefiles find heddle's folder in CUDA_PATH, CUDA_HOME,
ROCM_PATH, HIP_PATH, HIPCXX and CUDACXX. Where there is nvcc, its folder stays
that of CUDA. A program that the build itself runs, as one that writes a source,
runs as itself (HEDDLE_AS=itself).

Take a clean tree: objects that are there were compiled otherwise. A compiler
that is called by its whole path stays itself. The exit status is the command's.

Environment: HEDDLE_CUDA   cuda: CUDA by heddle cuda, also where there is nvcc
)";

constexpr std::string_view completion_help = R"(heddle completion bash|zsh|fish

Prints what a shell reads to complete commands, options, scenarios and settings
of this program. The shell asks the program itself, so that nothing can be out
of date.

  bash   source <(heddle completion bash)
  zsh    source <(heddle completion zsh)
  fish   heddle completion fish | source
)";

constexpr std::string_view help_help = R"(heddle help [COMMAND] [--man]

Explains a command, or lists them all.

  --man     all of it as a manual page, for man -l -
)";

struct topic {
  std::string_view name;
  std::string_view text;
};

const topic topics[] = {{"", overview},          {"list", list_help},         {"fuzz", fuzz_help},
                        {"run", run_help},       {"replay", replay_help},     {"shrink", shrink_help},
                        {"report", report_help}, {"mend", mend_help},         {"slack", slack_help},
                        {"zoo", zoo_help},       {"import", import_help},     {"verify", verify_help},
                        {"litmus", litmus_help}, {"progress", progress_help}, {"nvcc", nvcc_help},
                        {"cuda", cuda_help},     {"hipcc", hipcc_help},       {"c++", cxx_help},
                        {"cc", cc_help},         {"build", build_help},       {"completion", completion_help},
                        {"help", help_help}};

}  // namespace

std::string help_text(std::string_view name) {
  constexpr size_t width = 74;
  for (const topic& each : topics) {
    if (each.name != name) continue;
    std::string text(each.text);
    if (name != "fuzz") return text;
    for (const scheduler::strategy_help& strategy : scheduler::strategies())
      text += "  " + std::string(strategy.name) + '\n' + indented(wrapped(strategy.help, width), 6);
    return text;
  }
  return {};
}

int help(const invocation& asked) {
  const std::string text = asked.man_page ? man_page(version()) : help_text(asked.topic);
  if (text.empty()) return fail(wrong_input, unknown("command", asked.topic, command_names()));
  std::cout << text;
  return as_expected;
}

}  // namespace heddle::tools
