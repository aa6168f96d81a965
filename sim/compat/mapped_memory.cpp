// Memory that a program maps by itself: it is of the program's heap, as that of malloc(), so that what threads and kernels do to it is seen. That is so of
// memory without a file, and of files in memory (memfd_create, shm_open), each of which is one piece of memory wherever it is mapped. What a
// file of a disk holds, memory of one use (code, stacks, huge pages, a given address) and more than the heap has room for are the system's.
#include <heddle/sim/compat/libc_calls.h>
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/program_memory.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace runtime = heddle::sim::runtime;

namespace {

constexpr size_t page_bytes = 4096;

struct mapping {
  char* base;
  size_t size_bytes;
  bool has_file;
  dev_t device;  ///< of the file, as its number
  ino_t number;
};

constexpr size_t most_mappings = 256;
// As variables of the device, they are 0 when a run begins.
[[gnu::section("heddle_device")]] mapping mappings[most_mappings] = {};
[[gnu::section("heddle_device")]] size_t mappings_used = 0;

size_t whole_pages(size_t size) { return (size + page_bytes - 1) / page_bytes * page_bytes; }

/// The mapping that holds the address; null for memory of the system.
mapping* mapping_at(const void* address) {
  for (size_t n = 0; n < mappings_used; ++n)
    if (static_cast<size_t>(static_cast<const char*>(address) - mappings[n].base) < mappings[n].size_bytes)
      return &mappings[n];
  return nullptr;
}

/// Whether the file lies in memory; `found` is what it is.
bool is_in_memory(int file, struct stat& found) {
  struct statfs lies;
  return fstatfs(file, &lies) == 0 && (lies.f_type == TMPFS_MAGIC || lies.f_type == HUGETLBFS_MAGIC) &&
         fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

/// Null where the memory is to be the system's.
[[gnu::always_inline]] inline void* map_in_program(size_t size, int protection, int flags, int file, off_t offset) {
  constexpr int of_one_use = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN | MAP_HUGETLB | MAP_NORESERVE | MAP_STACK;
  if (protection != (PROT_READ | PROT_WRITE) || (flags & of_one_use) != 0 || size == 0 ||
      mappings_used == most_mappings)
    return nullptr;
  mapping made = {};
  if ((flags & MAP_ANONYMOUS) == 0) {
    struct stat found;
    if ((flags & MAP_SHARED) == 0 || offset != 0 || !is_in_memory(file, found)) return nullptr;
    for (size_t n = 0; n < mappings_used; ++n) {
      const mapping& known = mappings[n];
      if (known.has_file && known.device == found.st_dev && known.number == found.st_ino)
        return size <= known.size_bytes ? known.base : nullptr;
    }
    made.has_file = true;
    made.device = found.st_dev;
    made.number = found.st_ino;
    // What is mapped later may be more.
    if (static_cast<size_t>(found.st_size) > size) size = static_cast<size_t>(found.st_size);
  }
  made.size_bytes = whole_pages(size);
  made.base = static_cast<char*>(runtime::allocate_in_program(made.size_bytes, page_bytes));
  if (made.base == nullptr) return nullptr;
  for (size_t done = 0; made.has_file && done < made.size_bytes;) {
    const ssize_t got = pread(file, made.base + done, made.size_bytes - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  mappings[mappings_used++] = made;
  return made.base;
}

}  // namespace

extern "C" {

#define HEDDLE_MAP(name)                                                                          \
  void* __real_##name(void* at, size_t size, int protection, int flags, int file, off_t offset);  \
  void* __wrap_##name(void* at, size_t size, int protection, int flags, int file, off_t offset) { \
    if (runtime::is_device()) [[unlikely]]                                                        \
      runtime::refuse_call("mmap", heddle_kernel_not_served);                                     \
    void* const known = map_in_program(size, protection, flags, file, offset);                    \
    if (known != nullptr) return known;                                                           \
    return heddle_host_mapped(__real_##name(at, size, protection, flags, file, offset), size);    \
  }
HEDDLE_MAP(mmap)
HEDDLE_MAP(mmap64)

int __real_munmap(void* at, size_t size);
int __wrap_munmap(void* at, size_t size) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("munmap", heddle_kernel_not_served);
  mapping* const known = mapping_at(at);
  if (known == nullptr) return __real_munmap(heddle_host_unmapped(at, size), size);
  // A part of it stays; so does a file, which may be mapped again, and holds then what it held.
  if (known->has_file || at != known->base || whole_pages(size) < known->size_bytes) return 0;
  void* const base = known->base;
  *known = mappings[--mappings_used];
  runtime::release_in_program(base);
  return 0;
}

// What is moved or made larger is not given back behind the run, unless the program does so.
void* __real_mremap(void* at, size_t size, size_t new_size, int flags, ...);
void* __wrap_mremap(void* at, size_t size, size_t new_size, int flags, ...) {
  if (mapping_at(at) != nullptr)
    runtime::refuse_call("mremap", "memory of the program's heap cannot be moved: map more of it in the first place");
  heddle_host_unmapped(at, size);
  va_list more;
  va_start(more, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  return to == nullptr ? __real_mremap(at, size, new_size, flags) : __real_mremap(at, size, new_size, flags, to);
}

// The pages are the heap's: the next run needs them as they were.
int __real_mprotect(void* at, size_t size, int protection);
int __wrap_mprotect(void* at, size_t size, int protection) {
  return mapping_at(at) != nullptr ? 0 : __real_mprotect(at, size, protection);
}

}  // extern "C"
