#include <heddle/scheduler/own_work.h>
#include <heddle/sim/space/file_words.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/space/memory_map.h>
#include <heddle/sim/space/program_heap.h>
#include <link.h>

#include <algorithm>
#include <iterator>
#include <vector>

// The bounds of the program's own image, set by the linker.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {

memory_map::memory_map()
    : image_low_(reinterpret_cast<uintptr_t>(&__executable_start)), image_high_(reinterpret_cast<uintptr_t>(&_end)) {
  for (const variable_block& each : unseen_variables())
    if (each.size_bytes() != 0) unseen.push_back(each);
}

void memory_map::take_stacks(size_t device_stack_bytes, size_t host_stack_bytes) {
  if (device_stacks == nullptr || device_stacks->stack_bytes() != device_stack_bytes)
    device_stacks = std::make_unique<stack_arena>(device_stack_bytes, most_lanes_at_once);
  if (host_stacks == nullptr || host_stacks->stack_bytes() != host_stack_bytes)
    host_stacks = std::make_unique<stack_arena>(host_stack_bytes, most_hosts);
}

uint64_t memory_map::stable(uint64_t word) const {
  // Where things lie differs from process to process; how far they are from the start of their region does not.
  enum region : uint64_t { of_image = 2, of_device_stacks = 3, of_host_stacks = 4, of_program_heap = 5, of_ranges = 6 };
  if (heap.contains(reinterpret_cast<const void*>(word)))
    return in_heap(heap.offset_of(reinterpret_cast<const void*>(word)));
  if (mapped_ranges::contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_ranges} << 60 | mapped_ranges::offset_of(reinterpret_cast<const void*>(word));
  if (word - image_low_ < image_high_ - image_low_) return uint64_t{of_image} << 60 | (word - image_low_);
  if (device_stacks->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_device_stacks} << 60 | device_stacks->offset_of(reinterpret_cast<const void*>(word));
  if (host_stacks->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_host_stacks} << 60 | host_stacks->offset_of(reinterpret_cast<const void*>(word));
  if (const size_t offset = offset_in_program_heap(reinterpret_cast<const void*>(word)); offset != in_no_program_heap)
    return uint64_t{of_program_heap} << 60 | offset;
  return unstable;
}

namespace {

/// Segments of the program and of the libraries that it was loaded with which cannot be written, and what cannot be once it has been
/// relocated: string literals, tables, vtables. And what heddle keeps for them.
struct constant_ranges {
  struct range {
    uintptr_t first = 0;
    uintptr_t end = 0;
  };
  std::vector<range> all;

  constant_ranges() {
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* to) {
          for (size_t n = 0; n < object->dlpi_phnum; ++n) {
            const auto& segment = object->dlpi_phdr[n];
            const bool is_fixed =
                (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) || segment.p_type == PT_GNU_RELRO;
            const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
            if (is_fixed) static_cast<constant_ranges*>(to)->all.push_back({first, first + segment.p_memsz});
          }
          return 0;
        },
        this);
    const auto own = scheduler::own_constants();
    all.push_back({reinterpret_cast<uintptr_t>(own.data()), reinterpret_cast<uintptr_t>(own.data() + own.size())});
    std::sort(all.begin(), all.end(), [](const range& one, const range& other) { return one.first < other.first; });
  }
};

}  // namespace

bool memory_map::look_whether_constant(const void* address) const {
  static const constant_ranges known;
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const auto behind =
      std::upper_bound(known.all.begin(), known.all.end(), wanted,
                       [](uintptr_t place, const constant_ranges::range& each) { return place < each.first; });
  const uintptr_t low = behind == known.all.begin() ? 0 : std::prev(behind)->end;
  if (wanted < low) return true;
  variable_low_ = low;
  variable_bytes_ = (behind == known.all.end() ? ~uintptr_t{0} : behind->first) - low;
  return false;
}

bool memory_map::stays_readable(const void* address) const {
  return !may_vanish(address) || (heap.program() != nullptr && heap.program()->contains(address));
}

std::string memory_map::file_at(const void* address) { return name_of_file_word(address); }

}  // namespace heddle::sim
