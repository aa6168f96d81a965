#include <heddle/tools/litmus/test.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

namespace heddle::litmus {
namespace {

program program_of(const csv_table& table, const csv_row& row, std::string_view placement) {
  try {
    const std::string& threads = table.at(row, "threads");
    const std::string& code = table.at(row, "program");
    program made = parse(threads, code, table.at(row, "weak_outcome"), placement);
    for (const place& each : made.places)
      if (each.device != 0) table.refuse(row, "threads: the simulated machine has one device; write gpu0");
    return made;
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    if (what.starts_with(table.file())) throw;
    table.refuse(row, what);
  }
}

/// Whether the verdict is A; one that is neither A nor F is refused.
bool allowed(const csv_table& table, const csv_row& row, std::string_view column) {
  const std::string& verdict = table.at(row, column);
  if (verdict != "A" && verdict != "F")
    table.refuse(row, std::string(column) + ": \"" + verdict + "\" is no verdict; write A or F");
  return verdict == "A";
}

// -- verdicts of the contract -----------------------------------------------------------------------------------------------------

expectation expected_by_contract(const csv_table& table, const csv_row& row) {
  // A table of host code has no contract but the machine's.
  const bool of_host = !table.has("ptx6_contract");
  if (!of_host && !allowed(table, row, "ptx6_contract")) return expectation::forbidden;
  // Host code runs on x86, whatever the contract would leave to another host.
  if (table.has("x86_host_hw") && (of_host || !table.at(row, "x86_host_hw").empty()) &&
      !allowed(table, row, "x86_host_hw"))
    return expectation::forbidden;
  // A bug counts as caught however it is found.
  if (table.has("meaning")) return expectation::caught;
  if (!table.has("needs")) return expectation::seen;
  const std::string& needs = table.at(row, "needs");
  if (needs == "late") return expectation::seen;
  if (needs == "coherence") return expectation::aim;
  if (needs == "load-buffering") return expectation::load_buffering;
  if (needs == "weak-host") return expectation::weak_host;
  table.refuse(
      row, "needs: \"" + needs + "\" must be one of late, coherence, load-buffering, weak-host where the verdict is A");
}

std::vector<test> tests_of_contract(const csv_table& table) {
  // Store buffers in order, as an x86 has them between its own threads, are the link's.
  const std::string fidelity = table.has("ptx6_contract") ? "fidelity=scoped" : "fidelity=link";
  std::vector<test> tests;
  for (const csv_row& row : table.rows())
    tests.push_back({.table = table.name(),
                     .name = table.at(row, "name"),
                     .configuration = {},
                     .code = program_of(table, row, {}),
                     .expected = expected_by_contract(table, row),
                     .settings = {fidelity}});
  return tests;
}

// -- verdicts per configuration of the link ---------------------------------------------------------------------------------------

/// A word of a configuration's name, and the setting that it stands for.
struct knob {
  std::string_view word;
  std::string_view key;
  std::string_view value;
  std::string_view otherwise;  ///< the value when the word is absent
};
constexpr std::array<knob, 8> knobs = {{
    {.word = "pool", .key = "link.pool", .value = "on", .otherwise = "off"},
    {.word = "inorder", .key = "link.pool", .value = "off", .otherwise = {}},
    {.word = "ro", .key = "link.ro", .value = "on", .otherwise = "off"},
    {.word = "rocpl", .key = "link.rocpl", .value = "on", .otherwise = "off"},
    {.word = "drain", .key = "link.drain", .value = "on", .otherwise = "off"},
    {.word = "wc", .key = "link.wc", .value = "on", .otherwise = "off"},
    {.word = "emul", .key = "link.rmw", .value = "split", .otherwise = "all"},
    {.word = "nosameaddr", .key = "link.sameaddr", .value = "off", .otherwise = "on"},
}};

/// The settings of a configuration such as "pool+ro+drain".
std::vector<std::string> settings_of(const csv_table& table, const csv_row& row, std::string_view configuration) {
  std::set<std::string_view> words;
  for (std::string_view rest = configuration; !rest.empty();) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    words.insert(rest.substr(0, plus));
    rest.remove_prefix(std::min(plus + 1, rest.size()));
  }
  std::vector<std::string> settings = {"fidelity=link"};
  for (const knob& each : knobs) {
    const bool named = words.erase(each.word) != 0;
    const std::string_view value = named ? each.value : each.otherwise;
    if (!value.empty()) settings.push_back(std::string(each.key) + "=" + std::string(value));
  }
  if (!words.empty()) {
    std::string known;
    for (const knob& each : knobs) known += (known.empty() ? "" : ", ") + std::string(each.word);
    table.refuse(row, "the configuration \"" + std::string(configuration) + "\" has the unknown word \"" +
                          std::string(*words.begin()) + "\"; the words are " + known);
  }
  return settings;
}

void collect_registers(const condition& asked, uint32_t thread, std::set<uint32_t>& into) {
  if (asked.is == condition::kind::reg && asked.thread == thread) into.insert(asked.index);
  for (const condition& part : asked.parts) collect_registers(part, thread, into);
}

// In the model behind the verdicts a relaxed load of the device is a request that a later store of the same thread may overtake.
// This machine binds a load when it is issued. The two differ where the outcome asks for the value of such a load: one of the
// device, behind which a store to another location follows with nothing in between that would wait for the load.
bool needs_load_buffering(const program& code) {
  for (uint32_t thread = 0; thread < code.threads.size(); ++thread) {
    if (code.places[thread].host) continue;
    std::set<uint32_t> asked;
    collect_registers(code.outcome, thread, asked);
    const std::vector<instruction>& body = code.threads[thread];
    for (size_t n = 0; n < body.size(); ++n) {
      const bool delayed = body[n].kind == instruction_kind::load && body[n].order == memory_order::relaxed &&
                           asked.contains(body[n].reg);
      for (size_t later = n + 1; delayed && later < body.size(); ++later) {
        if (body[later].order != memory_order::relaxed || body[later].kind == instruction_kind::fence) break;
        if (body[later].kind == instruction_kind::store && body[later].location != body[n].location) return true;
      }
    }
  }
  return false;
}

test test_of_link(const csv_table& table, const csv_row& row, const std::string& configuration,
                  std::string_view verdict_column) {
  test made = {.table = table.name(),
               .name = table.at(row, "name"),
               .configuration = configuration,
               .code = program_of(table, row, table.at(row, "placement")),
               .expected = expectation::forbidden,
               .settings = settings_of(table, row, configuration)};
  if (allowed(table, row, verdict_column))
    made.expected = needs_load_buffering(made.code) ? expectation::load_buffering : expectation::seen;
  return made;
}

std::vector<test> tests_of_link(const csv_table& table) {
  static const std::set<std::string_view> others = {"name",         "threads",  "placement",      "program",
                                                    "weak_outcome", "contract", "special_config", "special_verdict"};
  std::vector<test> tests;
  for (const csv_row& row : table.rows()) {
    for (const std::string& title : table.titles())
      if (!others.contains(title) && !table.at(row, title).empty())
        tests.push_back(test_of_link(table, row, title, title));
    if (const std::string& special = table.at(row, "special_config"); !special.empty())
      tests.push_back(test_of_link(table, row, special, "special_verdict"));
  }
  return tests;
}

void check_names(const csv_table& table) {
  std::set<std::string_view> names;
  for (const csv_row& row : table.rows()) {
    const std::string& name = table.at(row, "name");
    if (name.empty()) table.refuse(row, "name: empty; give each row a name of its own");
    if (!names.insert(name).second) table.refuse(row, "name: \"" + name + "\" is an earlier row's too");
  }
}

}  // namespace

std::string_view to_string(expectation value) {
  switch (value) {
    case expectation::forbidden:
      return "forbidden";
    case expectation::seen:
      return "allowed";
    case expectation::aim:
      return "allowed (coherence)";
    case expectation::caught:
      return "bug";
    case expectation::load_buffering:
      return "allowed (load buffering)";
    case expectation::weak_host:
      return "allowed (weak host)";
  }
  return "";
}

std::string test::full_name() const {
  return table + "/" + name + (configuration.empty() ? "" : " [" + configuration + "]");
}

std::vector<test> tests_of(const csv_table& table) {
  const bool of_link = table.has("special_config");
  if (!of_link && !table.has("ptx6_contract") && !table.has("x86_host_hw"))
    table.refuse_titles(
        "no table of litmus tests; it needs the column ptx6_contract, x86_host_hw or "
        "special_config, or one of a progress model such as WEAK_FAIR");
  check_names(table);
  return of_link ? tests_of_link(table) : tests_of_contract(table);
}

}  // namespace heddle::litmus
