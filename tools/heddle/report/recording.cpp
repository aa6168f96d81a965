#include <heddle/tools/report/recording.h>
#include <heddle/tools/trial/explain.h>

#include <filesystem>
#include <fstream>

namespace heddle::tools {

recording record_again(const scheduler::trace& recorded, const scenario& tested, const parameters& settings) {
  sim::simulation machine;
  recording made;
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return explain ? explained_run(machine, tested, settings, choices, nullptr, &made.record)
                   : run_scenario(machine, tested, settings, choices, false);
  };
  made.again = scheduler::run_again(recorded, run, true);
  return made;
}

std::optional<std::string> write_page(const reported_run& run, const std::string& file) {
  std::ofstream to(file, std::ios::binary);
  const bool opened = to.is_open();
  to << page_of(run);
  to.close();
  if (to) return std::nullopt;
  // What is cut off is no page; devices stay.
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(file, ignored)) std::filesystem::remove(file, ignored);
  return "cannot write " + file;
}

}  // namespace heddle::tools
