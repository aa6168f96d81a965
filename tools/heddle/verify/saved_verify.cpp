// `heddle verify --save` and `--resume`: what is asked goes to a process whose addresses are those of each process of this search.
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/verify/search_store.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

namespace heddle::tools {
namespace {

static_assert(std::is_trivially_copyable_v<search_request>);

search_request* searched = nullptr;

/// The request, and behind it the scenario and its settings.
std::string packed(const search_request& request, const std::string& scenario,
                   const std::vector<std::string>& settings) {
  std::string made(reinterpret_cast<const char*>(&request), sizeof request);
  made += scenario + '\0';
  for (const std::string& each : settings) made += each + '\0';
  return made;
}

bool keep(const std::string& name, std::array<char, search_request::name_bytes>& in) {
  if (name.size() >= in.size()) return false;
  name.copy(in.data(), name.size());
  return true;
}

/// Room for any name, so that what is allocated next lies where it lies with another name.
void take(std::string& into, const std::array<char, search_request::name_bytes>& name) {
  into.reserve(name.size());
  into = name.data();
}

/// What is wrong with the file that a new search is to be saved to, or with what is to be saved.
std::optional<std::string> cannot_save(const invocation& asked, const selection& selected) {
  const std::string& file = asked.verify.save_file;
  if (selected.chosen.size() != 1 || asked.all)
    return "--save takes one scenario, and these are " + std::to_string(selected.chosen.size()) + "; name one of them";
  struct stat about = {};
  if (::stat(file.c_str(), &about) == 0 && (about.st_size != 0 || !S_ISREG(about.st_mode)))
    return "--save " + file + ": it is there already; go on with a saved search by --resume, or remove it";
  return std::nullopt;
}

/// One line when something lies elsewhere than where the search was saved. Notes where it lies when the search begins.
std::string lies_otherwise() {
  const fixed_marks now = marks_of_this_process();
  if (!searched->goes_on) {
    searched->marks = now;
    return {};
  }
  const fixed_marks& then = searched->marks;
  const char* const what = now.stack != then.stack         ? "the stack"
                           : now.mappings != then.mappings ? "what is mapped"
                           : now.heap != then.heap         ? "the heap"
                                                           : nullptr;
  if (what == nullptr) return {};
  return std::string(what) +
         " does not lie where it lay when the search was saved: go on under the same kernel, limits (ulimit) and LD_ "
         "variables, or "
         "begin again by --save";
}

}  // namespace

search_request* searched_here() { return searched; }

bool saves_search(const invocation& asked) {
  return asked.command == "verify" && (!asked.verify.save_file.empty() || !asked.verify.resume_file.empty());
}

int begin_saved_verify(const invocation& asked, char* const* arguments) {
  const bool goes_on = !asked.verify.resume_file.empty();
  search_request request;
  std::string scenario;
  std::vector<std::string> settings = asked.settings;
  const std::string& file = goes_on ? asked.verify.resume_file : asked.verify.save_file;
  if (goes_on) {
    header_or_error read = read_saved(file);
    if (!read.error.empty()) return fail(wrong_input, read.error);
    request = read.value.of;
    scenario = read.value.scenario;
    settings = read.value.settings;
    if (const selection known = select_scenarios({scenario}); !known.error.empty())
      return fail(wrong_input, "--resume " + file + ": " + known.error);
  } else {
    const selection selected = select_scenarios(asked.scenarios);
    if (!selected.error.empty()) return fail(wrong_input, selected.error);
    if (const auto wrong = cannot_save(asked, selected)) return fail(wrong_input, *wrong);
    scenario = selected.chosen.front()->name;
  }
  for (const std::string& each : {file, asked.out_file})
    if (const auto failed = each.empty() ? std::nullopt : cannot_write(each)) return fail(cannot_go_on, *failed);
  if (!keep(asked.program, request.program) || !keep(file, request.file) || !keep(asked.out_file, request.out_file))
    return fail(wrong_input, "verify: a file's name is too long");
  request.json = asked.json;
  request.in_process = asked.in_process;
  request.goes_on = goes_on;
  request.stuck_seconds = asked.stuck_seconds;
  request.seconds_max = asked.seconds_max;
  request.states_max = asked.verify.states_max;
  request.memory_mib = asked.verify.memory_mib;
  request.jobs = asked.jobs;
  const auto with_layout = [&](const fixed_layout& layout) {
    request.layout = layout;
    return packed(request, scenario, settings);
  };
  return fail(cannot_go_on, "verify cannot save the search: " + become_fixed(with_layout, request.layout, arguments));
}

bool take_saved_verify(int argument_count, char* const* arguments, invocation& into) {
  const std::string told = request_of_fixed(argument_count, arguments);
  if (told.size() <= sizeof(search_request)) return false;
  void* const mapped = mmap(nullptr, sizeof(search_request), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  searched = new (mapped) search_request;
  std::memcpy(searched, told.data(), sizeof *searched);
  into.command = "verify";
  take(into.program, searched->program);
  take(into.verify.save_file, searched->file);
  take(into.out_file, searched->out_file);
  into.json = searched->json;
  into.in_process = searched->in_process;
  into.stuck_seconds = searched->stuck_seconds;
  into.seconds_max = searched->seconds_max;
  into.verify.states_max = searched->states_max;
  into.verify.memory_mib = searched->memory_mib;
  into.jobs = searched->jobs;
  for (size_t at = sizeof(search_request); at < told.size();) {
    const std::string word = told.c_str() + at;
    at += word.size() + 1;
    if (into.scenarios.empty())
      into.scenarios.push_back(word);
    else
      into.settings.push_back(word);
  }
  return true;
}

int run_saved_verify(invocation asked, char* const* arguments) {
  if (const std::string wrong = lies_otherwise(); !wrong.empty())
    return fail(wrong_input, "--resume " + asked.verify.save_file + ": " + wrong);
  const std::vector<std::string> settings = asked.settings;
  const std::string scenario = asked.scenarios.front();
  int status = as_expected;
  {
    const json_alone output(asked.json);
    status = with_fixed_guard([&] { return finish_output(run_command(std::move(asked))); });
  }
  if (!searched->next_stage) return status == interrupted ? interrupt_status() : status;
  // In a process as new as that which will go on.
  searched->next_stage = searched->goes_on = false;
  const auto with_layout = [&](const fixed_layout&) { return packed(*searched, scenario, settings); };
  return fail(cannot_go_on, "verify cannot go on: " + become_fixed(with_layout, searched->layout, arguments));
}

}  // namespace heddle::tools
