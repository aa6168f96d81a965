#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/mpi/main.h>
#include <heddle/tools/mpi/ranks.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace heddle {
namespace {

/// The exit status; `lost_any` is set when a rank was lost.
int lead(const tools::invocation& asked, bool& lost_any) {
  // Also when no campaign comes about, the other ranks must hear that it is over.
  struct leader_of_call final : tools::campaign_crew {
    tools::rank_leader& real;
    explicit leader_of_call(tools::rank_leader& leader) : real(leader) {}
    uint32_t size() const override { return real.size(); }
    void work_on(tools::scenario_campaign& campaign) override { real.work_on(campaign); }
  };
  std::unique_ptr<tools::rank_leader> leader;
  int status = tools::cannot_go_on;
  try {
    if (asked.command != "fuzz") {
      status = tools::run_command(asked);
    } else if (asked.jobs != 1) {
      status = tools::fail(tools::wrong_input, "--jobs has no meaning beside ranks: start one rank for each core");
    } else {
      status = tools::fuzz_with(asked, [&](const tools::invocation&, const std::string& strategy) {
        leader = std::make_unique<tools::rank_leader>(strategy);
        return std::make_unique<leader_of_call>(*leader);
      });
    }
  } catch (const std::bad_alloc&) {
    status = tools::fail(tools::cannot_go_on, "out of memory");
  } catch (const std::exception& error) {
    status = tools::fail(tools::cannot_go_on, error.what());
  }
  if (leader == nullptr) leader = std::make_unique<tools::rank_leader>("random");
  lost_any = leader->lost_any();
  status = tools::finish_output(status);
  return status == tools::interrupted ? tools::interrupt_status() : status;
}

}  // namespace

int mpi_main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  // A rank that dies need not be the end of the others.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  tools::tell_how_to_list(tools::shell_word(argument_count > 0 ? arguments[0] : "heddle") + " list");
  const tools::invocation_or_error read = tools::parse_command_line(argument_count, arguments);
  tools::care_of_runs() = {.in_process = read.value.in_process,
                           .stuck_seconds = read.value.stuck_seconds,
                           .shows_output = tools::shows_output(read.value)};
  const tools::json_alone output(read.value.json);  // of every rank: what all print comes out together
  int status = tools::as_expected;
  bool lost_any = false;
  if (!read.error.empty()) {
    if (rank == 0) status = tools::fail(tools::wrong_input, read.error);
  } else if (rank == 0) {
    status = lead(read.value, lost_any);
  } else {
    tools::catch_interrupt();
    tools::follow_leader();
  }
  // MPI_Finalize would wait for the ranks that were lost.
  if (lost_any) {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
  }
  MPI_Finalize();
  return status;
}

}  // namespace heddle
