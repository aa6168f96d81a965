// What the step of one lane touches, as a search through all runs has to know it: two steps that touch nothing in common lead to one state in
// either order.
#pragma once

#include <heddle/sim/machine/operation.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

struct lane;

class footprint {
 public:
  /// Bytes, of which granules count: scoped memory keeps what is known by granule.
  struct range {
    uintptr_t first = 0;
    uintptr_t last = 0;
    bool writes = false;  ///< it may write there
  };

  /// A step begins.
  void begin() {
    ranges_.clear();
    told_ = true;
    on_ = true;
  }
  void stop() { on_ = false; }
  bool is_on() const { return on_; }
  /// The lane has made its pending operation.
  void add(const lane& self);
  void add_read(const void* address, size_t size_bytes) { add(address, size_bytes, false); }
  void add_write(const void* address, size_t size_bytes) { add(address, size_bytes, true); }
  /// The lane has ended: in what order lanes do is told, as of stores to one word.
  void add_end() { add_write(nullptr, 1); }

  const std::vector<range>& ranges() const { return ranges_; }
  /// Whether they are all that the step depends on, and all that it has changed of what other lanes may notice.
  bool is_whole() const { return told_; }

 private:
  static constexpr uintptr_t granule_bytes = 8;
  void add(const void* address, size_t size_bytes, bool writes) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    ranges_.push_back({at / granule_bytes, (at + size_bytes - 1) / granule_bytes, writes});
  }

  std::vector<range> ranges_;
  bool told_ = false;
  bool on_ = false;
};

}  // namespace heddle::sim
