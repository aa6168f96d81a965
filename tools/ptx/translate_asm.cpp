#include <algorithm>

#include "emit.h"
#include "translate.h"

namespace heddle::ptx {
namespace {

/// The statements of an asm text, whose only memory is what it is given.
std::string body_of_asm(const std::vector<statement>& statements, names& known, emitter& emits) {
  std::string body;
  for (const statement& each : statements) {
    switch (each.is) {
      case statement::kind::open:
        known.open();
        break;
      case statement::kind::close:
        known.close();
        break;
      case statement::kind::variable:
        if (each.declared.space != "reg")
          throw error{each.line, "a variable that is no register is not simulated in asm"};
        known.add_registers(each.declared);
        break;
      case statement::kind::label:
        emits.passed(known.label(each.label));
        body += known.label(each.label) + ": __attribute__((unused)); ";
        break;
      case statement::kind::instruction:
        if (each.what.name == "ret" || each.what.name == "exit" || each.what.name == "call")
          throw error{each.line, "`" + each.what.name + "` is not simulated in asm"};
        body += emits.emit(each) + " ";
        break;
      default:
        throw error{each.line, "lists of labels and prototypes are not simulated in asm"};
    }
  }
  return body;
}

}  // namespace

std::string register_type(std::string_view type) { return "::" + storage_of(type); }

translation translate_asm(std::string_view text, const std::vector<asm_register>& registers, size_t number) {
  translation made;
  const parsed_statements found = parse_statements(text);
  if (found.wrong) return {"", {found.wrong->message}};
  try {
    const std::map<std::string, symbol> nothing;
    names known(nothing, std::to_string(number));
    known.look_for_labels(found.made);
    emitter emits(known);
    emits.about.in_kernel = false;
    for (size_t n = 0; n < registers.size(); ++n)
      known.add("%operand" + std::to_string(n),
                {symbol::kind::reg, "reg", registers[n].type, registers[n].expression, 0});
    const std::string body = body_of_asm(found.made, known, emits);
    made.text = known.locals() + body;
    std::replace(made.text.begin(), made.text.end(), '\n', ' ');
  } catch (const error& wrong) {
    made.errors.push_back(wrong.message);
  }
  return made;
}

}  // namespace heddle::ptx
