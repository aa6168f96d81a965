#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>

namespace heddle::sim {

std::vector<parameter> machine_parameters() {
  std::vector<parameter> all = {
      parameter::one_of("fidelity", "scoped", {"interleaving", "link", "scoped"},
                        "how memory behaves: scoped and weak, late across the link alone, or every access at once"),
      parameter::one_of("convergence", "independent", {"independent"},
                        "what the lanes of a wave do to each other: independent = each is scheduled on its own"),
      parameter::one_of("progress", "fair", progress_model_names(),
                        "which waves are guaranteed a turn: all, none, the lowest, or those that have stepped"),
      parameter::number("resident", 65536, 1, 1 << 20, "waves", "how many waves the device holds at a time"),
      parameter::one_of(
          "points", "all", {"all", "atomics"},
          "where another lane may come in between: at every access to shared memory, or not at plain ones"),
      parameter::number("wakes", 1, 0, 1000, "", "how often a wait may end although nothing changed"),
      parameter::number("budget", 1000000, 100, int64_t{1} << 40, "steps",
                        "steps before only guaranteed waves run; as many again and the run is inconclusive"),
      parameter::number("stack_kib", 16, 8, 1024, "KiB", "stack of a lane"),
      parameter::number("host_stack_kib", 256, 64, 8192, "KiB", "stack of a host thread"),
      parameter::one_of("races", "end", {"end", "count"},
                        "what a race does (fidelity scoped): end the run with a verdict, or only count"),
      parameter::number("late", 4, 0, 1000, "",
                        "how many loads in a row of one lane may see older values (fidelity scoped and link)"),
  };
  for (parameter& each : doorbell_parameters()) all.push_back(std::move(each));
  for (parameter& each : link_parameters()) all.push_back(std::move(each));
  return all;
}

settings settings::from(const parameters& values) {
  settings read;
  const std::string name = values.text("fidelity");
  read.fidelity = name == "scoped" ? fidelity::scoped : name == "link" ? fidelity::link : fidelity::interleaving;
  read.races_end = values.text("races") == "end";
  read.late = values.count("late");
  read.link = link_settings::from(values);
  read.doorbells = doorbell_settings::from(values);
  read.progress = parse_progress_model(values.text("progress"));
  read.resident = values.count("resident");
  read.budget = static_cast<uint64_t>(values.number("budget"));
  read.wakes = values.count("wakes");
  read.plain_points = values.text("points") == "all";
  read.stack_bytes = static_cast<size_t>(values.number("stack_kib")) * 1024;
  read.host_stack_bytes = static_cast<size_t>(values.number("host_stack_kib")) * 1024;
  return read;
}

}  // namespace heddle::sim
