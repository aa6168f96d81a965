#include "emit.h"

#include <algorithm>

namespace heddle::ptx {
namespace {

std::string as_tag(const std::string& prefix, std::string name) {
  std::replace(name.begin(), name.end(), ':', '_');
  return prefix + name;
}

/// The type of twice the bits: of u32, u64.
std::string widened(const std::string& type) { return type.substr(0, 1) + std::to_string(bytes_of_type(type) * 16); }

std::string part_of(std::string_view spec, size_t after) { return std::string(spec.substr(after)); }

}  // namespace

std::string tags_of(const std::vector<std::string>& types, const std::vector<std::string>& modifiers) {
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : ", ") + ("t_" + type);
  for (const std::string& modifier : modifiers) text += (text.empty() ? "" : ", ") + as_tag("m_", modifier);
  return text;
}

void emitter::wrong(const std::string& what) const {
  throw error{at_->line, "`" + opcode_of(at_->what) + "`: " + what};
}

// -- instructions --------------------------------------------------------------------------------------------------------------------

std::string emitter::emit(const statement& one) {
  at_ = &one;
  const matched row = match(one.what);
  if (!row.wrong.empty()) wrong("not simulated: " + row.wrong);
  const std::string text = statement_of(row);
  if (one.what.guard.empty()) return text;
  const symbol guard = names_.find(one.what.guard);
  if (guard.is != symbol::kind::reg) wrong(one.what.guard + " is no predicate");
  return std::string("if (") + (one.what.guard_negated ? "!" : "") + guard.expression + ") { " + text + " }";
}

std::string emitter::statement_of(const matched& row) {
  switch (row.of->how) {
    case form::call:
      return plain_call(row);
    case form::move:
      return move(row);
    case form::load:
      return load(row);
    case form::store:
      return store(row);
    case form::atomic:
      return atomic(row);
    case form::multimem:
      return multimem(row);
    case form::jump:
      return jump(row);
    case form::function:
      return call();
    case form::leave:
      return leave();
    case form::barrier:
      return barrier(row);
    case form::copy:
      return copy(row);
    case form::bulk:
      return bulk_copy(row);
    case form::mbarrier:
      return mbarrier(row);
    case form::nothing:
      return ";";
  }
  return ";";
}

const std::string& emitter::carry() {
  if (carry_.empty()) carry_ = names_.local("uint32_t", "carry");
  return carry_;
}

const std::string& emitter::rounds() {
  if (rounds_.empty()) rounds_ = names_.local("uint32_t", "rounds");
  return rounds_;
}

std::string emitter::plain_call(const matched& row) {
  const std::string_view name = row.of->name;
  for (const std::string_view seen : {"fence", "membar", "shfl", "vote", "match", "redux", "activemask", "elect",
                                      "trap", "brkpt", "nanosleep", "barrier", "griddepcontrol"})
    if (name == seen) ++visible_;
  const bool wide = std::find(row.modifiers.begin(), row.modifiers.end(), "wide") != row.modifiers.end();
  std::string arguments;
  std::string assigned;
  size_t n = 0;
  std::string_view specs = row.of->operands;
  while (!specs.empty() && n < at_->what.operands.size()) {
    std::string_view spec = specs.substr(0, specs.find(' '));
    specs.remove_prefix(std::min(spec.size() + 1, specs.size()));
    if (spec.starts_with('?')) spec.remove_prefix(1);
    const size_t colon = spec.find(':');
    std::string type = row.types.empty() ? "pred" : row.types[0];
    if (colon != std::string_view::npos) {
      const std::string said = part_of(spec, colon + 1);
      if (said == "2")
        type = row.types.size() > 1 ? row.types[1] : type;
      else if (said != "wide")
        type = said;
      else if (wide)
        type = widened(type);
    }
    const operand& one = at_->what.operands[n++];
    const bool is_pair = spec.starts_with("d|p");
    if (is_pair) {
      arguments += destination(one, name == "setp" ? "pred" : type) + ", ";
      operand second;
      second.name = one.second.empty() ? "_" : one.second;
      arguments += destination(second, "pred") + ", ";
    } else if (spec.starts_with('d')) {
      if (!one.second.empty()) wrong("a second destination");
      assigned = destination(one, wide ? widened(type) : type);
    } else {
      arguments += source(one, type) + ", ";
    }
  }
  if (row.of->name == std::string_view("add") || name.starts_with("sub") || name.starts_with("add") ||
      name.starts_with("mad"))
    if (at_->what.has("cc") || name == "addc" || name == "subc" || name == "madc") {
      arguments += carry() + ", ";
    }
  if (!arguments.empty()) arguments.resize(arguments.size() - 2);
  const std::string tags = tags_of(row.types, row.modifiers);
  const std::string call = "i_" + std::string(name) + (tags.empty() ? "" : "<" + tags + ">") + "(" + arguments + ")";
  return assigned.empty() ? call + ";" : given(assigned, call);
}

std::string emitter::move(const matched& row) {
  const operand& to = at_->what.operands[0];
  const operand& from = at_->what.operands[1];
  const std::string& type = row.types[0];
  if (to.is == operand::kind::vector) return unpack(to, source(from, type), type);
  const symbol what = from.is == operand::kind::name ? names_.find(from.name) : symbol{};
  const std::string value = source(from, type);
  const bool is_address = what.is == symbol::kind::variable || what.is == symbol::kind::function;
  return given(destination(to, type), is_address ? "(" + storage_of(type) + ")(" + value + ")" : value);
}

std::string emitter::space_of(const matched& row, const operand& at) {
  std::string space;
  for (const std::string& one : row.modifiers) {
    const std::string base = one.substr(0, one.find(':'));
    for (const std::string_view known : {"global", "shared", "local", "const", "param"})
      if (base == known) space = base;
  }
  // A variable says itself where it is.
  if (space.empty() && at.parts.size() == 1 && at.parts[0].is == operand::kind::name) {
    const symbol known = names_.find(at.parts[0].name);
    if (known.is == symbol::kind::variable) space = known.space;
  }
  return "sp_" + (space.empty() ? "generic" : space);
}

std::vector<std::string> how_of(const std::vector<std::string>& modifiers) {
  std::vector<std::string> kept;
  for (const std::string& one : modifiers)
    for (const std::string_view known :
         {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "cluster", "gpu", "sys",
          "and",  "or",       "xor",     "exch",    "cas",     "add",     "inc",  "dec", "min",     "max", "acc::f32"})
      if (one == known) kept.push_back(one);
  return kept;
}

namespace {
size_t lanes_of(const instruction& what) { return what.has("v8") ? 8 : what.has("v4") ? 4 : what.has("v2") ? 2 : 1; }
}  // namespace

/// A call of the library which gives the values of a vector, or one value.
std::string emitter::loaded(const matched& row, const operand& to, const std::string& value) {
  const size_t count = lanes_of(at_->what);
  if (count == 1) return given(destination(to, row.types[0]), value + ".at[0]");
  if (to.is != operand::kind::vector || to.parts.size() != count) wrong("a vector of another size");
  std::string text = "{ const auto heddle_loaded = " + value + "; ";
  for (size_t n = 0; n < count; ++n)
    if (to.parts[n].name != "_")
      text += given(destination(to.parts[n], row.types[0]), "heddle_loaded.at[" + std::to_string(n) + "]") + " ";
  return text + "}";
}

/// The values of a vector, or one value, as an argument.
std::string emitter::stored(const matched& row, const operand& from) {
  const std::string type = "(" + storage_of(row.types[0]) + ")(";
  const size_t count = lanes_of(at_->what);
  if (count == 1) return "{" + type + source(from, row.types[0]) + ")}";
  if (from.is != operand::kind::vector || from.parts.size() != count) wrong("a vector of another size");
  std::string values;
  for (const operand& one : from.parts) values += (values.empty() ? "" : ", ") + type + source(one, row.types[0]) + ")";
  return "{" + values + "}";
}

std::string emitter::load(const matched& row) {
  const operand& at = at_->what.operands[1];
  const std::string space = space_of(row, at);
  if (space != "sp_param" && space != "sp_local") ++visible_;
  return loaded(row, at_->what.operands[0],
                "ld<" + space + ", " + std::to_string(lanes_of(at_->what)) + ", " +
                    tags_of(row.types, how_of(row.modifiers)) + ">(" + address(at) + ")");
}

std::string emitter::store(const matched& row) {
  const operand& at = at_->what.operands[0];
  const std::string space = space_of(row, at);
  if (space != "sp_param" && space != "sp_local") ++visible_;
  return "st<" + space + ", " + std::to_string(lanes_of(at_->what)) + ", " + tags_of(row.types, how_of(row.modifiers)) +
         ">(" + address(at) + ", " + stored(row, at_->what.operands[1]) + ");";
}

std::string emitter::multimem(const matched& row) {
  ++visible_;
  const auto& all = at_->what.operands;
  const bool gives = at_->what.has("ld_reduce");
  const std::string name = gives ? "ld_reduce" : at_->what.has("st") ? "st" : "red";
  const std::string call = "multimem_" + name + "<" + std::to_string(lanes_of(at_->what)) + ", " +
                           tags_of(row.types, how_of(row.modifiers)) + ">(" + address(all[gives ? 1 : 0]);
  return gives ? loaded(row, all[0], call + ")") : call + ", " + stored(row, all[1]) + ");";
}

std::string emitter::atomic(const matched& row) {
  ++visible_;
  const bool gives = row.of->name == std::string_view("atom");
  const size_t first = gives ? 1 : 0;
  const auto& all = at_->what.operands;
  if (all.size() < first + 2) wrong("operands are missing");
  const operand& at = all[first];
  if (row.types[0] == "b128" && !at_->what.has("exch") && !at_->what.has("cas"))
    wrong("of 128 bits there are .exch and .cas");
  if (lanes_of(at_->what) != 1) {
    const std::string each = "each_of_vector<" + space_of(row, at) + ", " + std::to_string(lanes_of(at_->what)) + ", " +
                             tags_of(row.types, how_of(row.modifiers)) + ">(" + address(at) + ", " +
                             stored(row, all[first + 1]) + ")";
    return gives ? loaded(row, all[0], each) : each + ";";
  }
  std::string arguments = address(at) + ", " + source(all[first + 1], row.types[0]);
  if (at_->what.has("cas")) {
    if (all.size() < 4) wrong("cas has two values");
    arguments += ", " + source(all[3], row.types[0]);
  }
  const std::string call =
      "atom<" + space_of(row, at) + ", " + tags_of(row.types, how_of(row.modifiers)) + ">(" + arguments + ")";
  return gives ? given(destination(all[0], row.types[0]), call) : call + ";";
}

// -- flow ----------------------------------------------------------------------------------------------------------------------------

std::string emitter::go_to(const std::string& name) {
  const std::string label = names_.label(name);
  if (label.empty()) wrong("there is no label " + name);
  // A loop in which nothing can be seen gives others their turn, or the run would never end.
  const auto back = seen_.find(label);
  const bool is_silent = back != seen_.end() && back->second == visible_;
  return (is_silent ? "silent_loop(" + rounds() + "); " : "") + "goto " + label + ";";
}

std::string emitter::jump(const matched& row) {
  const auto& all = at_->what.operands;
  if (row.of->name == std::string_view("bra")) return go_to(all[0].name);
  const auto list = about.targets.find(all[1].name);
  if (list == about.targets.end()) wrong("there is no list of targets " + all[1].name);
  std::string text = "switch (" + source(all[0], "u32") + ") { ";
  for (size_t n = 0; n < list->second.size(); ++n)
    text += "case " + std::to_string(n) + ": " + go_to(list->second[n]) + " ";
  return text + "}";
}

std::string emitter::leave() {
  if (at_->what.name == "exit" && !about.in_kernel) wrong("not simulated in a function that is no kernel");
  std::string text;
  for (const auto& [from, to] : about.results) text += "to_bytes(" + to + ", " + from + "); ";
  return text + "return;";
}

std::string emitter::call() {
  ++visible_;
  const auto& all = at_->what.operands;
  size_t n = 0;
  operand results;
  if (all[n].is == operand::kind::group && all.size() > 1) results = all[n++];
  const operand& callee = all[n++];
  operand arguments;
  if (n < all.size() && all[n].is == operand::kind::group) arguments = all[n];
  std::string before;
  std::string behind;
  std::string passed;
  const auto pass = [&](const operand& one, bool is_result) {
    if (!passed.empty()) passed += ", ";
    const symbol known = one.is == operand::kind::name ? names_.find(one.name) : symbol{};
    if (known.is == symbol::kind::variable && known.space == "param") {
      passed += "(unsigned char*)(" + known.expression + ")";
      return;
    }
    if (known.is != symbol::kind::reg && is_result) wrong("a result that is no parameter");
    const std::string type = known.is == symbol::kind::reg ? known.type : "b64";
    const std::string bytes = names_.local("unsigned char", "bytes", "[16] = {}");
    if (is_result)
      behind += " " + known.expression + " = from_bytes<" + storage_of(type) + ">(" + bytes + ");";
    else
      before += "to_bytes(" + bytes + ", (" + storage_of(type) + ")(" + source(one, type) + ")); ";
    passed += bytes;
  };
  for (const operand& one : results.parts) pass(one, true);
  for (const operand& one : arguments.parts) pass(one, false);
  const symbol target = names_.find(callee.name);
  if (target.is == symbol::kind::function) return before + target.expression + "(" + passed + ");" + behind;
  if (target.is != symbol::kind::reg) wrong("there is no function " + callee.name);
  std::string types;
  for (n = 0; n < results.parts.size() + arguments.parts.size(); ++n)
    types += (types.empty() ? "" : ", ") + std::string("unsigned char*");
  return before + "reinterpret_cast<void (*)(" + types + ")>(function_at(" + target.expression + "))(" + passed + ");" +
         behind;
}

std::string emitter::barrier(const matched& row) {
  ++visible_;
  const instruction& what = at_->what;
  const bool reduces = what.has("red");
  if (what.operands.size() < (reduces ? 3 : 1)) wrong("operands are missing");
  if (what.has("warp")) return "warp_barrier(" + source(what.operands[0], "u32") + ");";
  const size_t first = reduces ? 1 : 0;
  const std::string id = source(what.operands[first], "u32");
  const size_t behind = what.operands.size() - first - (reduces ? 1 : 0);
  const std::string count = behind > 1 ? source(what.operands[first + 1], "u32") : "0";
  const char* const aligned = what.name == "bar" || what.has("aligned") ? ", true>(" : ", false>(";
  if (what.has("arrive") && behind < 2) wrong("it arrives with a count");
  if (!reduces)
    return std::string("block_barrier<") + (what.has("arrive") ? "m_arrive" : "m_sync") + aligned + id + ", " + count +
           ");";
  const char* const how = what.has("popc") ? "m_popc" : what.has("and") ? "m_and" : "m_or";
  const std::string call = std::string("block_barrier<") + how + aligned + id + ", " + count + ", " +
                           source(what.operands.back(), "pred") + ")";
  return given(destination(what.operands[0], row.types.empty() ? "pred" : row.types[0]), call);
}

std::string checks_of_block(const function& one) {
  std::string text;
  if (!one.maxntid.empty()) text += " threads_at_most({" + one.maxntid + "});";
  if (!one.reqntid.empty()) text += " threads_are({" + one.reqntid + "});";
  return text;
}

}  // namespace heddle::ptx
