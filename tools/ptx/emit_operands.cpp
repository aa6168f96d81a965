// Operands of instructions as C++.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emit.h"

namespace heddle::ptx {
namespace {

constexpr const char* specials[] = {"%tid.x",
                                    "%tid.y",
                                    "%tid.z",
                                    "%ntid.x",
                                    "%ntid.y",
                                    "%ntid.z",
                                    "%ctaid.x",
                                    "%ctaid.y",
                                    "%ctaid.z",
                                    "%nctaid.x",
                                    "%nctaid.y",
                                    "%nctaid.z",
                                    "%laneid",
                                    "%warpid",
                                    "%nwarpid",
                                    "%smid",
                                    "%nsmid",
                                    "%gridid",
                                    "%clock",
                                    "%clock_hi",
                                    "%clock64",
                                    "%globaltimer",
                                    "%globaltimer_lo",
                                    "%globaltimer_hi",
                                    "%lanemask_eq",
                                    "%lanemask_lt",
                                    "%lanemask_le",
                                    "%lanemask_gt",
                                    "%lanemask_ge",
                                    "%cluster_ctarank",
                                    "%clusterid.x",
                                    "%clusterid.y",
                                    "%clusterid.z",
                                    "%cluster_nctarank",
                                    "%is_explicit_cluster",
                                    "%nclusterid.x",
                                    "%nclusterid.y",
                                    "%nclusterid.z",
                                    "%cluster_ctaid.x",
                                    "%cluster_ctaid.y",
                                    "%cluster_ctaid.z",
                                    "%cluster_nctaid.x",
                                    "%cluster_nctaid.y",
                                    "%cluster_nctaid.z",
                                    "%dynamic_smem_size"};

std::string literal(uint64_t bits) {
  char text[32];
  std::snprintf(text, sizeof text, bits < 10 ? "%llu" : "0x%llxu", static_cast<unsigned long long>(bits));
  return text;
}

template <typename To, typename From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To made;
  std::memcpy(&made, &from, sizeof made);
  return made;
}

}  // namespace

bool is_special(const std::string& name) {
  return std::find_if(std::begin(specials), std::end(specials), [&](const char* one) { return name == one; }) !=
         std::end(specials);
}

std::string emitter::constant(const operand& from, const std::string& type) const {
  const bool to_single = type == "f32";
  if (from.is == operand::kind::integer) return literal(from.bits) + (from.bits >> 32 != 0 ? "ll" : "");
  if (from.is == operand::kind::single) {
    if (type != "f64") return literal(from.bits);
    return literal(bits_as<uint64_t>(static_cast<double>(bits_as<float>(static_cast<uint32_t>(from.bits)))));
  }
  if (to_single) return literal(bits_as<uint32_t>(static_cast<float>(bits_as<double>(from.bits))));
  if (type == "f16" || type == "bf16" || type == "f16x2" || type == "bf16x2")
    wrong("a constant of this type must be given by its bits");
  return literal(from.bits) + "ll";
}

std::string emitter::source(const operand& from, const std::string& type) {
  switch (from.is) {
    case operand::kind::name: {
      if (from.name == "WARP_SZ") return "32u";
      if (from.name == "_") return "0";
      const symbol known = names_.find(from.name);
      std::string text = known.expression;
      if (known.is == symbol::kind::none) {
        if (!is_special(from.name))
          wrong(from.name + (from.name.starts_with('%')
                                 ? " is declared nowhere, and is no special register that is simulated"
                                 : " is declared nowhere"));
        text = from.name.substr(1);
        std::replace(text.begin(), text.end(), '.', '_');
        if (text.starts_with("clock") || text.starts_with("globaltimer")) ++visible_;
        text = "s_" + text + "()";
      }
      if (known.is == symbol::kind::reg && bytes_of_type(known.type) > bytes_of_type(type))
        text = "(" + storage_of(type) + ")" + text;
      if (from.offset != 0) text = "(" + text + " + " + literal(static_cast<uint64_t>(from.offset)) + ")";
      return from.negated ? "!" + text : text;
    }
    case operand::kind::vector:
      return pack(from, type);
    case operand::kind::address:
    case operand::kind::group:
      wrong("an address stands where a value belongs");
    default:
      return from.negated ? (from.bits == 0 ? "1" : "0") : constant(from, type);
  }
}

std::string emitter::destination(const operand& to, const std::string& type) {
  // Also `{%r1}` is one register.
  if (to.is == operand::kind::vector && to.parts.size() == 1) return destination(to.parts[0], type);
  if (to.is != operand::kind::name) wrong("a destination is no register");
  if (to.name == "_") return names_.local(storage_of(type), "sink");
  const symbol known = names_.find(to.name);
  if (known.is != symbol::kind::reg) wrong(to.name + " is no register");
  return known.expression;
}

std::string emitter::address(const operand& at) {
  if (at.is != operand::kind::address || at.parts.size() != 1) wrong("an address [..] is missing");
  std::string text = source(at.parts[0], "u64");
  if (at.offset != 0) text += " + " + literal(static_cast<uint64_t>(at.offset)) + "ll";
  return text;
}

std::string emitter::pack(const operand& from, const std::string& type) {
  const size_t count = from.parts.size();
  const uint32_t bytes = bytes_of_type(type);
  if (count == 0 || bytes % count != 0) wrong("a vector of another size");
  const size_t bits = bytes * 8 / count;
  const std::string part_type = "b" + std::to_string(bits);
  std::string text;
  for (size_t n = 0; n < count; ++n)
    text += (n == 0 ? "" : " | ") + ("(" + storage_of(type)) + ")(" + storage_of(part_type) + ")(" +
            source(from.parts[n], part_type) + ") << " + std::to_string(n * bits);
  return "(" + text + ")";
}

std::string emitter::unpack(const operand& to, const std::string& value, const std::string& type) {
  const size_t count = to.parts.size();
  const uint32_t bytes = bytes_of_type(type);
  if (count == 0 || bytes % count != 0) wrong("a vector of another size");
  const size_t bits = bytes * 8 / count;
  std::string text = "{ const " + storage_of(type) + " whole = " + value + "; ";
  for (size_t n = 0; n < count; ++n) {
    if (to.parts[n].name == "_") continue;
    const std::string part_type = "b" + std::to_string(bits);
    text += destination(to.parts[n], part_type) + " = (" + storage_of(part_type) + ")(whole >> " +
            std::to_string(n * bits) + "); ";
  }
  return text + "}";
}

}  // namespace heddle::ptx
