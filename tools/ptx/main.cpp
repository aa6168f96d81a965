// heddle-ptx FILE.ptx -o FILE.cpp: makes the C++ of a file of PTX that the simulator runs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "table.h"
#include "translate.h"

namespace {

constexpr int wrong_usage = 2;
constexpr const char* usage =
    "usage: heddle-ptx FILE.ptx -o FILE.cpp [--scenario NAME]\n"
    "       heddle-ptx --table\n\n"
    "Makes C++ of a file of PTX (ISA 6.0 to 9.x), which is compiled without instrumentation and linked with "
    "heddle::ptx.\n"
    "heddle_simulate_ptx() of heddle's CMake package does all of it.\n\n"
    "  -o FILE.cpp      what is written; - is standard output\n"
    "  --scenario NAME  the host's main(), renamed to heddle_ptx_main_NAME, becomes this scenario\n"
    "  --table          the instructions that are simulated, as a table for people\n";

int run(const std::string& input, const std::string& output, const std::string& scenario) {
  std::ifstream file(input, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "heddle-ptx: cannot read %s: %s\n", input.c_str(), std::strerror(errno));
    return wrong_usage;
  }
  const heddle::ptx::translation made = heddle::ptx::translate(text.str(), {input, scenario});
  for (const std::string& error : made.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!made.errors.empty()) return 1;
  if (output == "-") return std::fwrite(made.text.data(), 1, made.text.size(), stdout) == made.text.size() ? 0 : 1;
  std::ofstream out(output, std::ios::binary);
  out << made.text;
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "heddle-ptx: cannot write %s: %s\n", output.c_str(), std::strerror(errno));
  return wrong_usage;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::string input, output, scenario;
  for (int n = 1; n < argument_count; ++n) {
    const std::string word = arguments[n];
    const bool has_next = n + 1 < argument_count;
    if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      return 0;
    }
    if (word == "--table") {
      std::fputs(heddle::ptx::table_as_markdown().c_str(), stdout);
      return 0;
    }
    if (word == "-o" && has_next) {
      output = arguments[++n];
    } else if (word == "--scenario" && has_next) {
      scenario = arguments[++n];
    } else if (input.empty() && !word.starts_with('-')) {
      input = word;
    } else {
      std::fprintf(stderr, "heddle-ptx: \"%s\" is not understood; heddle-ptx --help says what is\n", word.c_str());
      return wrong_usage;
    }
  }
  if (input.empty() || output.empty()) {
    std::fputs(usage, stderr);
    return wrong_usage;
  }
  return run(input, output, scenario);
}
