// heddle-ptx FILE.ptx -o FILE.cpp: makes the C++ of a file of PTX that the simulator runs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "table.h"
#include "translate.h"

namespace {

constexpr int wrong_usage = 2;
constexpr const char* usage =
    "usage: heddle-ptx FILE.ptx -o FILE.cpp [--scenario NAME]\n"
    "       heddle-ptx --count FILE.ptx...\n"
    "       heddle-ptx --table\n\n"
    "Makes C++ of a file of PTX (ISA 6.0 to 9.x), which is compiled without instrumentation and linked with "
    "heddle::ptx.\n"
    "heddle_simulate_ptx() of heddle's CMake package does all of it.\n\n"
    "  -o FILE.cpp      what is written; - is standard output\n"
    "  --scenario NAME  the host's main(), renamed to heddle_ptx_main_NAME, becomes this scenario\n"
    "  --count          the instructions of the files, each form with how often it stands there; status 1 where one is "
    "not "
    "simulated\n"
    "  --table          the instructions that are simulated, as a table for people\n";

std::optional<std::string> content_of(const std::string& input) {
  std::ifstream file(input, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (file) return text.str();
  std::fprintf(stderr, "heddle-ptx: cannot read %s: %s\n", input.c_str(), std::strerror(errno));
  return std::nullopt;
}

/// The forms of instructions, by their text, of functions that have a body.
struct form_count {
  uint64_t times = 0;
  std::string wrong;  ///< why it is not simulated
};

bool add_forms(const std::string& name, const std::string& text, std::map<std::string, form_count>& forms) {
  const heddle::ptx::parsed found = heddle::ptx::parse(text);
  if (found.wrong) {
    std::fprintf(stderr, "%s:%zu: %s\n", name.c_str(), found.wrong->line, found.wrong->message.c_str());
    return false;
  }
  for (const heddle::ptx::function& one : found.made.functions)
    for (const heddle::ptx::statement& each : one.body) {
      if (each.is != heddle::ptx::statement::kind::instruction) continue;
      form_count& form = forms[heddle::ptx::opcode_of(each.what)];
      ++form.times;
      if (form.wrong.empty()) form.wrong = heddle::ptx::match(each.what).wrong;
    }
  return true;
}

int count(const std::vector<std::string>& inputs) {
  std::map<std::string, form_count> forms;
  for (const std::string& input : inputs) {
    const std::optional<std::string> text = content_of(input);
    if (!text) return wrong_usage;
    if (!add_forms(input, *text, forms)) return 1;
  }
  uint64_t all = 0, missing = 0, missing_forms = 0;
  for (const auto& [opcode, form] : forms) {
    all += form.times;
    missing += form.wrong.empty() ? 0 : form.times;
    missing_forms += form.wrong.empty() ? 0 : 1;
    std::printf("%9llu  %s%s%s\n", static_cast<unsigned long long>(form.times), opcode.c_str(),
                form.wrong.empty() ? "" : "  not simulated: ", form.wrong.c_str());
  }
  std::printf("%llu instructions of %zu forms in %zu files; not simulated: %llu of %llu forms\n",
              static_cast<unsigned long long>(all), forms.size(), inputs.size(),
              static_cast<unsigned long long>(missing), static_cast<unsigned long long>(missing_forms));
  return missing == 0 ? 0 : 1;
}

int run(const std::string& input, const std::string& output, const std::string& scenario) {
  const std::optional<std::string> text = content_of(input);
  if (!text) return wrong_usage;
  const heddle::ptx::translation made = heddle::ptx::translate(*text, {input, scenario});
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
    if (word == "--count" && n == 1 && has_next) return count({arguments + 2, arguments + argument_count});
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
