// Addresses at which a program maps memory that lies elsewhere, and gives devices the right to reach it: reserved, mapped and unmapped by the
// program itself. Several may map the same memory. (CUDA Driver API, "Virtual Memory Management", "Multicast Object Management".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

/// What may be done with a mapping.
enum class mapping_right : uint8_t { none, read, write };

/// Memory of one device, or one that stands for memory of several: known by its number, from 1.
struct mappable {
  struct part {
    size_t at = 0;  ///< in the object
    size_t size_bytes = 0;
    std::byte* base = nullptr;
    uint32_t device = 0;
    uint64_t number = 0;  ///< of the object that has them
  };
  size_t size_bytes = 0;
  std::byte* base = nullptr;  ///< null: of several devices
  uint32_t device = 0;
  bool on_host = false;
  uint32_t references = 0;        ///< by handles of the program
  uint32_t mappings = 0;          ///< by ranges, and by objects of several devices
  uint32_t wanted = 0;            ///< of several devices: how many
  std::vector<uint32_t> devices;  ///< that have been added
  std::vector<part> parts;        ///< what they have bound

  bool is_multicast() const { return base == nullptr; }
  bool is_known() const { return references != 0 || mappings != 0; }
};

class mapped_ranges {
 public:
  // Known when heddle is compiled, so that an access elsewhere costs one comparison. No kernel, no sanitizer and no program puts anything there.
  static constexpr uintptr_t first_address = uintptr_t{24} << 40;
  static constexpr size_t capacity_bytes = size_t{1} << 40;
  /// What sizes and addresses are multiples of.
  static constexpr size_t granule_bytes = 65536;

  static bool contains(const void* address) {
    return reinterpret_cast<uintptr_t>(address) - first_address < capacity_bytes;
  }
  static size_t offset_of(const void* address) { return reinterpret_cast<uintptr_t>(address) - first_address; }
  static bool is_whole(size_t bytes) { return bytes != 0 && bytes % granule_bytes == 0; }

  mapped_ranges() = default;
  ~mapped_ranges();
  mapped_ranges(const mapped_ranges&) = delete;
  mapped_ranges& operator=(const mapped_ranges&) = delete;

  /// Forgets all; nothing is mapped then.
  void reset() {
    if (!is_untouched()) begin_anew();
  }

  /// Addresses that no other range has had in this run; null when there are none left. Both are whole granules.
  void* reserve(size_t size_bytes, size_t alignment);
  /// False where this is no range that has nothing mapped.
  bool free(void* first, size_t size_bytes);

  /// The object's number.
  uint64_t add(mappable made);
  /// Null where no such object is known.
  mappable* find(uint64_t number);
  /// One that was added, be it gone.
  mappable& object(uint64_t number) { return objects_[number - 1]; }
  /// A new file descriptor that stands for the object, which the program closes; -1 where the system has none left.
  int export_object(uint64_t number);
  /// What the descriptor, or the one that it is a duplicate of, was exported for; 0: nothing.
  uint64_t exported_as(int descriptor) const;

  /// Maps bytes of the object from `at` on; false where the range does not have all these addresses free.
  bool map(void* to, size_t size_bytes, uint64_t number, size_t at);
  /// Calls `let_go(number)` for each mapping that lies in the range; false, and nothing is unmapped, where they do not fill it.
  template <typename LetGo>
  bool unmap(void* from, size_t size_bytes, LetGo&& let_go) {
    const auto [first, last] = filling(from, size_bytes);
    if (first == last) return false;
    for (size_t n = first; n < last; ++n) let_go(mappings_[n].number);
    close(first, last);
    return true;
  }
  /// `device`: of_host for the host. False where the mappings do not fill the range.
  bool allow(void* from, size_t size_bytes, uint32_t device, mapping_right what);
  static constexpr uint32_t of_host = ~uint32_t{0};
  /// What the device may do there; nothing where nothing is mapped.
  mapping_right right_of(const void* address, uint32_t device) const;

  /// Where the bytes lie that are reached at this address; null where nothing is mapped, or memory of several devices.
  std::byte* home_of(const void* address) const;
  /// How many bytes from this address on, of so many, lie one behind the other.
  size_t bytes_together(const void* address, size_t size_bytes) const;
  /// The object that is mapped there; 0: none.
  uint64_t mapped_at(const void* address) const;
  /// How far from the beginning of that object the address is.
  size_t offset_in_object(const void* address) const;
  /// The memory of each device, at this address, of an object of several; empty where it is none, or not all of them have the bytes.
  std::vector<std::byte*> homes_of(const void* address, size_t size_bytes) const;
  /// The range that holds the address: where it begins, and its size; null where none does.
  std::pair<void*, size_t> range_of(const void* address) const;
  /// The mapping that holds the address, likewise.
  std::pair<void*, size_t> mapping_of(const void* address) const;

  /// Calls to.fact() with all that decides what an access to a range does, and what calls do; false when one of them does.
  template <typename Facts>
  bool tell(Facts& to) const {
    bool all = to.fact(ranges_.size()) && to.fact(objects_.size());
    for (const range& each : ranges_) all = all && to.fact(each.size_bytes << 1 | (each.is_free ? 1 : 0));
    for (const mapping& each : mappings_) {
      all =
          all && to.fact(offset_of(each.first)) && to.fact(each.size_bytes) && to.fact(each.number) && to.fact(each.at);
      for (const grant& one : each.grants)
        all = all && to.fact(uint64_t{one.device} << 2 | static_cast<uint64_t>(one.what));
    }
    for (const mappable& each : objects_) {
      all = all && to.fact(uint64_t{each.references} << 32 | each.mappings);
      for (const uint32_t device : each.devices) all = all && to.fact(device);
      for (const mappable::part& part : each.parts)
        all = all && to.fact(part.at) && to.fact(part.size_bytes) && to.fact(part.number) && to.fact(part.device);
    }
    return all;
  }

  /// Why an access by a lane of the device, or the host, ends there: nothing lets it go on.
  std::string why_not(const void* address, uint32_t device) const;
  /// "cuMemAddressReserve 1+0x40", for people.
  std::string describe(const void* address) const;

 private:
  struct range {
    std::byte* first = nullptr;
    size_t size_bytes = 0;
    bool is_free = false;
  };
  struct grant {
    uint32_t device;
    mapping_right what;
  };
  struct mapping {
    std::byte* first = nullptr;
    size_t size_bytes = 0;
    uint64_t number = 0;
    size_t at = 0;  ///< in the object
    std::vector<grant> grants;

    std::byte* end() const { return first + size_bytes; }
  };

  bool is_untouched() const { return ranges_.empty() && objects_.empty(); }
  void begin_anew();
  /// The mapping that holds the address; null where none does.
  const mapping* holding(const void* address) const;
  /// The mappings [first, second) that fill these bytes, beginning and ending with them; none where they do not.
  std::pair<size_t, size_t> filling(const void* from, size_t size_bytes) const;
  void close(size_t first, size_t last);

  bool is_reserved_ = false;  ///< the addresses are this process's
  size_t used_bytes_ = 0;
  std::vector<range> ranges_;      ///< by address
  std::vector<mapping> mappings_;  ///< by address
  std::vector<mappable> objects_;  ///< by number
  struct exported {
    int descriptor;
    uint64_t file;  ///< its number in the file system
    uint64_t number;
  };
  std::vector<exported> exported_;
};

}  // namespace heddle::sim
