// heddle-rewrite COMPILER ARGUMENTS...: a compiler launcher, as ccache is one (CMake's property CXX_COMPILER_LAUNCHER).
//
// A compilation with -DHEDDLE_REWRITE="name" runs as three: the preprocessor, the rewriter, and the compiler on what
// that made, which stays beside the object file as OBJECT.ii. Any other is passed on as it is.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "host_instructions.h"
#include "rewrite.h"
#include "sections.h"
#include "thread_locals.h"

namespace {

constexpr std::string_view marker = "-DHEDDLE_REWRITE=";
constexpr int wrong_usage = 2;

std::vector<char*> as_arguments(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void replace_by(std::vector<std::string> words) {
  execvp(words.front().c_str(), as_arguments(words).data());
  std::fprintf(stderr, "heddle-rewrite: cannot run %s: %s\n", words.front().c_str(), std::strerror(errno));
  std::exit(wrong_usage);
}

/// The exit status of the command.
int run(const std::vector<std::string>& words) {
  const pid_t child = fork();
  if (child == 0) replace_by(words);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::fprintf(stderr, "heddle-rewrite: cannot start %s: %s\n", words.front().c_str(), std::strerror(errno));
    return wrong_usage;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int set_apart(const std::string& object) {
  const std::string wrong = heddle::rewrite::set_variables_apart(object);
  if (!wrong.empty()) std::fprintf(stderr, "heddle-rewrite: %s\n", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int set_prebuilt_apart(const std::vector<std::string>& words) {
  const heddle::rewrite::prebuilt made = heddle::rewrite::set_prebuilt_apart(words[1], words[2], words[3]);
  if (!made.wrong.empty()) std::fprintf(stderr, "heddle-rewrite: %s\n", made.wrong.c_str());
  return made.wrong.empty() ? 0 : 1;
}

/// Runs the linker. Archives that heddle has not compiled begin anew with each run, where a program with a main() of its own is linked.
int link_by(std::vector<std::string> words) {
  words.erase(words.begin());
  const auto ends = [](const std::string& word, std::string_view end) { return word.ends_with(end); };
  const bool of_program = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return ends(word, ".o") && heddle::rewrite::is_program(word);
  });
  if (!of_program) replace_by(words);
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  std::string folder = (temporary / "heddle-link.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "heddle-rewrite: cannot make a folder in %s: %s\n", temporary.c_str(), std::strerror(errno));
    return wrong_usage;
  }
  int status = 0;
  for (size_t n = 0; n < words.size() && status == 0; ++n) {
    const std::string name = std::filesystem::path(words[n]).filename().string();
    if (!ends(name, ".a") || name.starts_with("libheddle_")) continue;
    const std::string copy = folder + "/" + std::to_string(n) + ".a";
    const heddle::rewrite::prebuilt made = heddle::rewrite::set_prebuilt_apart(name, words[n], copy);
    if (!made.wrong.empty()) std::fprintf(stderr, "heddle-rewrite: %s\n", made.wrong.c_str());
    if (!made.is_apart) continue;
    status = made.wrong.empty() ? run({"ranlib", copy}) : 1;
    // The program has a main(), and the linker is to find the one of heddle alone.
    if (status == 0) status = run({"objcopy", "--redefine-sym", "main=heddle_other_main", copy});
    words[n] = copy;
  }
  if (status == 0) status = run(words);
  std::filesystem::remove_all(folder, none);
  return status;
}

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (out) return true;
  std::fprintf(stderr, "heddle-rewrite: cannot write %s: %s\n", file.c_str(), std::strerror(errno));
  return false;
}

/// Compiles FROM to OBJECT by the command, which names neither, so that each host thread has its own thread-local variables.
int compile_with_thread_locals(std::vector<std::string> command, const std::string& from, const std::string& object) {
  const std::string made = object + ".s";
  const std::vector<std::string>& options = heddle::rewrite::options_of_thread_locals();
  // What is for the assembler, of the words that the compiler gets.
  std::vector<std::string> assembler = {command.front()};
  for (const std::string& word : command)
    if (word.starts_with("-m") || word.starts_with("-Wa,")) assembler.push_back(word);
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-S", from, "-o", made});
  int status = run(command);
  if (status == 0 && !write(made, heddle::rewrite::ask_for_thread_locals(content_of(made)))) status = wrong_usage;
  assembler.insert(assembler.end(), {"-x", "assembler", "-c", made, "-o", object});
  if (status == 0) status = run(assembler);
  std::remove(made.c_str());
  return status;
}
int compile_preprocessed(std::vector<std::string> command, const std::string& from, const std::string& object) {
  if (heddle::rewrite::has_thread_locals(content_of(from)))
    return compile_with_thread_locals(std::move(command), from, object);
  command.insert(command.end(), {"-c", from, "-o", object});
  return run(command);
}

int compile_host(std::vector<std::string> words) {
  const std::string language = words[1];
  const std::string from = words[2];
  const std::string object = words[3];
  words.erase(words.begin(), words.begin() + 4);
  const heddle::rewrite::host_instructions made =
      heddle::rewrite::see_host_instructions(content_of(from), language == "c");
  for (const std::string& warning : made.unseen) std::fprintf(stderr, "%s\n", warning.c_str());
  const std::string seen = object + (language == "c" ? ".i" : ".ii");
  if (!write(seen, made.text)) return wrong_usage;
  const int status = compile_preprocessed(std::move(words), seen, object);
  std::remove(seen.c_str());
  return status;
}

/// A command line that compiles one file, taken apart.
struct compilation {
  std::vector<std::string> both;          ///< for the preprocessor and the compiler
  std::vector<std::string> preprocessor;  ///< for it alone: what it finds and defines, and what writes the dependencies
  std::string source;
  std::string object;
  std::string scenario;
};

/// False when the command line is not one of a compilation.
bool take_apart(const std::vector<std::string>& words, compilation& found) {
  for (size_t n = 0; n < words.size(); ++n) {
    const std::string& word = words[n];
    const bool has_next = n + 1 < words.size();
    if (word.starts_with(marker)) {
      found.scenario = word.substr(marker.size());
      std::erase(found.scenario, '"');
      std::erase(found.scenario, '\\');
      // Keeps the words that are read here from being defined away (sim/compat/host_sources.h).
      found.preprocessor.emplace_back("-DHEDDLE_REWRITTEN=1");
    } else if (word == "-MD" || word == "-MMD" || word == "-MP") {
      found.preprocessor.push_back(word);
    } else if ((word == "-MF" || word == "-MT" || word == "-MQ" || word == "-include" || word == "-isystem" ||
                word == "-iquote" || word == "-I" || word == "-D" || word == "-U") &&
               has_next) {
      found.preprocessor.push_back(word);
      found.preprocessor.push_back(words[++n]);
    } else if (word.starts_with("-I") || word.starts_with("-D") || word.starts_with("-U") ||
               word.starts_with("-isystem")) {
      found.preprocessor.push_back(word);
    } else if (word == "-o" && has_next) {
      found.object = words[++n];
    } else if (word == "-c" && has_next) {
      found.source = words[++n];
    } else if (word == "-x" && has_next) {
      ++n;
    } else {
      found.both.push_back(word);
    }
  }
  return !found.source.empty() && !found.object.empty();
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + argument_count);
  if (words.empty()) {
    std::fprintf(
        stderr,
        "usage: heddle-rewrite COMPILER ARGUMENTS...\n       heddle-rewrite --set-apart OBJECT\n       heddle-rewrite "
        "--prebuilt NAME FROM TO\n       heddle-rewrite --link COMPILER ARGUMENTS...\n       heddle-rewrite --host "
        "c|c++ FROM OBJECT COMPILER ARGUMENTS...\n\nThe second "
        "has another compiler's object file begin anew with each run. The third writes TO\nwhere FROM, an object file "
        "or an archive, has objects that heddle has not compiled: they\nbegin anew likewise. The fourth links, and "
        "does that to archives. The fifth compiles a\npreprocessed source, so that the simulator sees fences that are "
        "instructions.\n");
    return wrong_usage;
  }
  if (words.size() == 2 && words[0] == "--set-apart") return set_apart(words[1]);
  if (words.size() == 4 && words[0] == "--prebuilt") return set_prebuilt_apart(words);
  if (words.size() > 1 && words[0] == "--link") return link_by(words);
  if (words.size() > 4 && words[0] == "--host") return compile_host(words);
  bool marked = false;
  for (const std::string& word : words) marked = marked || word.starts_with(marker);
  if (!marked) replace_by(words);
  compilation what;
  if (!take_apart(words, what)) {
    std::fprintf(stderr, "heddle-rewrite: a command line with %.*s needs -c FILE and -o FILE\n",
                 static_cast<int>(marker.size()), marker.data());
    return wrong_usage;
  }

  const std::string preprocessed = what.object + ".in.ii";
  std::vector<std::string> command = what.both;
  command.insert(command.end(), what.preprocessor.begin(), what.preprocessor.end());
  for (const char* word : {"-E", "-x", "c++"}) command.emplace_back(word);
  command.insert(command.end(), {what.source, "-o", preprocessed});
  if (const int status = run(command); status != 0) return status;

  const std::string text = content_of(preprocessed);
  std::remove(preprocessed.c_str());
  const heddle::rewrite::result made = heddle::rewrite::rewrite(text, what.scenario);
  for (const std::string& warning : made.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  for (const std::string& error : made.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!made.errors.empty()) return 1;
  const std::string rewritten = what.object + ".ii";
  if (!write(rewritten, made.text)) return wrong_usage;

  command = what.both;
  for (const char* word : {"-x", "c++-cpp-output"}) command.emplace_back(word);
  // Only looked at: there is no object file.
  if (std::find(words.begin(), words.end(), "-fsyntax-only") != words.end()) {
    command.insert(command.end(), {"-c", rewritten, "-o", what.object});
    return run(command);
  }
  if (const int status = compile_preprocessed(command, rewritten, what.object); status != 0) return status;
  return set_apart(what.object);
}
