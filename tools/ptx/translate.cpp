#include "translate.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

#include "emit.h"
#include "fat_binary.h"
#include "host_code.h"

namespace heddle::ptx {
namespace {

constexpr const char* known_functions[] = {"vprintf", "malloc", "free", "__assertfail"};
constexpr uint64_t most_parameter_bytes = 32764;
constexpr uint64_t most_local_bytes = uint64_t{512} * 1024;

/// Whether the assembler takes it as the name of a variable.
bool is_plain_name(const std::string& name) {
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

/// FNV-1a of 64 bits (sim/compat/ptx/module.h has the same), of a text as far as its first zero.
std::string hash_of(std::string_view image) {
  constexpr uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3;
  uint64_t hash = basis;
  for (const char c : is_binary(image) ? image : image.substr(0, image.find('\0')))
    hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

class translator {
 public:
  translator(const module& from, const translation_options& how, std::string_view linked)
      : from_(from), how_(how), module_(how.image ? hash_of(*how.image) : ""), linked_(linked) {}

  translation run() {
    text_ = "// Made from " + how_.file +
            " by heddle-ptx.\n#include <heddle/sim/compat/ptx/ptx.h>\n\n"
            "namespace {\nusing namespace heddle::ptx;\n";
    if (how_.image) text_ += "const bool known_module = know_module(0x" + module_ + "u);\n";
    guarded(0, "", [&] {
      declare_variables();
      declare_functions();
      initial_values();
    });
    for (size_t n = 0; n < from_.functions.size(); ++n)
      if (from_.functions[n].has_body) define(from_.functions[n], n);
    text_ += "}  // namespace\n";
    if (is_linked()) text_ += registration_of(linked_);
    if (!how_.scenario.empty()) text_ += scenario_of_main(how_.scenario);
    return {std::move(text_), std::move(errors_)};
  }

 private:
  template <typename Work>
  void guarded(size_t line, const std::string& in, Work&& work) {
    try {
      work();
    } catch (const error& wrong) {
      errors_.push_back(how_.file + ":" + std::to_string(wrong.line != 0 ? wrong.line : line) + ": " + in +
                        wrong.message);
    }
  }

  // -- variables ---------------------------------------------------------------------------------------------------------------------

  symbol variable_outside(const variable& one) {
    const std::string number = std::to_string(variables_++);
    symbol made = {symbol::kind::variable, one.space, one.type, {}, one.size_bytes()};
    if (one.space == "shared") {
      made.expression = "shared_" + number + ".address";
      if (one.elements == 0)
        text_ += "constexpr dynamic_shared_memory shared_" + number + ";\n";
      else
        text_ += "const shared_memory shared_" + number + "(" + quoted(one.name) + ", " +
                 std::to_string(one.size_bytes()) + ", " + std::to_string(std::max<uint64_t>(one.align, 16)) + ");\n";
      return made;
    }
    if (one.is_extern && !is_linked())
      throw error{0, "the variable " + one.name + " is in another file: compile it with -rdc=true too"};
    if (!one.is_extern && one.size_bytes() == 0) throw error{0, "the variable " + one.name + " has no size"};
    const bool is_for_others = is_linked() && one.is_visible;
    // By the name that reports have from the debug information.
    const std::string name = readable_name(name_of_variable(one.name));
    const std::string whole = (is_for_others ? "heddle_linked::v_" : "v_") + number + "::" + name;
    made.expression = "(uint64_t)&" + whole;
    const std::string begin = "namespace v_" + number + " { ";
    const std::string type = storage_of(one.type) + " " + name;
    if (one.is_extern) {
      text_ += outside(begin + "extern " + type + "[] asm(" + symbol_of(one.name) + "); }");
      return made;
    }
    const uint64_t align = std::max<uint64_t>({one.align, one.element_bytes() * one.vector, 1});
    const uint64_t count = one.elements * one.vector;
    const std::string defined = begin + "__attribute__((section(\"heddle_device\"), aligned(" + std::to_string(align) +
                                ")" + (is_for_others && one.is_weak ? ", weak" : "") + ")) " + type +
                                (count == 1 && !one.is_array ? "" : "[" + std::to_string(count) + "]") +
                                assembler_name(one, is_for_others) + initial_numbers(one) + "; }";
    text_ += is_for_others ? outside(defined) : defined + "\n";
    text_ += "const bool known_variable_" + number + " = know_variable(" + quoted(outside_name(one.name)) + ", &" +
             whole + ", " + std::to_string(one.size_bytes()) + (one.space == "const" ? ", true);\n" : ");\n");
    return made;
  }

  /// By which reports know the memory. The host has a variable of the same name, which other files see where they see this one, and weak ones.
  std::string assembler_name(const variable& one, bool is_for_others) {
    if (!is_plain_name(one.name)) return "";
    if (is_for_others || one.is_weak) return " asm(" + symbol_of(one.name) + ")";
    const std::string name = name_of_variable(one.name);
    return " asm(" + quoted(assembler_names_.insert(name).second ? name : one.name) + ")";
  }

  // -- device code of several files ----------------------------------------------------------------------------------------------------

  bool is_linked() const { return !linked_.empty(); }
  /// The assembler's name of what other files see.
  static std::string symbol_of(const std::string& name) { return quoted(name + ".device"); }
  /// A declaration that other files see, from within the unnamed namespace.
  static std::string outside(const std::string& declaration) {
    return "}  // namespace\nnamespace heddle_linked { " + declaration + " }\nnamespace {\n";
  }
  bool is_for_others(const function& one) const {
    return is_linked() && !one.is_entry && (one.is_visible || !one.has_body);
  }
  bool is_defined(const std::string& name) const {
    return std::any_of(from_.functions.begin(), from_.functions.end(),
                       [&](const function& one) { return one.has_body && one.name == name; });
  }
  static bool needs_addresses(const variable& one) {
    return std::any_of(one.values.begin(), one.values.end(),
                       [](const initial_value& each) { return each.value.is == operand::kind::name; });
  }

  std::string initial_numbers(const variable& one) {
    if (one.values.size() > one.elements * one.vector)
      throw error{0, "the variable " + one.name + " has too many values"};
    if (needs_addresses(one)) {
      with_addresses_.push_back(&one);
      return "";
    }
    std::string list;
    for (const initial_value& each : one.values) {
      uint64_t bits = each.value.bits;
      if (each.value.is == operand::kind::real && one.type == "f32") {
        double wide = 0;
        std::memcpy(&wide, &bits, sizeof wide);
        const auto narrow = static_cast<float>(wide);
        uint32_t low = 0;
        std::memcpy(&low, &narrow, sizeof low);
        bits = low;
      }
      const uint64_t bytes = one.element_bytes();
      if (bytes < 8) bits &= (uint64_t{1} << (bytes * 8)) - 1;
      list += (list.empty() ? "" : ", ") + std::to_string(bits) + "u";
    }
    return list.empty() ? "" : " = {" + list + "}";
  }

  /// Before the first run: what the variables hold then, they hold at the beginning of each.
  void initial_values() {
    size_t number = 0;
    for (const variable* one : with_addresses_) {
      text_ += "const bool filled_" + std::to_string(number++) + " = [] {\n";
      const std::string& where = outside_.at(one->name).expression;
      for (size_t n = 0; n < one->values.size(); ++n) {
        const operand& value = one->values[n].value;
        std::string text = std::to_string(value.bits) + "u";
        if (value.is == operand::kind::name) {
          const auto known = outside_.find(value.name);
          if (known == outside_.end())
            throw error{
                0, "the value of " + one->name + " is the address of " + value.name + ", which is declared nowhere"};
          text = "(uint64_t)(" + known->second.expression + ") + " + std::to_string(value.offset);
        }
        text_ += "  ((" + storage_of(one->type) + "*)(" + where + "))[" + std::to_string(n) + "] = (" +
                 storage_of(one->type) + ")(" + text + ");\n";
      }
      text_ += "  return true;\n}();\n";
    }
  }

  void declare_variables() {
    for (const variable& one : from_.variables) outside_[one.name] = variable_outside(one);
  }

  // -- functions ---------------------------------------------------------------------------------------------------------------------

  static std::string parameter_list(const function& one) {
    if (one.is_entry) return "unsigned char* arguments";
    std::string list;
    for (size_t n = 0; n < one.returns.size(); ++n)
      list += (list.empty() ? "" : ", ") + ("[[maybe_unused]] unsigned char* result_" + std::to_string(n));
    for (size_t n = 0; n < one.parameters.size(); ++n)
      list += (list.empty() ? "" : ", ") + ("[[maybe_unused]] unsigned char* given_" + std::to_string(n));
    return list;
  }

  std::string cpp_name(size_t n) const {
    return (is_for_others(from_.functions[n]) ? "heddle_linked::in_" : "in_") + std::to_string(n) +
           "::" + readable_name(from_.functions[n].name);
  }

  void declare_functions() {
    for (size_t n = 0; n < from_.functions.size(); ++n) {
      const function& one = from_.functions[n];
      const bool is_known = std::find_if(std::begin(known_functions), std::end(known_functions), [&](const char* name) {
                              return one.name == name;
                            }) != std::end(known_functions);
      if (!one.has_body && !is_known && (!is_linked() || is_defined(one.name))) continue;
      if (!one.has_body && is_known) {
        outside_[one.name] = {symbol::kind::function, "", "", "device_" + one.name, 0};
        continue;
      }
      const std::string begin = "namespace in_" + std::to_string(n) + " { ";
      const std::string declared = "void " + readable_name(one.name) + "(" + parameter_list(one) + ")";
      text_ += is_for_others(one) ? outside(begin + (one.is_weak ? "[[gnu::weak]] " : "") + declared + " asm(" +
                                            symbol_of(one.name) + "); }")
                                  : begin + declared + "; }\n";
      outside_[one.name] = {symbol::kind::function, "", "", cpp_name(n), 0};
      if (!one.is_entry && one.has_body)
        text_ +=
            "const bool known_function_" + std::to_string(n) + " = know_function((const void*)&" + cpp_name(n) + ");\n";
    }
    for (const auto& [name, of] : from_.aliases)
      if (const auto known = outside_.find(of); known != outside_.end()) outside_[name] = known->second;
  }

  /// Where each argument of a kernel lies in the bytes of its launch.
  void kernel_parameters(const function& one, size_t number, names& known) {
    uint64_t end = 0;
    std::string places;
    for (const variable& each : one.parameters) {
      const uint64_t align = std::max<uint64_t>({each.align, each.element_bytes() * each.vector, 1});
      end = (end + align - 1) / align * align;
      known.add(each.name, {symbol::kind::variable, "param", each.type,
                            "(uint64_t)(arguments + " + std::to_string(end) + ")", each.size_bytes()});
      places +=
          (places.empty() ? "" : ", ") + ("{" + std::to_string(end) + ", " + std::to_string(each.size_bytes()) + "}");
      end += each.size_bytes();
    }
    if (end > most_parameter_bytes) throw error{one.line, "its parameters are too large"};
    // Behind them, where the blocks of a cooperative launch meet: %envreg1 is the upper half of that address. (What cooperative groups read.)
    end = (end + 7) / 8 * 8;
    const auto half = [&](uint64_t at) {
      return symbol{symbol::kind::reg, "reg", "b32", "from_bytes<uint32_t>(arguments + " + std::to_string(at) + ")", 0};
    };
    known.add("%envreg2", half(end));
    known.add("%envreg1", half(end + 4));
    behind_ += "const bool known_kernel_" + std::to_string(number) + " = know_kernel<" + std::to_string(end + 8) +
               ", &" + cpp_name(number) + ">(" + quoted(outside_name(one.name)) + ", {" + places + "}" +
               (one.cluster.empty() ? "" : ", {" + one.cluster + "}") + ");\n";
  }

  static void function_parameters(const function& one, names& known, emitter& emits) {
    const auto add = [&](const variable& each, const std::string& bytes, bool is_result) {
      if (each.name.empty()) return;
      if (each.space != "reg")
        return known.add(each.name,
                         {symbol::kind::variable, "param", each.type, "(uint64_t)" + bytes, each.size_bytes()});
      const std::string type = storage_of(each.type);
      const std::string name =
          known.local(type, each.name, is_result ? " = 0" : " = from_bytes<" + type + ">(" + bytes + ")");
      known.add(each.name, {symbol::kind::reg, "reg", each.type, name, 0});
      if (is_result) emits.about.results.push_back({name, bytes});
    };
    for (size_t n = 0; n < one.returns.size(); ++n) add(one.returns[n], "result_" + std::to_string(n), true);
    for (size_t n = 0; n < one.parameters.size(); ++n) add(one.parameters[n], "given_" + std::to_string(n), false);
  }

  void declare_inside(const variable& one, names& known) {
    if (one.space == "reg") return known.add_registers(one);
    if (one.space == "shared" || one.space == "global" || one.space == "const") {
      // Not the text of the function, where the declaration stands.
      std::string body = std::move(text_);
      text_.clear();
      symbol made = variable_outside(one);
      before_ += text_;
      text_ = std::move(body);
      return known.add(one.name, std::move(made));
    }
    if (one.size_bytes() > most_local_bytes)
      throw error{0, "the variable " + one.name + " is larger than the local memory of a thread, 512 KiB"};
    const uint64_t align = std::max<uint64_t>({one.align, one.element_bytes() * one.vector, 8});
    const std::string name = known.local("alignas(" + std::to_string(align) + ") unsigned char", one.name,
                                         "[" + std::to_string(std::max<uint64_t>(one.size_bytes(), 1)) + "]");
    known.add(one.name, {symbol::kind::variable, one.space, one.type, "(uint64_t)" + name, one.size_bytes()});
  }

  std::string line_of(const statement& one) {
    const auto file = from_.files.find(one.source.file);
    const bool known = file != from_.files.end() && one.source.line != 0;
    return "#line " + std::to_string(known ? one.source.line : one.line) + " " +
           quoted(known ? file->second : how_.file) + "\n";
  }

  void define(const function& one, size_t number) {
    before_.clear();
    behind_.clear();
    std::string body;
    const std::string kind = one.is_entry ? "kernel " : "function ";
    names known(outside_, "");
    guarded(one.line, kind + readable_name(one.name) + ": ", [&] {
      known.look_for_labels(one.body);
      emitter emits(known);
      emits.about.in_kernel = one.is_entry;
      emits.about.copies_alone = !is_linked() && !functions_copy(from_);
      for (const statement& each : one.body)
        if (each.is == statement::kind::targets) emits.about.targets[each.label] = each.targets;
      if (one.is_entry)
        kernel_parameters(one, number, known);
      else
        function_parameters(one, known, emits);
      body = checks_of_block(one) + body_of(one.body, known, emits);
      // Where the end is reached without a `ret`.
      if (!emits.about.results.empty()) body += "  ;\n";
    });
    const bool is_visible = is_for_others(one);
    text_ += before_ + (is_visible ? "}  // namespace\nnamespace heddle_linked {\n" : "") + "namespace in_" +
             std::to_string(number) + " {\n";
    if (!one.body.empty()) text_ += line_of(one.body.front());
    text_ += "void " + readable_name(one.name) + "(" + parameter_list(one) + ") {\n" + known.locals() + body +
             "}\n}\n" + (is_visible ? "}\nnamespace {\n" : "") + behind_;
  }

  std::string body_of(const std::vector<statement>& statements, names& known, emitter& emits) {
    std::string body;
    std::string line;
    for (const statement& each : statements) {
      switch (each.is) {
        case statement::kind::open:
          known.open();
          break;
        case statement::kind::close:
          known.close();
          break;
        case statement::kind::variable:
          declare_inside(each.declared, known);
          break;
        case statement::kind::label: {
          const std::string label = known.label(each.label);
          emits.passed(label);
          body += " " + label + ": [[maybe_unused]];";
          break;
        }
        case statement::kind::instruction:
          // All of one line of the source stands on one line here.
          if (std::string now = line_of(each); now != line) body += "\n" + (line = std::move(now));
          body += " " + emits.emit(each);
          break;
        default:
          break;
      }
    }
    return body + "\n";
  }

  /// By which the runtime knows it.
  std::string outside_name(const std::string& name) const { return module_.empty() ? name : module_ + "/" + name; }

  const module& from_;
  const translation_options& how_;
  std::string module_;
  std::string linked_;  ///< see linked_as; empty where it is not linked
  std::string text_;
  std::string before_;  ///< what stands before the function that is being made
  std::string behind_;
  std::vector<std::string> errors_;
  std::map<std::string, symbol> outside_;
  std::vector<const variable*> with_addresses_;
  std::set<std::string> assembler_names_;
  size_t variables_ = 0;
};

}  // namespace

translation translate(std::string_view text, const translation_options& how) {
  const parsed found = parse(text);
  if (found.wrong) return {"", {how.file + ":" + std::to_string(found.wrong->line) + ": " + found.wrong->message}};
  const size_t mark = text.rfind(linked_as);
  std::string_view linked = mark == std::string_view::npos ? "" : text.substr(mark + linked_as.size());
  linked = linked.substr(0, linked.find('\n'));
  // It becomes a part of a name in C++.
  if (!linked.empty() && !is_plain_name("_" + std::string(linked)))
    return {"", {how.file + ": the name behind \"heddle: linked as\" is none: take it out by heddle-ptx --extract"}};
  return translator(found.made, how, linked).run();
}

}  // namespace heddle::ptx
