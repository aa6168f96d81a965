// Memory as a program asks for it: virtual addresses of a process, in whole pages of a device.
#pragma once

#include <heddle/driver/device_table.h>
#include <heddle/driver/ids.h>
#include <heddle/driver/page_table.h>
#include <heddle/driver/physical_memory.h>
#include <heddle/driver/split.h>
#include <heddle/rpc/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle::driver {

/// What must hear of pages that change, because it keeps translations or bytes of them.
class page_watcher {
 public:
  virtual ~page_watcher() = default;
  /// The entry has gone, or is about to point elsewhere; its physical page is free.
  virtual void released(const page& old) = 0;
  /// The entry points at another page now, to which nothing has been moved.
  virtual void replaced(const page& fresh) = 0;
};

/// Every call either does all that it says or answers with an error and changes nothing. A virtual address is given out
/// once: what has been freed stays free, and using it stays an error. Allocating and freeing takes a bounded number of
/// steps a page and, after a while, no memory of the host.
///
/// The calls are those of the memory allocator of MGPUSim's driver (sarchlab/mgpusim); free() is not implemented there.
class memory_allocator {
 public:
  memory_allocator(unsigned page_bits, const device_table& devices, page_watcher& watcher,
                   const split_rule& split = even_split());

  /// A range of physical addresses for this device.
  result<physical_memory::range> add_memory(device_id device, uint64_t size_bytes);

  process_id create_process();

  /// Pages for `bytes`, at least 1, in the memory of `device`. A unified device's GPUs each take consecutive pages, by the rule of the split.
  /// `unified`: a page may move to the GPU that uses it. The address of the first byte, which begins a page.
  result<uint64_t> allocate(process_id process, uint64_t bytes, device_id device, bool unified = false);

  /// Gives a whole buffer back: `address` is where it begins. Errors: nothing begins there, it has been given back, or it is in use.
  result<void> free(process_id process, uint64_t address);

  /// Other physical pages, on `device`, for those pages of a buffer that hold a byte of the range. No byte is moved: until they are
  /// written, the new pages are poisoned. They may move if they might before. A unified device's GPUs each take consecutive pages.
  result<void> remap(process_id process, uint64_t address, uint64_t bytes, device_id device);

  /// Takes the page that holds this address out of its process. The buffer's other pages stay.
  result<void> remove_page(process_id process, uint64_t address);

  /// Another physical page, on `device`, which must not be a unified one, for the page that holds this address; poisoned.
  result<page> allocate_page_at(process_id process, device_id device, uint64_t address, bool unified);

  /// Moves the entry to a fresh page of `device` and says which it was before. Nothing is poisoned, and the watcher is not
  /// told: the caller moves the bytes, does the rest, and gives the old page back. An error where the device has no page left.
  result<page> move(page_slot& slot, device_id device);
  void give_back(const page& old) { physical_.give(old.device, old.physical_address); }

  /// An error that names `call` unless all these bytes are in one buffer of the process, and at least one. Where it begins.
  result<uint64_t> buffer_of(const char* call, process_id process, uint64_t address, uint64_t bytes) const;
  /// The buffer that the address lies in; 0 where it lies in none.
  uint64_t buffer_at(process_id process, uint64_t address) const;
  /// While a buffer is held it can neither be freed nor remapped. As often let go as held. `address` is where it begins.
  void hold(process_id process, uint64_t address);
  void let_go(process_id process, uint64_t address);

  const page_table& pages() const { return pages_; }
  const physical_memory& physical() const { return physical_; }
  uint64_t buffers(process_id process) const {
    return process < processes_.size() ? processes_[process]->buffers.size() : 0;
  }
  bool has(process_id process) const { return process != 0 && process < processes_.size(); }

 private:
  struct buffer {
    uint64_t bytes = 0;
    uint64_t pages = 0;
    uint32_t held = 0;     ///< by commands that have not ended
    uint32_t removed = 0;  ///< of its pages
  };
  struct address_space {
    uint64_t next_address = 0;
    radix_map<buffer> buffers;  ///< by the page at which they begin
  };

  buffer* find_buffer(process_id process, uint64_t address) const;
  result<void> check(const char* call, const std::string& arguments, process_id process, device_id device) const;
  /// Whether the device's GPUs have room for so many pages, by the rule of the split, when those of `returned` come back first.
  result<void> check_room(const char* call, const std::string& arguments, uint64_t count, device_id device,
                          const std::vector<uint64_t>& returned) const;
  /// Why pages of this range cannot be taken away now; empty when they can.
  std::string why_busy(process_id process, uint64_t first, uint64_t end) const;
  void release(const page_slot& slot);

  unsigned page_bits_;
  const device_table* devices_;
  page_watcher* watcher_;
  const split_rule* split_;
  physical_memory physical_;
  page_table pages_;
  std::vector<std::unique_ptr<address_space>> processes_;
};

}  // namespace heddle::driver
