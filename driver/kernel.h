// A kernel as a program hands it to its driver, and a work-group as a device hands it to its runner.
#pragma once

#include <heddle/driver/grid_walk.h>
#include <heddle/driver/ids.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::driver {

/// An argument that points to memory of the work-group (LDS): 8 bytes of the arguments, into which the driver writes the offset.
struct group_memory_argument {
  uint32_t offset = 0;  ///< in the arguments, of the pointer
  uint32_t bytes = 0;   ///< that it points to
};

/// The offsets of group memory are multiples of this.
inline constexpr uint32_t group_memory_alignment = 16;

/// A launch. All of it is read during the call that enqueues it, and not later. Pointers among the arguments are those
/// of the process; the buffers that they point into are in use until the kernel has ended.
struct kernel_launch {
  std::span<const std::byte> code;       ///< the code object, at least one byte
  std::span<const std::byte> arguments;  ///< may be empty
  std::span<const group_memory_argument> group_memory;
  extent grid;                 ///< work-items
  extent group;                ///< work-items of a group, each at most 65535
  uint32_t group_bytes = 0;    ///< of static group memory
  uint32_t private_bytes = 0;  ///< of each work-item
};

/// One group of a kernel on one device.
struct work_group {
  uint64_t launch = 0;  ///< the number of the launch command, that of the packet's completion signal
  process_id process = 0;
  device_id device = 0;  ///< a GPU, never a unified one
  uint32_t unit = 0;     ///< the compute unit that it is on
  uint64_t flat = 0;     ///< its number in the whole grid
  grid_size grid;
  extent place;              ///< in groups
  extent size;               ///< in work-items
  uint64_t code_object = 0;  ///< where it lies on this device, as an address of the process
  uint64_t arguments = 0;    ///< likewise
  uint32_t group_bytes = 0;  ///< with what the arguments ask for
  uint32_t private_bytes = 0;
  uint32_t slot = 0;  ///< the device's own
};

/// How a work-group's access to memory went.
enum class access : uint8_t {
  done,
  waits,  ///< a page is on its way: nothing was read or written, and the work-group is executed again when it may be there
  fault,  ///< no such memory; the launch has failed
};

/// Memory as the work-groups of one device and one process see it: through page tables and caches, local and remote.
class group_memory_port {
 public:
  virtual access read(uint64_t address, std::span<std::byte> to) = 0;
  virtual access write(uint64_t address, std::span<const std::byte> from) = 0;

 protected:
  ~group_memory_port() = default;
};

/// What has become of a work-group.
struct execution {
  enum class state : uint8_t {
    done,   ///< its effects are all there; it leaves its compute unit after `duration`
    waits,  ///< an access waits; it will be executed again, from wherever its runner wants to go on
    later,  ///< its runner goes on with it later, and then calls gpu_driver::finish()
  };
  state how = state::done;
  picoseconds duration = 0;
};

/// What executes work-groups. Called from within an event of the engine; it calls nothing of the driver but the memory that it is given.
class work_group_runner {
 public:
  virtual ~work_group_runner() = default;
  virtual execution execute(const work_group& group, group_memory_port& memory) = 0;
  /// Work-groups of this device that were left to the runner, and wait for a page (gpu::reach), may find it now.
  virtual void retry(device_id) {}
};

struct request;

/// What moves bytes where memory is not the driver's own: those of a program's copies, not those that a launch brings along. Without one the driver
/// has memory of its own. It calls nothing of the driver.
class byte_mover {
 public:
  virtual ~byte_mover() = default;
  /// Has the bytes of a write, a read or a copy moved, and afterwards gpu_driver::moved() called with it, from outside of all of the driver's
  /// events.
  virtual void move(const request& piece) = 0;
  /// Has the GPU's cache written back, at once.
  virtual void flush(device_id gpu) = 0;
  /// Has a page copied as it is in memory, past all caches, at once: request_kind::copy_page.
  virtual void copy_page(const request& page) = 0;
};

}  // namespace heddle::driver
