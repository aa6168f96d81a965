#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/completion.h>
#include <heddle/tools/cli/help_page.h>
#include <heddle/tools/progress/judge/rpc_shapes.h>

#include <algorithm>
#include <iostream>

namespace heddle::tools {
namespace {

using suggested = suggestions::word;

/// The first sentence or clause, short enough for a line of a menu.
std::string few_words(const std::string& text) {
  constexpr size_t length_max = 60;
  std::string made = text.substr(0, text.find_first_of(".;:("));
  if (made.size() > length_max) made = made.substr(0, made.rfind(' ', length_max));
  while (made.ends_with(' ') || made.ends_with(',')) made.pop_back();
  return made;
}

const help_option* find_option(const std::vector<help_option>& options, const std::string& name) {
  for (const help_option& option : options)
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  return nullptr;
}

void add_scenarios(std::vector<suggested>& words, bool with_twin) {
  const auto is_there = [](const std::string& name) {
    return std::any_of(scenarios().begin(), scenarios().end(), [&](const scenario& each) { return each.name == name; });
  };
  for (const scenario& each : scenarios())
    if (!with_twin || is_there(each.name + ".fixed")) words.push_back({each.name, few_words(each.summary)});
}

/// "key=", or behind that its words; of the scenarios that are chosen, of all when none is.
void add_settings(std::vector<suggested>& words, const std::vector<std::string>& chosen, const std::string& typed) {
  const selection selected = select_scenarios(chosen);
  const size_t equals = typed.find('=');
  std::vector<std::string> seen;
  const auto add = [&](const parameter& each) {
    if (std::find(seen.begin(), seen.end(), each.key) != seen.end()) return;
    seen.push_back(each.key);
    if (equals == std::string::npos) words.push_back({each.key + "=", few_words(each.help)});
    if (equals == std::string::npos || typed.substr(0, equals) != each.key) return;
    for (const std::string& value : each.choices) words.push_back({each.key + "=" + value, ""});
  };
  for (const scenario* each : selected.chosen) {
    const parameters settings = settings_of(*each, sim::machine_parameters());
    for (const parameter& own : settings.definitions()) add(own);
  }
  for (const parameter& each : sim::machine_parameters()) add(each);
}

/// What a name in capitals of a usage line or of an option's value stands for.
suggestions values_of(const std::string& name, const std::vector<std::string>& arguments, const std::string& typed) {
  suggestions made;
  if (name.find("FILE") != std::string::npos || name == "TRACE" || name == "DUMP.json") {
    made.is = suggestions::kind::files;
  } else if (name == "DIR") {
    made.is = suggestions::kind::folders;
  } else if (name == "SCENARIO" || name == "ENTRY") {
    add_scenarios(made.words, name == "ENTRY");
  } else if (name == "KEY=VALUE") {
    add_settings(made.words, arguments, typed);
  } else if (name == "X") {
    for (const scheduler::strategy_help& each : scheduler::strategies())
      made.words.push_back({std::string(each.name), few_words(std::string(each.help))});
  } else if (name == "COMMAND") {
    for (const std::string& each : command_names()) made.words.push_back({each, ""});
  } else if (name == "SHAPE|PROGRAM") {
    for (const judge::rpc_shape& each : judge::rpc_shapes())
      made.words.push_back({std::string(each.name), few_words(std::string(each.summary))});
  } else if (!name.empty() && name.front() >= 'a' && name.front() <= 'z') {
    for (size_t at = 0; at <= name.size();) {  // "bash|zsh|fish" stands for itself
      const size_t end = std::min(name.find('|', at), name.size());
      made.words.push_back({name.substr(at, end - at), ""});
      at = end + 1;
    }
  }
  return made;
}

suggestions commands_and_flags() {
  suggestions made;
  for (const help_block& block : parse_help(help_text("")).blocks) {
    if (!block.term.starts_with("heddle ")) continue;
    const std::string rest = block.term.substr(7);
    made.words.push_back({rest.substr(0, rest.find(' ')), few_words(block.text)});
  }
  made.words.push_back({"--help", ""});
  return made;
}

suggestions all_suggestions(const std::vector<std::string>& typed) {
  if (typed.size() < 2) return commands_and_flags();
  const help_page page = parse_help(help_text(typed.front()));
  std::vector<help_option> options = options_of(page);
  std::vector<std::string> arguments;
  const help_option* before = nullptr;  // the option that waits for its value
  for (size_t index = 1; index + 1 < typed.size(); ++index) {
    const bool is_value = before != nullptr;
    before = is_value ? nullptr : find_option(options, typed[index]);
    if (before == nullptr && !is_value && !typed[index].starts_with('-')) arguments.push_back(typed[index]);
    if (before != nullptr && before->value.empty()) before = nullptr;
  }
  const std::string& last = typed.back();
  if (before != nullptr) return values_of(before->value, arguments, last);
  if (!last.starts_with('-')) return values_of(argument_of(page), arguments, last);
  suggestions made;
  options.push_back({.names = {"--help"}, .value = {}, .meaning = "more about this command"});
  for (const help_option& option : options)
    for (const std::string& name : option.names) made.words.push_back({name, few_words(option.meaning)});
  return made;
}

// In each script, heddle_complete is replaced by a name of the program's own, PROGRAM by its name.
constexpr std::string_view bash_script = R"(# bash completion of PROGRAM; asks the program itself
heddle_complete() {
  local line=${COMP_LINE:0:COMP_POINT} kind word typed
  local -a words=() answer=()
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  typed=${words[-1]}
  mapfile -t answer < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  kind=${answer[0]-}
  case $kind in
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$typed") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$typed") ;;
    words)
      # Readline replaces what stands behind the last of its word breaks.
      local done=""
      [[ $typed != *[=:]* || $COMP_WORDBREAKS != *=* ]] || done=${typed%"${typed##*[=:]}"}
      for word in "${answer[@]:1}"; do
        word=${word%%$'\t'*}
        COMPREPLY+=("${word#"$done"}")
      done
      [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
      ;;
  esac
}
complete -F heddle_complete PROGRAM
)";

constexpr std::string_view zsh_script = R"(#compdef PROGRAM
# zsh completion of PROGRAM; asks the program itself
heddle_complete() {
  local -a answer described
  local word text
  answer=("${(@f)$("${words[1]/#\~/$HOME}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case ${answer[1]-} in
    files) _files ;;
    folders) _files -/ ;;
    words)
      for word in "${(@)answer[2,-1]}"; do
        text=${word%%$'\t'*}
        if [[ $text == *= ]]; then
          compadd -S '' -- "$text"
        else
          [[ $word != *$'\t'* ]] && described+=("${text//:/\\:}") || described+=("${text//:/\\:}:${word#*$'\t'}")
        fi
      done
      (( ! $#described )) || _describe PROGRAM described
      ;;
  esac
}
if [[ ${funcstack[1]-} == _PROGRAM ]]; then heddle_complete "$@"; else compdef heddle_complete PROGRAM; fi
)";

constexpr std::string_view fish_script = R"(# fish completion of PROGRAM; asks the program itself
function heddle_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer ($words[1] __complete $words[2..] "$typed" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path $typed
        case folders
            __fish_complete_directories $typed
        case words
            printf '%s\n' $answer[2..]
    end
end
complete -c PROGRAM -f -a '(heddle_complete)'
)";

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

suggestions suggest(const std::vector<std::string>& typed) {
  suggestions made = all_suggestions(typed.empty() ? std::vector<std::string>{""} : typed);
  const std::string begin = typed.empty() ? "" : typed.back();
  std::erase_if(made.words, [&](const suggested& each) { return !each.text.starts_with(begin); });
  return made;
}

std::string completion_script(const std::string& shell, const std::string& program) {
  std::string script(shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : shell == "fish" ? fish_script : "");
  const std::string name = program.substr(program.rfind('/') + 1);
  std::string function = "_" + name + "_complete";
  for (char& letter : function)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  replace_all(script, "heddle_complete", function);
  replace_all(script, "PROGRAM", shell_word(name));
  return script;
}

int complete(const invocation& asked) {
  const suggestions made = suggest(asked.typed);
  std::cout << (made.is == suggestions::kind::files     ? "files\n"
                : made.is == suggestions::kind::folders ? "folders\n"
                                                        : "words\n");
  for (const suggested& each : made.words)
    std::cout << each.text << (each.meaning.empty() ? "" : "\t" + each.meaning) << '\n';
  return as_expected;
}

int completion(const invocation& asked) {
  const std::string script = completion_script(asked.topic, asked.program);
  if (script.empty())
    return fail(wrong_input, "completion is for bash, zsh and fish, not for \"" + asked.topic.substr(0, 64) + "\"");
  std::cout << script;
  return as_expected;
}

}  // namespace heddle::tools
