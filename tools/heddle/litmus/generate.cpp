// Litmus tables -> the source of a program that runs their rows on a machine (hw/litmus/). Part of the build.
//
//   litmus_generate program OUT.cpp TABLE.csv...
//   litmus_generate ptx OUT TABLE.csv...    what a compiler must make of the device's bodies: "body_N: instruction ..."
//
// A body is a thread's instructions with its locations by order of appearance, which many rows have in common.
#include <heddle/tools/cli/common.h>
#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/test.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::litmus {
namespace {

/// Results are kept in two bits each.
constexpr uint32_t greatest_value = 3;

std::string_view name_of(memory_order order) {
  if (order == memory_order::relaxed) return "relaxed";
  if (order == memory_order::acquire) return "acquire";
  if (order == memory_order::release) return "release";
  return order == memory_order::acq_rel ? "acq_rel" : "sc";
}

std::string_view name_of(scope reach) {
  if (reach == scope::block) return "cta";
  return reach == scope::device ? "gpu" : "sys";
}

/// "HEDDLE_DEVICE_LOAD(relaxed, gpu, r0, a)", of hw/litmus/instructions.h; `word` is the location's pointer there.
std::string code_of(const instruction& each, bool host, const std::string& word) {
  const std::string how = std::string(name_of(each.order)) + ", " + std::string(name_of(each.reach)) + ", ";
  const std::string reg = "r" + std::to_string(each.reg);
  const std::string value = std::to_string(each.value) + "u";
  const std::string machine = host ? "HEDDLE_HOST_" : "HEDDLE_DEVICE_";
  // A plain access of the host is a MOV.
  const bool mov = each.x86 || (host && each.weak);
  const std::string plain = machine + (mov ? "MOV_" : "WEAK_");
  switch (each.kind) {
    case instruction_kind::load:
      return (each.weak || mov ? plain + "LOAD(" : machine + "LOAD(" + how) + reg + ", " + word + ")";
    case instruction_kind::store:
      return (each.weak || mov ? plain + "STORE(" : machine + "STORE(" + how) + word + ", " + value + ")";
    case instruction_kind::exchange:
      return machine + (each.x86 ? "LOCK_XCHG(" : "EXCHANGE(" + how) + reg + ", " + word + ", " + value + ")";
    case instruction_kind::add:
      return machine + (each.x86 ? "LOCK_XADD(" : "ADD(" + how) + reg + ", " + word + ", " + value + ")";
    case instruction_kind::compare_exchange:
      return machine + "COMPARE_EXCHANGE(" + how + reg + ", " + word + ", " + value + ", " +
             std::to_string(each.desired) + "u)";
    case instruction_kind::fence:
      return machine + "FENCE(" + how.substr(0, how.size() - 2) + ")";
    case instruction_kind::drain_buffers:
      return machine + (each.weak ? "SFENCE()" : "MFENCE()");
  }
  return {};
}

/// What the assembler is to see, with the type of 32-bit words.
std::string ptx_of(const instruction& each) {
  const std::string how =
      each.weak ? "weak" : std::string(name_of(each.order)) + "." + std::string(name_of(each.reach));
  switch (each.kind) {
    case instruction_kind::load:
      return "ld." + how + ".u32";
    case instruction_kind::store:
      return "st." + how + ".u32";
    case instruction_kind::exchange:
      return "atom." + how + ".exch.b32";
    case instruction_kind::add:
      return "atom." + how + ".add.u32";
    case instruction_kind::compare_exchange:
      return "atom." + how + ".cas.b32";
    default:
      return "fence." + how;
  }
}

struct body {
  std::string code;
  std::string ptx;
  std::vector<uint32_t> locations;  ///< of the program, in order of appearance
  uint32_t registers = 0;           ///< written: r0 up to this one
};

body body_of(const std::vector<instruction>& thread, bool host) {
  static constexpr const char* pointers[] = {"a", "b", "c"};
  body made;
  for (const instruction& each : thread) {
    const bool fence = each.kind == instruction_kind::fence || each.kind == instruction_kind::drain_buffers;
    size_t at = 0;
    if (!fence) {
      at = static_cast<size_t>(std::find(made.locations.begin(), made.locations.end(), each.location) -
                               made.locations.begin());
      if (at == made.locations.size()) made.locations.push_back(each.location);
      if (at >= std::size(pointers)) throw std::invalid_argument("a thread with more than 3 locations");
      if (std::max(each.value, each.desired) > greatest_value)
        throw std::invalid_argument("a value above " + std::to_string(greatest_value));
      if (each.kind != instruction_kind::store) made.registers = std::max(made.registers, each.reg + 1);
    }
    made.code += (made.code.empty() ? "" : " ") + code_of(each, host, fence ? "" : pointers[at]);
    made.ptx += " " + ptx_of(each);
  }
  return made;
}

/// As C++, over what hw/litmus/row.h calls `seen`.
std::string code_of(const condition& asked) {
  if (asked.is == condition::kind::reg || asked.is == condition::kind::location) {
    const std::string what = asked.is == condition::kind::reg ? "seen.registers[" + std::to_string(asked.thread) +
                                                                    "][" + std::to_string(asked.index) + "]"
                                                              : "seen.locations[" + std::to_string(asked.index) + "]";
    return what + (asked.equal ? " == " : " != ") + std::to_string(asked.value);
  }
  std::string made;
  for (const condition& part : asked.parts)
    made += (made.empty() ? "" : asked.is == condition::kind::all_of ? " && " : " || ") + code_of(part);
  return "(" + made + ")";
}

/// The locations that an outcome asks for, as bits.
uint32_t locations_asked(const condition& asked) {
  uint32_t bits = asked.is == condition::kind::location ? 1u << asked.index : 0;
  for (const condition& part : asked.parts) bits |= locations_asked(part);
  return bits;
}

struct row {
  std::string name;
  std::string text;  ///< as the table has it
  std::string outcome;
  std::string expected;
  program code;
};

/// In a table of the link the contract's verdict is the one for machines; where a location lies in device memory is for the model alone.
void add_rows(std::vector<row>& to, const csv_table& table) {
  const std::vector<test> tests = tests_of(table);
  std::set<std::string> done;
  for (const test& each : tests) {
    if (std::count(each.code.on_device.begin(), each.code.on_device.end(), true) != 0) continue;
    if (!done.insert(each.name).second) continue;
    const auto of = std::find_if(table.rows().begin(), table.rows().end(),
                                 [&](const csv_row& one) { return table.at(one, "name") == each.name; });
    std::string expected(to_string(each.expected));
    if (table.has("contract")) expected = table.at(*of, "contract") == "F" ? "forbidden" : "allowed";
    to.push_back(
        {each.table + "/" + each.name, table.at(*of, "program"), table.at(*of, "weak_outcome"), expected, each.code});
  }
}

class writer {
 public:
  void add(const row& each) {
    if (each.code.locations.size() > 4 || each.code.threads.size() > 4)
      throw std::invalid_argument(each.name + ": more than 4 locations or threads");
    std::string threads;
    for (size_t n = 0; n < each.code.threads.size(); ++n)
      threads += (n == 0 ? "" : ", ") + thread_of(each.code.threads[n], each.code.places[n]);
    std::string names;
    for (const std::string& location : each.code.locations) names += (names.empty() ? "\"" : ", \"") + location + '"';
    std::string outcome = each.outcome;
    for (size_t at = 0; (at = outcome.find('\\', at)) != std::string::npos; at += 2) outcome.insert(at, 1, '\\');
    rows_ += "HEDDLE_LITMUS_ROW(\"" + each.name + "\", \"" + each.expected + "\",\n  \"" + each.text + "\",\n  \"" +
             outcome + "\",\n  HEDDLE_LIST(" + threads + "), HEDDLE_LIST(" + names + "), " +
             std::to_string(locations_asked(each.code.outcome)) + ", " + code_of(each.code.outcome) + ")\n";
  }
  std::string whole_program() const {
    std::string made = "// Made by litmus_generate.\n#include <heddle/hw/litmus/instructions.h>\n\n";
    made += "HEDDLE_LITMUS_HOST_BODIES_BEGIN\n" + listed("HEDDLE_LITMUS_HOST_BODY", hosts_) +
            "HEDDLE_LITMUS_HOST_BODIES_END\n\n";
    if (!devices_.empty())
      made += "#define HEDDLE_LITMUS_ON_DEVICE\nHEDDLE_LITMUS_DEVICE_BODIES_BEGIN\n" +
              listed("HEDDLE_LITMUS_DEVICE_BODY", devices_) + "HEDDLE_LITMUS_DEVICE_BODIES_END\n\n";
    return made + "#ifndef HEDDLE_LITMUS_GOLDEN\nHEDDLE_LITMUS_ROWS_BEGIN\n" + rows_ +
           "HEDDLE_LITMUS_ROWS_END\n\n#include <heddle/hw/litmus/program.h>\n#endif\n";
  }
  std::string whole_ptx() const {
    std::string made;
    for (size_t n = 0; n < devices_.size(); ++n) made += "body_" + std::to_string(n) + ":" + devices_[n].ptx + "\n";
    return made;
  }

 private:
  /// "{block or -1, body, registers, {locations}}".
  std::string thread_of(const std::vector<instruction>& code, const place& at) {
    const body made = body_of(code, at.host);
    std::vector<body>& known = at.host ? hosts_ : devices_;
    const auto same = std::find_if(known.begin(), known.end(), [&](const body& one) { return one.code == made.code; });
    const auto number = same - known.begin();
    if (same == known.end()) known.push_back(made);
    std::string thread = "{" + (at.host ? "-1" : std::to_string(at.block)) + ", " + std::to_string(number) + ", " +
                         std::to_string(made.registers) + ", {";
    for (size_t n = 0; n < made.locations.size(); ++n)
      thread += (n == 0 ? "" : ", ") + std::to_string(made.locations[n]);
    return thread + "}}";
  }
  static std::string listed(const char* macro, const std::vector<body>& bodies) {
    std::string made;
    for (size_t n = 0; n < bodies.size(); ++n)
      made += std::string(macro) + "(" + std::to_string(n) + ", " + bodies[n].code + ")\n";
    return made;
  }

  std::vector<body> hosts_;
  std::vector<body> devices_;
  std::string rows_;
};

}  // namespace
}  // namespace heddle::litmus

int main(int count, char** arguments) {
  namespace litmus = heddle::litmus;
  const std::string asked = count < 4 ? "" : arguments[1];
  if (asked != "program" && asked != "ptx") {
    std::fputs("usage: litmus_generate program|ptx OUT TABLE.csv...\n", stderr);
    return 2;
  }
  try {
    std::vector<litmus::row> rows;
    for (int n = 3; n < count; ++n)
      litmus::add_rows(rows, litmus::csv_table(arguments[n], heddle::tools::read_file(arguments[n])));
    litmus::writer all;
    for (const litmus::row& each : rows) all.add(each);
    std::ofstream out(arguments[2]);
    out << (asked == "program" ? all.whole_program() : all.whole_ptx()) << std::flush;
    if (!out) throw std::runtime_error(std::string("cannot write ") + arguments[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "litmus_generate: %s\n", error.what());
    return 1;
  }
  return 0;
}
