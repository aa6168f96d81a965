#include <heddle/sim/code/type_names.h>

#include <dwarf.h>
#include <heddle/sim/code/debug_session.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace heddle::sim {
namespace {

constexpr int deepest = 16;  // of objects within objects

std::string_view written_name(Dwarf_Die* die) {
  const char* const name = dwarf_diename(die);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

/// Of the library: `_M_elems` of std::array.
bool is_reserved(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])) != 0);
}

/// An object that stands for its value, whatever it calls that: std::atomic and its kin.
bool is_atomic_object(std::string_view name) { return name.starts_with("atomic") || name.starts_with("__atomic"); }

std::optional<uint64_t> number_in(Dwarf_Die* die, unsigned int which) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr_integrate(die, which, &attribute), &value) != 0) return std::nullopt;
  return value;
}

std::optional<Dwarf_Die> referred(Dwarf_Die* die, unsigned int which) {
  Dwarf_Attribute attribute;
  Dwarf_Die found;
  if (dwarf_attr(die, which, &attribute) == nullptr || dwarf_formref_die(&attribute, &found) == nullptr)
    return std::nullopt;
  return found;
}

/// The type that a member, variable or array is declared with, without what does not change its parts.
std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type) == nullptr) return std::nullopt;
  Dwarf_Die peeled;
  if (dwarf_peel_type(&type, &peeled) != 0) return std::nullopt;
  return peeled;
}

uint64_t bytes_of(Dwarf_Die* type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

bool is_class(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

/// Whether the program or a library of its was loaded there: what debug_session() knows ends before what begins as zeros.
bool is_loaded(const void* address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  const auto holds = [](dl_phdr_info* object, size_t, void* what) {
    const uintptr_t place = *static_cast<const uintptr_t*>(what);
    for (size_t n = 0; n < object->dlpi_phnum; ++n) {
      const auto& segment = object->dlpi_phdr[n];
      if (segment.p_type == PT_LOAD && place - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(holds, &wanted) != 0;
}

template <typename Visit>
void for_each_child(Dwarf_Die* of, Visit&& visit) {
  Dwarf_Die child;
  if (dwarf_child(of, &child) != 0) return;
  do visit(child);
  while (dwarf_siblingof(&child, &child) == 0);
}

/// A member or base of a class, that lies within its object.
struct inner {
  Dwarf_Die type;
  std::string_view name;  ///< empty: of a base, or of an unnamed member
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

std::vector<inner> inner_of(Dwarf_Die* of) {
  std::vector<inner> found;
  for_each_child(of, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
    const std::optional<uint64_t> offset = number_in(&child, DW_AT_data_member_location);
    const bool is_static = dwarf_hasattr(&child, DW_AT_external) != 0 || dwarf_hasattr(&child, DW_AT_declaration) != 0;
    if (is_static || (!offset && dwarf_tag(of) != DW_TAG_union_type && dwarf_hasattr(&child, DW_AT_bit_size) != 0))
      return;
    std::optional<Dwarf_Die> type = type_of(&child);
    // A base without members takes no room.
    if (!type || (tag == DW_TAG_inheritance && is_class(dwarf_tag(&*type)) && inner_of(&*type).empty())) return;
    found.push_back({.type = *type,
                     .name = tag == DW_TAG_member ? written_name(&child) : std::string_view(),
                     .offset = offset.value_or(0),
                     .size_bytes = bytes_of(&*type)});
  });
  return found;
}

/// The lengths of an array, the outermost first; 0: it is not known.
std::vector<uint64_t> lengths_of(Dwarf_Die* array) {
  std::vector<uint64_t> lengths;
  for_each_child(array, [&](Dwarf_Die& child) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) return;
    if (const auto count = number_in(&child, DW_AT_count)) return lengths.push_back(*count);
    const auto last = number_in(&child, DW_AT_upper_bound);
    lengths.push_back(last ? *last + 1 : 0);
  });
  return lengths;
}

class program_types {
 public:
  static program_types& instance() {
    static program_types only;
    return only;
  }

  type_number number_of(const Dwarf_Die& type) {
    const auto [known, fresh] = numbers_.try_emplace(type.addr, static_cast<type_number>(types_.size() + 1));
    if (fresh) types_.push_back(type);
    return known->second;
  }
  Dwarf_Die* type(type_number number) { return number == 0 ? nullptr : &types_[number - 1]; }

  type_number template_argument(const void* return_address, const std::string& name) {
    const auto [known, fresh] = arguments_.try_emplace({return_address, name}, 0);
    if (!fresh) return known->second;
    std::vector<Dwarf_Die> around = functions_around(return_address);
    for (size_t n = around.size(); n-- > 0;) {
      Dwarf_Die function = around[n];
      Dwarf_Attribute attribute;
      const char* const called = dwarf_formstring(dwarf_attr_integrate(&function, DW_AT_name, &attribute));
      if (called == nullptr || !std::string_view(called).starts_with(name)) continue;
      // Parameters stand where the function is declared, and compilers repeat them or not.
      bool is_template = false;
      for (std::optional<Dwarf_Die> at = function; at && !is_template;) {
        is_template = first_argument(&*at, known->second);
        std::optional<Dwarf_Die> next = referred(&*at, DW_AT_abstract_origin);
        at = next ? next : referred(&*at, DW_AT_specification);
      }
      if (is_template) break;
    }
    return known->second;
  }

  typed_variable variable(const void* address) {
    // To find all takes a tenth of a second, and most of what is asked for is no variable.
    if (!is_loaded(address)) return {};
    if (!has_variables_) find_variables();
    const auto* const wanted = static_cast<const std::byte*>(address);
    const auto behind = variables_.upper_bound(wanted);
    if (behind == variables_.begin()) return {};
    const auto& [base, one] = *std::prev(behind);
    return static_cast<uint64_t>(wanted - base) < size_of_type(one.type) ? one : typed_variable();
  }

  typed_variable in_frame(const void* return_address, const std::byte* frame_pointer, const std::byte* address) {
    const Dwarf_Addr pc = reinterpret_cast<uintptr_t>(return_address) - 1;
    Dwarf_Addr bias = 0;
    std::vector<Dwarf_Die> around = functions_around(return_address);
    if (around.empty() || dwfl_addrdie(debug_session(), pc, &bias) == nullptr) return {};
    const std::optional<int64_t> base = frame_base_at(&around.front(), pc);
    if (!base) return {};
    typed_variable found;
    find_in_scope(around.front(), pc - bias, frame_pointer + *base, address, found);
    return found;
  }

  uint64_t size_of_type(type_number number) {
    Dwarf_Die* const of = type(number);
    return of == nullptr ? 0 : bytes_of(of);
  }

  std::optional<object_part> part(type_number of, uint64_t offset, uint64_t size_bytes) {
    if (of == 0) return std::nullopt;
    const auto [known, fresh] = parts_.try_emplace({of, offset, size_bytes});
    if (fresh) known->second = look_for_part(*type(of), offset, size_bytes);
    return known->second;
  }

  std::optional<object_part> look_for_part(Dwarf_Die of, uint64_t offset, uint64_t size_bytes) {
    object_part found;
    bool is_value = false;  // what comes below is no part that a program names
    for (int depth = 0; depth < deepest; ++depth) {
      const int tag = dwarf_tag(&of);
      std::optional<Dwarf_Die> next;
      if (is_class(tag)) {
        is_value = is_value || is_atomic_object(written_name(&of));
        const std::vector<inner> all = inner_of(&of);
        const auto holds = [&](const inner& each) {
          return offset >= each.offset && offset + size_bytes <= each.offset + each.size_bytes;
        };
        // Of a union, the member of this size.
        auto into = std::find_if(all.begin(), all.end(),
                                 [&](const inner& each) { return holds(each) && each.size_bytes == size_bytes; });
        if (into == all.end()) into = std::find_if(all.begin(), all.end(), holds);
        if (into != all.end()) {
          if (!is_value && !into->name.empty() && !is_reserved(into->name))
            found.path.append(found.path.empty() ? "" : ".").append(into->name);
          offset -= into->offset;
          next = into->type;
        }
      } else if (tag == DW_TAG_array_type) {
        next = element(&of, offset, size_bytes, is_value ? nullptr : &found.path);
      }
      if (!next) break;
      of = *next;
    }
    if (offset != 0) return std::nullopt;
    found.type = number_of(of);
    return found;
  }

  void pointers(Dwarf_Die of, uint64_t from, int depth, std::vector<pointer_part>& found) {
    constexpr size_t most = 64;
    const int tag = dwarf_tag(&of);
    if (depth == deepest || found.size() >= most) return;
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
      std::optional<Dwarf_Die> to = type_of(&of);
      if (to && bytes_of(&*to) != 0) found.push_back({.offset = from, .to = number_of(*to)});
    } else if (is_class(tag)) {
      for (const inner& each : inner_of(&of)) pointers(each.type, from + each.offset, depth + 1, found);
    } else if (tag == DW_TAG_array_type) {
      std::optional<Dwarf_Die> one = type_of(&of);
      const uint64_t each_bytes = one ? bytes_of(&*one) : 0;
      for (uint64_t at = 0; each_bytes != 0 && at + each_bytes <= bytes_of(&of) && found.size() < most;
           at += each_bytes)
        pointers(*one, from + at, depth + 1, found);
    }
  }

 private:
  /// Whether the function has arguments that are types; `first` is the first of them, and stays where that is void.
  bool first_argument(Dwarf_Die* function, type_number& first) {
    bool found = false;
    for_each_child(function, [&](Dwarf_Die& child) {
      if (found || dwarf_tag(&child) != DW_TAG_template_type_parameter) return;
      found = true;
      if (const std::optional<Dwarf_Die> argument = type_of(&child)) first = number_of(*argument);
    });
    return found;
  }

  /// The element of an array that holds the bytes, whose offset in it remains.
  static std::optional<Dwarf_Die> element(Dwarf_Die* array, uint64_t& offset, uint64_t size_bytes, std::string* path) {
    const std::optional<Dwarf_Die> one = type_of(array);
    if (!one) return std::nullopt;
    Dwarf_Die each = *one;
    uint64_t stride = bytes_of(&each);
    if (stride == 0 || offset % stride + size_bytes > stride) return std::nullopt;
    const std::vector<uint64_t> lengths = lengths_of(array);
    uint64_t index = offset / stride;
    std::string indices;
    for (size_t n = lengths.size(); n-- > 1;) {
      if (lengths[n] == 0) return std::nullopt;
      indices.insert(0, '[' + std::to_string(index % lengths[n]) + ']');
      index /= lengths[n];
    }
    if (path != nullptr) *path += '[' + std::to_string(index) + ']' + indices;
    offset %= stride;
    return each;
  }

  /// The innermost variable, of the scope and those within it that hold the instruction, that has a fixed place in the frame and holds the address.
  void find_in_scope(Dwarf_Die scope, Dwarf_Addr pc, const std::byte* frame_base, const std::byte* address,
                     typed_variable& found) {
    for_each_child(&scope, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && dwarf_haspc(&child, pc) > 0)
        return find_in_scope(child, pc, frame_base, address, found);
      if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) return;
      Dwarf_Attribute attribute;
      Dwarf_Op* operations = nullptr;
      size_t count = 0;
      if (dwarf_attr(&child, DW_AT_location, &attribute) == nullptr ||
          dwarf_getlocation_addr(&attribute, pc, &operations, &count, 1) != 1 || count != 1 ||
          operations[0].atom != DW_OP_fbreg)
        return;
      const std::byte* const base = frame_base + static_cast<Dwarf_Sword>(operations[0].number);
      const char* const name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &attribute));
      const std::optional<Dwarf_Die> is = type_of(&child);
      if (name == nullptr || !is) return;
      const type_number type = number_of(*is);
      if (address >= base && static_cast<uint64_t>(address - base) < size_of_type(type))
        found = {.base = base, .name = name, .type = type};
    });
  }

  void find_variables() {
    has_variables_ = true;
    if (debug_session() == nullptr) return;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_nextcu(debug_session(), nullptr, &bias); unit != nullptr;
         unit = dwfl_nextcu(debug_session(), unit, &bias))
      find_variables_in(*unit, bias);
  }

  void find_variables_in(Dwarf_Die scope, Dwarf_Addr bias) {
    for_each_child(&scope, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
        return find_variables_in(child, bias);
      if (tag != DW_TAG_variable) return;
      Dwarf_Attribute attribute;
      Dwarf_Op* operations = nullptr;
      size_t count = 0;
      if (dwarf_attr(&child, DW_AT_location, &attribute) == nullptr ||
          dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1 || operations[0].atom != DW_OP_addr)
        return;
      const char* const name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &attribute));
      const std::optional<Dwarf_Die> is = type_of(&child);
      if (name == nullptr || !is) return;
      const auto* const base = reinterpret_cast<const std::byte*>(operations[0].number + bias);
      variables_.try_emplace(base, typed_variable{.base = base, .name = name, .type = number_of(*is)});
    });
  }

  std::vector<Dwarf_Die> types_;
  std::map<void*, type_number> numbers_;  ///< by where the entry lies
  std::map<std::pair<const void*, std::string>, type_number> arguments_;
  std::map<std::tuple<type_number, uint64_t, uint64_t>, std::optional<object_part>> parts_;
  std::map<const std::byte*, typed_variable> variables_;
  bool has_variables_ = false;
};

}  // namespace

type_number template_argument_at(const void* return_address, const std::string& name) {
  const std::scoped_lock mine(debug_turn());
  return return_address == nullptr ? 0 : program_types::instance().template_argument(return_address, name);
}

typed_variable typed_variable_at(const void* address) {
  const std::scoped_lock mine(debug_turn());
  return program_types::instance().variable(address);
}

typed_variable variable_in_frame(const void* return_address, const std::byte* frame_pointer, const void* address) {
  const std::scoped_lock mine(debug_turn());
  return program_types::instance().in_frame(return_address, frame_pointer, static_cast<const std::byte*>(address));
}

uint64_t size_of(type_number type) {
  const std::scoped_lock mine(debug_turn());
  return program_types::instance().size_of_type(type);
}

std::optional<object_part> part_at(type_number of, uint64_t offset, uint64_t size_bytes) {
  const std::scoped_lock mine(debug_turn());
  return program_types::instance().part(of, offset, size_bytes);
}

std::vector<pointer_part> pointers_in(type_number of) {
  const std::scoped_lock mine(debug_turn());
  std::vector<pointer_part> found;
  if (const Dwarf_Die* const whole = program_types::instance().type(of))
    program_types::instance().pointers(*whole, 0, 0, found);
  return found;
}

std::vector<std::pair<uint64_t, std::string>> enumerators_of(type_number type) {
  const std::scoped_lock mine(debug_turn());
  std::vector<std::pair<uint64_t, std::string>> found;
  Dwarf_Die* const of = program_types::instance().type(type);
  if (of == nullptr || dwarf_tag(of) != DW_TAG_enumeration_type) return found;
  const uint64_t bits = bytes_of(of) * 8;
  for_each_child(of, [&](Dwarf_Die& child) {
    Dwarf_Attribute attribute;
    if (dwarf_tag(&child) != DW_TAG_enumerator || dwarf_attr(&child, DW_AT_const_value, &attribute) == nullptr) return;
    // In the other forms the value is not extended by its sign.
    const bool is_signed = attribute.form == DW_FORM_sdata || attribute.form == DW_FORM_implicit_const;
    Dwarf_Sword value = 0;
    Dwarf_Word bare = 0;
    if ((is_signed ? dwarf_formsdata(&attribute, &value) : dwarf_formudata(&attribute, &bare)) != 0) return;
    if (is_signed) bare = static_cast<Dwarf_Word>(value);
    found.emplace_back(bits == 0 || bits >= 64 ? bare : bare & ((uint64_t{1} << bits) - 1), written_name(&child));
  });
  return found;
}

}  // namespace heddle::sim
