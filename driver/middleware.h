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
#include <memory>
#include <span>
#include <string_view>

namespace heddle::driver {

enum class handling : uint8_t {
  not_mine,  ///< the next one in the chain is asked
  done,      ///< it has ended already
  running,   ///< it ends when complete() is called
  later,     ///< it is offered again in the next tick that there is
};

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

  /// Puts a command right before `next`, within a process() of `next` that then says `later`: the new one is offered first. The caller says the rest
  /// of what it is, a copy, a part of a launch, a flush or a no-op: its bytes or its `parts`, which are `next`'s own, and `next` may be
  /// changed to what is left. Whatever waits for `next` waits for both.
  virtual command& put_before(const command& next, command_kind kind) = 0;

  // For the driver's own migration.

  /// Offers the chain what is in no queue.
  virtual handling offer(command& outside) = 0;
  /// That has ended.
  virtual void has_ended(const command& outside) = 0;

  /// What moves bytes in the driver's place; null for none.
  virtual byte_mover* mover() const = 0;
  /// Bytes of memory, past all caches, at once; what a cache holds of the written ones is given up. How many of those read are poisoned.
  virtual void write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) = 0;
  virtual uint64_t read_memory(const page& where, uint64_t offset, std::span<std::byte> to) = 0;

 protected:
  ~driver_services() = default;
};

/// The middlewares of a chain are asked in order; the first that knows a command, or an answer, has it.
class middleware {
 public:
  virtual ~middleware() = default;
  virtual const char* name() const = 0;
  /// The first command of its queue. A failure is told by command::fail(), not by how it is handled. Of a migration `not_mine` lets it go on, `later`
  /// holds it back, and with `done` the pages stay where they are, and are used from afar.
  virtual handling process(command& next) = 0;
  /// Once a cycle while the driver is awake: whether there was something to do.
  virtual bool tick() { return false; }
  /// The answer to a request; whether it was this one's.
  virtual bool receive(const request&) { return false; }
  /// A command has ended, of whichever middleware.
  virtual void ended(const command&) {}
};

// Middlewares of the user's that a setting names, driver.middleware.

/// Makes one for each driver, which puts it in the first place of its chain. What it makes depends on nothing but what it is told.
class middleware_maker {
 public:
  virtual ~middleware_maker() = default;
  virtual const char* name() const = 0;
  virtual std::unique_ptr<middleware> make(driver_services& driver) const = 0;
};

/// Those that were added, in their order.
std::span<const middleware_maker* const> middleware_makers();
/// Null where there is none of this name.
const middleware_maker* find_middleware_maker(std::string_view name);
/// Adds one, which must outlive all drivers; before settings are read. Errors: its name is taken, or is "none".
result<void> add_middleware_maker(const middleware_maker& fresh);

}  // namespace heddle::driver
