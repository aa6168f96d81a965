// heddle-ptx FILE.ptx -o FILE.cpp: makes the C++ of a file of PTX that the simulator runs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "fat_binary.h"
#include "host_code.h"
#include "table.h"
#include "translate.h"

namespace {

constexpr int wrong_usage = 2;
constexpr const char* usage =
    "usage: heddle-ptx FILE.ptx -o FILE.cpp [--scenario NAME] [--module]\n"
    "       heddle-ptx --extract FILE -o FILE.ptx\n"
    "       heddle-ptx --main NAME -o FILE.cpp\n"
    "       heddle-ptx --count FILE.ptx...\n"
    "       heddle-ptx --table\n\n"
    "Makes C++ of a file of PTX (ISA 6.0 to 9.x), which is compiled without instrumentation and linked with "
    "heddle::ptx.\n"
    "heddle_simulate_ptx() of heddle's CMake package does all of it.\n\n"
    "  -o FILE.cpp      what is written; - is standard output\n"
    "  --scenario NAME  the host's main(), renamed to heddle_ptx_main_NAME, becomes this scenario\n"
    "  --main NAME      no more than that, for a program without PTX\n"
    "  --module         the program loads this file by itself (cuModuleLoad, cuModuleLoadData)\n"
    "  --extract        the PTX that an object, a program or a fat binary of nvcc has, compressed or not\n"
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

/// The one text of PTX in a file; says what is wrong where there is none, or more.
std::optional<std::string> ptx_of(const std::string& input, bool may_be_text = true) {
  std::optional<std::string> content = content_of(input);
  if (!content) return content;
  if (!heddle::ptx::is_binary(*content)) {
    if (may_be_text) return content;
    std::fprintf(stderr, "%s: it is no object, no program and no fat binary\n", input.c_str());
    return std::nullopt;
  }
  try {
    std::vector<std::string> texts = heddle::ptx::ptx_in(*content);
    if (texts.size() == 1) {
      const std::string name = heddle::ptx::linked_name_in(*content);
      return name.empty() ? std::move(texts.front()) : texts.front().append(heddle::ptx::linked_as).append(name + "\n");
    }
    std::fprintf(stderr, "%s: it has %zu fat binaries: give the objects one by one\n", input.c_str(), texts.size());
  } catch (const heddle::ptx::error& wrong) {
    std::fprintf(stderr, "%s: %s\n", input.c_str(), wrong.message.c_str());
  }
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
    const std::optional<std::string> text = ptx_of(input);
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

int write(const std::string& text, const std::string& output) {
  if (output == "-") return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
  std::ofstream out(output, std::ios::binary);
  out << text;
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "heddle-ptx: cannot write %s: %s\n", output.c_str(), std::strerror(errno));
  return wrong_usage;
}

struct asked {
  std::string input, output, scenario, only_main;
  bool extracts = false;
  bool is_module = false;
};

int run(const asked& what) {
  const std::optional<std::string> text = ptx_of(what.input, !what.extracts);
  if (!text) return wrong_usage;
  if (what.extracts) return write(*text, what.output);
  heddle::ptx::translation_options how{.file = what.input, .scenario = what.scenario};
  const std::optional<std::string> image = what.is_module ? content_of(what.input) : std::nullopt;
  if (image) how.image = *image;
  const heddle::ptx::translation made = heddle::ptx::translate(*text, how);
  for (const std::string& error : made.errors) std::fprintf(stderr, "%s\n", error.c_str());
  return made.errors.empty() ? write(made.text, what.output) : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  asked what;
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
    if (word == "--extract") {
      what.extracts = true;
    } else if (word == "--module") {
      what.is_module = true;
    } else if (word == "-o" && has_next) {
      what.output = arguments[++n];
    } else if (word == "--main" && has_next) {
      what.only_main = arguments[++n];
    } else if (word == "--scenario" && has_next) {
      what.scenario = arguments[++n];
    } else if (what.input.empty() && !word.starts_with('-')) {
      what.input = word;
    } else {
      std::fprintf(stderr, "heddle-ptx: \"%s\" is not understood; heddle-ptx --help says what is\n", word.c_str());
      return wrong_usage;
    }
  }
  if (what.input.empty() == what.only_main.empty() || what.output.empty()) {
    std::fputs(usage, stderr);
    return wrong_usage;
  }
  if (!what.only_main.empty()) return write(heddle::ptx::scenario_of_main(what.only_main), what.output);
  return run(what);
}
