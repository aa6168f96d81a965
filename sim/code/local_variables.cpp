#include <heddle/sim/code/local_variables.h>

#include <dwarf.h>
#include <heddle/sim/code/debug_session.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace heddle::sim {
namespace {

// rbx, r12 to r15.
bool is_preserved(uint64_t number) { return number == 3 || (number >= 12 && number <= 15); }

/// The size of the type of integers that a variable has; 0 where it has another one.
uint32_t bytes_of_integer(Dwarf_Die* variable) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  Dwarf_Die peeled;
  Dwarf_Word encoding = 0;
  if (dwarf_formref_die(dwarf_attr_integrate(variable, DW_AT_type, &attribute), &type) == nullptr ||
      dwarf_peel_type(&type, &peeled) != 0 || dwarf_tag(&peeled) != DW_TAG_base_type ||
      dwarf_formudata(dwarf_attr_integrate(&peeled, DW_AT_encoding, &attribute), &encoding) != 0 ||
      (encoding != DW_ATE_signed && encoding != DW_ATE_unsigned))
    return 0;
  const int size = dwarf_bytesize(&peeled);
  return size == 1 || size == 2 || size == 4 || size == 8 ? static_cast<uint32_t>(size) : 0;
}

/// Finds the variables of one function at one instruction.
class variables_at {
 public:
  variables_at(Dwarf_Die* function, Dwarf_Addr returns_to, Dwarf_Addr bias)
      : returns_to_(returns_to), bias_(bias), frame_base_(frame_base_at(function, returns_to)) {}

  void look_into(Dwarf_Die scope, size_t depth, uint32_t nesting) {
    Dwarf_Die child;
    if (dwarf_child(&scope, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      const bool is_inlined = tag == DW_TAG_inlined_subroutine;
      // The call belongs to its scope; the instruction behind it may not.
      if ((tag == DW_TAG_lexical_block || is_inlined) && dwarf_haspc(&child, returns_to_ - bias_ - 1) > 0)
        look_into(child, depth + 1, nesting + (is_inlined ? 1 : 0));
      else if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
        look_at(child, depth, nesting);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  std::vector<local_integer> take() {
    std::vector<local_integer> all;
    for (auto& [depth, one] : found_) all.push_back(std::move(one));
    return all;
  }

 private:
  void look_at(Dwarf_Die variable, size_t depth, uint32_t nesting) {
    Dwarf_Attribute attribute;
    const char* const name = dwarf_formstring(dwarf_attr_integrate(&variable, DW_AT_name, &attribute));
    const uint32_t size_bytes = name == nullptr ? 0 : bytes_of_integer(&variable);
    if (size_bytes == 0) return;
    std::optional<local_integer> one = place_of(variable);
    if (!one) return;
    one->name = name;
    one->size_bytes = size_bytes;
    one->nesting = nesting;
    const auto known =
        std::find_if(found_.begin(), found_.end(), [&](const auto& each) { return each.second.name == name; });
    if (known == found_.end())
      found_.emplace_back(depth, *std::move(one));
    else if (known->first <= depth)
      *known = {depth, *std::move(one)};
  }

  std::optional<local_integer> place_of(Dwarf_Die variable) const {
    Dwarf_Attribute attribute;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    if (dwarf_attr(&variable, DW_AT_location, &attribute) == nullptr ||
        dwarf_getlocation_addr(&attribute, returns_to_ - bias_, &operations, &count, 1) != 1 || count != 1)
      return std::nullopt;
    const Dwarf_Op& only = operations[0];
    local_integer made;
    if (only.atom >= DW_OP_reg0 && only.atom <= DW_OP_reg31 && is_preserved(only.atom - DW_OP_reg0)) {
      made.kept = local_integer::kept_in::saved_register;
      made.register_number = static_cast<uint32_t>(only.atom - DW_OP_reg0);
      return made;
    }
    if (only.atom == DW_OP_fbreg && frame_base_)
      made.offset = *frame_base_ + static_cast<Dwarf_Sword>(only.number);
    else if (only.atom == DW_OP_breg0 + register_of_frames)
      made.offset = static_cast<Dwarf_Sword>(only.number);
    else
      return std::nullopt;
    return made;
  }

  Dwarf_Addr returns_to_;
  Dwarf_Addr bias_;
  std::optional<int64_t> frame_base_;
  std::vector<std::pair<size_t, local_integer>> found_;  ///< with how deep their scopes lie
};

}  // namespace

std::vector<local_integer> integers_at(const void* return_address) {
  const std::scoped_lock mine(debug_turn());
  std::vector<Dwarf_Die> around = functions_around(return_address);
  Dwarf_Addr bias = 0;
  const auto returns_to = reinterpret_cast<uintptr_t>(return_address);
  if (around.empty() || dwfl_addrdie(debug_session(), returns_to - 1, &bias) == nullptr) return {};
  variables_at looking(&around.front(), returns_to, bias);
  looking.look_into(around.front(), 0, 0);
  return looking.take();
}

}  // namespace heddle::sim
