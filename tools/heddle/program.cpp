#include <heddle/scheduler/own_work.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/tools/program.h>
#include <heddle/tools/registry.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {
namespace {

/// `function`: main(), where a result that says of a failure has its place.
void end_of_main(const void* function, int result) {
  if (result != 0) {
    // Not in a string: that copies as the program does, and what it has copied need not be in memory yet.
    char text[32];
    std::snprintf(text, sizeof text, "main() returned %d", result);
    sim::runtime::trap_at(function, fault::assertion, text);
  }
  sim::runtime::end_program();
}

/// Words between spaces, where quotation marks and backslashes mean what they mean to a shell.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quotes = 0;
  for (size_t n = 0; n < text.size(); ++n) {
    const char letter = text[n];
    if (quotes == 0 && letter == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (letter == quotes) {
      quotes = 0;
    } else if (quotes == 0 && (letter == '\'' || letter == '"')) {
      quotes = letter;
    } else if (letter == '\\' && quotes != '\'' && n + 1 < text.size()) {
      words.back() += text[++n];
    } else {
      words.back() += letter;
    }
  }
  return words;
}

/// As main() gets them. Of heddle's own memory, which stays for ever: the program may keep its arguments, and change them. It stays where it is from
/// run to run, and nothing else is allocated where they are what they were: a search tells states by addresses, and by what calls leave on stacks.
char** arguments_of(const char* name, const parameters& values) {
  const scheduler::own_work aside;
  static thread_local std::string asked;
  static thread_local std::vector<char> fresh;
  static thread_local std::vector<char> given;
  static thread_local std::vector<char*> pointers;
  if (const std::string_view text = values.text("args"); pointers.empty() || text != asked) {
    asked = text;
    fresh.assign(name, name + std::strlen(name) + 1);
    const std::vector<std::string> words = words_of(text);
    for (const std::string& word : words) fresh.insert(fresh.end(), word.c_str(), word.c_str() + word.size() + 1);
    given.resize(fresh.size());
    pointers.resize(words.size() + 2);
  }
  std::copy(fresh.begin(), fresh.end(), given.begin());
  char* next = given.data();
  for (size_t n = 0; n + 1 < pointers.size(); next += std::strlen(next) + 1) pointers[n++] = next;
  pointers.back() = nullptr;
  return pointers.data();
}

}  // namespace

void register_main(const char* name, void (*body)(const parameters&), bool takes_arguments) {
  scenario added;
  added.name = name;
  added.summary = "main() of this program";
  added.body = body;
  // One that takes none may be given some, as by a shell.
  added.parameters.push_back(parameter::words(
      "args", takes_arguments ? "arguments of main(), also given behind --" : "arguments of main(), which takes none"));
  register_scenario(std::move(added));
}

void run_main(int (*main_function)()) { end_of_main(reinterpret_cast<const void*>(main_function), main_function()); }

void run_main(int (*main_function)(int, char**), const char* name, const parameters& values) {
  char** const arguments = arguments_of(name, values);
  int count = 0;
  while (arguments[count] != nullptr) ++count;
  optind = 1;  // where getopt() begins
  end_of_main(reinterpret_cast<const void*>(main_function), main_function(count, arguments));
}

}  // namespace heddle::tools
