#include <heddle/scheduler/printable.h>
#include <heddle/sim/observe/typed_memory.h>
#include <heddle/sim/space/heap.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace heddle::sim {
namespace {

/// Of "request, answer", which names each of two elements: the part of the index; empty where there are not as many parts.
std::string name_of_element(const std::string& names, uint64_t index, uint64_t count) {
  constexpr std::string_view between = ", ";
  std::string found;
  uint64_t parts = 0;
  for (size_t from = 0; from <= names.size(); ++parts) {
    const size_t end = std::min(names.find(between, from), names.size());
    if (parts == index) found = names.substr(from, end - from);
    from = end + between.size();
  }
  return parts == count ? found : std::string();
}

/// Whether a program names parts of an object of this type: it is no word.
bool has_parts(type_number type) {
  constexpr std::array<uint64_t, 4> widths = {1, 2, 4, 8};
  return std::ranges::any_of(widths, [type](uint64_t width) {
    const std::optional<object_part> first = part_at(type, 0, width);
    return first && !first->path.empty();
  });
}

}  // namespace

void typed_memory::launched(const void* bytes, size_t size_bytes, const void* place) {
  constexpr size_t most_kernels = 256;  // the later ones are as a rule those of before
  constexpr size_t most_bytes = 4096;
  if (kernels_.size() == most_kernels || size_bytes > most_bytes) return;
  const auto* const from = static_cast<const std::byte*>(bytes);
  kernels_.push_back({.bytes = {from, from + size_bytes}, .place = place});
}

void typed_memory::accessed(const void* address, const stack_frame& in, const lane& of) {
  constexpr size_t most_frames = 16;
  std::vector<frame>& known = frames_[address];
  const auto is_it = [&](const frame& each) { return each.where == in && each.of == &of; };
  if (known.size() < most_frames && std::none_of(known.begin(), known.end(), is_it))
    known.push_back({.where = in, .of = &of});
}

typed_memory::part typed_memory::in_frame(const void* address, size_t size_bytes) const {
  const auto known = frames_.find(address);
  if (known == frames_.end()) return {};
  part found;
  for (const frame& each : known->second) {
    const typed_variable variable = variable_in_frame(each.where.returns_to, each.where.frame_pointer, address);
    part here;
    if (variable.base != nullptr)
      here = in_variable(variable, static_cast<const std::byte*>(address), size_bytes, " of " + name_of(*each.of));
    // Frames come and go: where several variables have lain there, none is told.
    if (here.name.empty() || (!found.name.empty() && here.name != found.name)) return {};
    found = here;
  }
  return found;
}

typed_memory::part typed_memory::in_variable(const typed_variable& variable, const std::byte* address,
                                             size_t size_bytes, const std::string& behind) {
  const auto found = part_at(variable.type, static_cast<uint64_t>(address - variable.base), size_bytes);
  if (!found) return {};
  // Of an element the path begins with a bracket.
  const bool is_member = !found->path.empty() && found->path.front() != '[';
  return {.name = variable.name + (is_member ? "." : "") + found->path + behind, .type = found->type};
}

typed_memory::part typed_memory::at(const heap& memory, const void* address, size_t size_bytes) const {
  const auto* const wanted = static_cast<const std::byte*>(address);
  if (!memory.contains(address)) {
    const typed_variable variable = typed_variable_at(address);
    return variable.base == nullptr ? in_frame(address, size_bytes) : in_variable(variable, wanted, size_bytes, "");
  }
  const allocation* const known = memory.nearest(address);
  if (known == nullptr || !known->holds(address, size_bytes)) return {};
  const auto asked = std::find_if(allocations_.begin(), allocations_.end(),
                                  [&](const asked_for& each) { return each.base == known->base; });
  type_number asked_type = 0;
  if (asked != allocations_.end())
    for (const char* const name : {"allocate", "try_allocate", "shared_variable"})
      if (asked_type == 0) asked_type = template_argument_at(asked->place, name);
  part best;
  const auto is_best = [&](const objects& each, bool as_elements) {
    part found = in(each, memory, wanted, size_bytes);
    // Memory that is allocated as words or bytes may hold objects all the same.
    const bool is_member = found.name.find("->") != std::string::npos || found.name.find("].") != std::string::npos;
    if (is_member || (as_elements && best.type == 0)) best = std::move(found);
    return is_member;
  };
  if (asked_type != 0 && is_best({.begin = known->base, .type = asked_type}, true)) return best;
  // How many objects lie behind a pointer it does not say: as many as come before those of another pointer. A pointer to a word may be to one of theirs.
  const auto is_cut = [&](const objects& each) {
    return std::ranges::any_of(pointed_at(), [&](const objects& other) {
      return other.type != each.type && other.begin > each.begin && other.begin <= wanted &&
             static_cast<uint64_t>(other.begin - each.begin) >= size_of(each.type) && has_parts(other.type);
    });
  };
  for (const objects& each : pointed_at())
    if (each.begin >= known->base && known->holds(each.begin, 1) && !is_cut(each) && is_best(each, asked_type == 0))
      break;
  return best;
}

const std::vector<typed_memory::objects>& typed_memory::pointed_at() const {
  for (; looked_at_ < kernels_.size(); ++looked_at_) {
    const kernel& each = kernels_[looked_at_];
    for (const pointer_part& one : pointers_in(template_argument_at(each.place, "launch"))) {
      if (one.offset + sizeof(void*) > each.bytes.size()) continue;
      const std::byte* to = nullptr;
      std::memcpy(&to, each.bytes.data() + one.offset, sizeof to);
      const auto is_it = [&](const objects& known) { return known.begin == to && known.type == one.to; };
      if (std::none_of(pointed_at_.begin(), pointed_at_.end(), is_it))
        pointed_at_.push_back({.begin = to, .type = one.to});
    }
  }
  return pointed_at_;
}

typed_memory::part typed_memory::in(const objects& of, const heap& memory, const std::byte* address,
                                    size_t size_bytes) {
  const uint64_t each_bytes = size_of(of.type);
  if (each_bytes == 0 || address < of.begin) return {};
  const allocation& whole = *memory.nearest(of.begin);
  const uint64_t count = static_cast<uint64_t>(whole.base + whole.size_bytes - of.begin) / each_bytes;
  const auto offset = static_cast<uint64_t>(address - of.begin);
  const uint64_t index = offset / each_bytes;
  if (index >= count) return {};
  const auto found = part_at(of.type, offset % each_bytes, size_bytes);
  if (!found) return {};
  // A single word has no part, and which of many bytes it is says no more than its offset.
  const std::string names = scheduler::printable(whole.name);
  const bool is_byte =
      each_bytes == 1 && enumerators_of(of.type).empty() && name_of_element(names, index, count).empty();
  if (found->path.empty() && (count == 1 || is_byte)) return {.name = {}, .type = found->type};
  std::string name = names;
  if (of.begin != whole.base) {
    char text[32];
    std::snprintf(text, sizeof text, "+0x%zx", static_cast<size_t>(of.begin - whole.base));
    name += text;
  }
  if (std::string own = count > 1 && of.begin == whole.base ? name_of_element(names, index, count) : ""; !own.empty())
    name = std::move(own);
  else if (count > 1)
    name += '[' + std::to_string(index) + ']';
  const bool is_member = !found->path.empty() && found->path.front() != '[';
  if (is_member) name += count > 1 ? "." : "->";
  return {.name = name + found->path, .type = found->type};
}

}  // namespace heddle::sim
