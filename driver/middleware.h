// The chain of parts that know what a command means, and what the driver gives them to do it with.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/contents.h>
#include <heddle/driver/device_table.h>
#include <heddle/driver/dirty_marks.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/memory_allocator.h>
#include <heddle/driver/settings.h>

#include <cstdint>
#include <span>

namespace heddle::driver {

/// The driver as its middleware sees it.
class driver_services {
 public:
  virtual event_engine& engine() = 0;
  virtual const driver_settings& settings() const = 0;
  virtual memory_allocator& memory() = 0;
  virtual const device_table& devices() const = 0;
  virtual dirty_marks& marks_of(process_id process) = 0;

  /// Whether there is room for another request that can wait.
  virtual bool port_has_room() const = 0;
  /// Sends it as soon as the link takes it; one a cycle. The answer comes to receive() of the middleware.
  virtual void send(request what) = 0;
  /// The driver ticks at that time, whatever else happens.
  virtual void tick_at(picoseconds time) = 0;

  /// The command has ended: its process() said `running`, and nothing is outstanding. It is gone on return.
  virtual void complete(command& done) = 0;

  /// What moves bytes in the driver's place; null for none.
  virtual byte_mover* mover() const = 0;
  /// Bytes of memory, past all caches, at once; what a cache holds of the written ones is given up. How many of those read are poisoned.
  virtual void write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) = 0;
  virtual uint64_t read_memory(const page& where, uint64_t offset, std::span<std::byte> to) = 0;

 protected:
  ~driver_services() = default;
};

enum class handling : uint8_t {
  not_mine,  ///< the next one in the chain is asked
  done,      ///< it has ended already
  running,   ///< it ends when complete() is called
  later,     ///< it is offered again in the next tick that there is
};

/// The middlewares of a chain are asked in order; the first that knows a command, or an answer, has it.
class middleware {
 public:
  virtual ~middleware() = default;
  virtual const char* name() const = 0;
  /// The first command of its queue. A failure is told by command::fail(), not by how it is handled.
  virtual handling process(command& next) = 0;
  /// Once a cycle while the driver is awake: whether there was something to do.
  virtual bool tick() { return false; }
  /// The answer to a request; whether it was this one's.
  virtual bool receive(const request&) { return false; }
};

}  // namespace heddle::driver
