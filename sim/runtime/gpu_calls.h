// The entry points behind the spellings of GPU runtimes (sim/compat/): what they need beside calls.h.
#pragma once

#include <heddle/rpc/link.h>
#include <heddle/rpc/target.h>
#include <heddle/sim/base/grid.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/runtime/calls.h>

#include <stddef.h>
#include <stdint.h>

#include <array>

namespace heddle::sim::runtime {

// -- lanes; called by a lane of a kernel, or the run ends with a verdict that says so

grid_position position();
/// How many lanes a wave of the kernel has that is full; 1 of a host thread.
uint32_t wave_lanes();

// Collectives over the lanes of the mask that have not ended, which is what the masks of CUDA mean.
uint64_t ballot_of_live(uint64_t mask, bool predicate);
void sync_live(uint64_t mask);
/// The value that the lane `source` gives; something arbitrary when that lane does not take part.
uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source);

enum class barrier_kind : uint8_t { plain, count, all, any };
/// The block's barrier. How many lanes gave a predicate that holds; for `all` and `any`, whether that is all of them or at least one.
/// `aligned`: all lanes of a wave have to come to it at one place in the program, as to __syncthreads().
uint32_t block_barrier(barrier_kind kind, bool predicate, bool aligned = false);
/// The lane counts there as one that has come, and does not wait: what it has done comes before what those do that wait. (PTX ISA, "bar.arrive".)
void arrive_at_block();

/// The barrier of the cluster, in two steps: what lanes have done before they arrive, with `release`, comes before what those do that have
/// waited, with `acquire`. (PTX ISA, "barrier.cluster".)
void arrive_at_cluster(memory_order order);
void wait_at_cluster(memory_order order);
/// Where an address in shared memory of the lane's block lies in the block that has this number in the cluster. (PTX ISA, "mapa".)
void* shared_of_cluster(const void* address, uint32_t rank);
/// The number in the cluster of the block in whose shared memory the address lies; no_rank if in none.
uint32_t rank_in_cluster(const void* address);
inline constexpr uint32_t no_rank = ~uint32_t{0};
/// The lane's block lets the kernel behind its own begin, where that may begin early (grid_shape::early).
void let_next_kernel_begin();
/// Waits for the end of the kernel in front, where the lane's own may have begun before that.
void wait_for_kernel_before();
/// The block's own copy of the variable that `key` stands for, uninitialised; `name` is for reports.
void* shared_variable(const void* key, size_t size_bytes, const char* name);
/// The dynamic shared memory of the lane's block.
void* dynamic_shared();

/// Cycles; a guess that grows from one call to the next, the faster the longer a lane only looks at the clock.
uint64_t clock();

/// Ends the run, with verdict `unsupported`, where the code under test calls what a lane cannot call: "CALL: WHY".
[[noreturn]] void refuse_call(const char* call, const char* why);

// -- memory

/// What a read-modify-write makes of the old value; both in the low bytes. Must touch no memory.
using modify_function = uint64_t (*)(uint64_t old, uint64_t operand);
/// Atomically; returns the old value. `size_bytes` is 1, 2, 4 or 8.
uint64_t modify(modify_function next, void* address, uint32_t size_bytes, uint64_t operand, memory_order order,
                scope reach);

// Atomically 16 bytes, which lie at a multiple of 16: two words, the lower one first.
void load_wide(const void* address, uint64_t* halves, memory_order order, scope reach);
void store_wide(void* address, const uint64_t* halves, memory_order order, scope reach);
/// `halves` receives what was there.
void exchange_wide(void* address, uint64_t* halves, memory_order order, scope reach);
/// `expected` receives what was found.
void compare_exchange_wide(void* address, uint64_t* expected, const uint64_t* desired, exchange_order order,
                           scope reach);

/// The next accesses of the lane are of vectors of values of so many bytes, each of which counts as an access: until that is 0.
void access_vectors_of(uint8_t value_bytes);

enum class memory_place : uint8_t {
  host,            ///< devices reach it too
  host_combining,  ///< the same, mapped write-combining
  device,          ///< the host and other devices reach it too
  device_mapped,   ///< the host reaches it too, other devices where they were let to, unless driver.reach says more
  device_alone,  ///< the host reaches it by copies, other devices where they were let to, unless driver.reach says more
};
/// As allocate, on the thread's current device; the memory holds settings::fill in each byte, and its name is `kind` and a number.
void* allocate_unnamed(size_t size_bytes, memory_place what, const char* kind);
/// Whether the device has allocated the memory.
bool is_allocated(const void* address);
/// Frees all that the program has allocated for the device by its driver.
void release_all(uint32_t device);
/// Whether it lies in a device's memory, of what has been allocated.
bool is_on_device(const void* address);
/// Whether it is memory that moves between the host and devices by itself, of what has been allocated.
bool is_managed(const void* address);
void fill(void* to, int value, size_t size_bytes);
/// The device that allocated the memory; the thread's current one where none did, or the memory is the host's.
uint32_t device_of(const void* address);

/// Whether a function of the program begins there.
bool is_function(const void* address);

// -- devices

/// What read-modify-writes cross the link of the current run.
link_properties link_of_run();
/// The calling host thread's; 0 until it says otherwise. (CUDA C++ Programming Guide, "Device Selection".)
uint32_t current_device();
/// `device` is below device_count().
void set_current_device(uint32_t device);
/// Whether the current device reaches memory of another one from now on, which both are below device_count(); false where that is so already.
bool set_peer_access(uint32_t peer, bool may_reach);
/// Whether calls of the host that copy or fill the allocation that holds the address, and may return early, return when that has ended. If so, it
/// first waits for what such calls have left to streams.
void set_waits_for_copies(const void* address, bool wait);
bool waits_for_copies(const void* address);
/// The stream's latest work is of a call of the host that may return early.
void note_left_to_stream(uint32_t stream);
/// Of other devices than its own, those with a bit here alone load from the memory and store to it, where not all devices reach all memory.
void let_reach(const void* memory, uint32_t loading, uint32_t storing);
/// Kernels reach the memory from now on, where it lies in frames of the calling host thread, until the second call. They reach all other memory of the
/// host in any case.
void open_frames(const void* memory, size_t size_bytes);
void close_frames(const void* memory);
uint32_t device_of_stream(uint32_t stream);

// -- launches, streams, events

void launch_grid(const grid_shape& shape, const fiber_body& kernel, const void* bytes);
/// How a kernel that is only known by its address is launched; kernels are made known before any run.
struct kernel_arguments {
  void** addresses = nullptr;  ///< of each
  void* buffer = nullptr;      ///< or all of them here
  size_t buffer_bytes = 0;
  bool cooperative = false;  ///< its blocks may meet
};
using launcher = void (*)(const void* kernel, const grid_shape& shape, const kernel_arguments& given);
/// `cluster`: what it is declared with; of one block: nothing.
void know_kernel(const void* kernel, launcher how, const extent& cluster = {});
/// Of one block where the kernel is not known.
extent clusters_of(const void* kernel);
/// A launch of a kernel that is declared with clusters of several blocks has these. Ends the run where it asks for others.
void take_clusters(grid_shape& to, const extent& declared);
/// Null when there is no such kernel.
launcher launcher_of(const void* kernel);

// By the names that the linker knows.

struct named_object {
  void* address = nullptr;  ///< null where there is none
  size_t size_bytes = 0;
};
/// The allocation that holds the address.
named_object allocation_of(const void* address);
/// A variable of the device.
named_object device_variable_named(const char* name);
/// Null where there is no such kernel.
const void* kernel_named(const char* name);

/// The lane has arrived at a barrier of some lanes of its block. Its phase has begun with this shape, 0 where it begins here: how many lanes come,
/// and from bit 16 on whether they reduce. Ends the run where the lane has come with another one; or, `aligned`, where it comes to wait at another place than
/// a lane of its wave does.
void arrives_at_part(uint32_t id, uint32_t begun, uint32_t given, bool aligned);

/// Memory of the calling lane that no other one sees, in this run: zero the first time. By what it is for.
void* memory_of_lane(const void* key, size_t size_bytes);
/// A search is told that its states lack what copies beside a lane wait for.
void leave_out_of_proofs();

// Bulk copies: a lane of a kernel has bytes copied beside its block, into the block's memory or out of it. (PTX ISA, "cp.async.bulk".)

/// The copy is made at some time from now on. `complete(barrier, size_bytes)` is called behind its end; where that is null, it is one of the lane's
/// group.
void issue_bulk_copy(void* to, const void* from, uint32_t size_bytes, bool loads, void* barrier,
                     void (*complete)(void*, uint32_t));
/// Closes the lane's group of copies.
void close_bulk_group();
/// Waits until the copies of the lane's closed groups have ended, but for the last `but` groups; or, `reading`, until they have read their sources.
void wait_for_bulk_groups(uint32_t but, bool reading);
/// A copy by cp.async: the lane has it under way from its issue on, which reads `given` bytes, until it is about to make it itself.
void async_copy_begins(void* to, const void* from, uint32_t size_bytes, uint32_t given);
void async_copy_ends(void* to, const void* from, uint32_t size_bytes, uint32_t given);
/// The same, made beside the lane: as issue_bulk_copy() into memory of the block, but of the proxy that the lane's accesses are of. It is one of
/// the lane's group `group` too.
void issue_async_copy(void* to, const void* from, uint32_t size_bytes, uint32_t group, void* barrier,
                      void (*complete)(void*, uint32_t));
/// Waits for the end of those of the groups below this number.
void wait_for_async_copies(uint32_t groups);
/// Makes accesses that come before it visible to bulk copies behind it: `spaces` is of proxy_space (sim/memory/late_memory.h).
void proxy_fence(uint32_t spaces);

/// A copy in its place in the stream, which does not wait. As of copy(), but the bytes must stay until it has ended: on no stack.
void copy_in_stream(void* to, const void* from, size_t size_bytes, uint32_t stream);
/// A call of the host in its place in the stream, by a thread of its own; the stream goes on when it returns.
void call_in_stream(void (*function)(void*), void* given, uint32_t stream);
/// The bytes of memory that a stream fills at this place; what it does is told as done where this is made.
struct stream_fill {
  void* to;
  int value;
  size_t size_bytes;
  std::array<const void*, 12> calls = {};

  stream_fill(void* memory, int byte, size_t count);
  void operator()() const;
};
/// Whether streams write words and wait for them by themselves; a driver that is stepped (driver.detail) has them done by kernels alone.
bool streams_have_words();
/// A word that the stream writes at this place, by the GPU itself, in system scope; `is_ordered`: a release.
void write_word_in_stream(void* to, uint32_t size_bytes, uint64_t value, bool is_ordered, uint32_t stream);
/// What ends a wait for a word: holds(found & mask, value).
struct awaited_word {
  uint64_t value;
  uint64_t mask;
  bool (*holds)(uint64_t found, uint64_t value);
};
/// A wait of the stream at this place, by the GPU itself: an acquire in system scope. It takes no place on the device.
void wait_for_word_in_stream(const void* at, uint32_t size_bytes, const awaited_word& what, uint32_t stream);
/// Memory of the device as the stream has it: allocated now, and there for what comes behind this place in the stream; null when none is left.
void* allocate_in_stream(size_t size_bytes, memory_place what, const char* kind, uint32_t stream);
/// Released at this place in the stream.
void release_in_stream(void* memory, uint32_t stream);
/// Work of a stream of higher `priority` gets places on the device before that of others.
uint32_t create_stream(bool blocking, uint32_t device = 0, int32_t priority = 0);
int32_t priority_of_stream(uint32_t stream);
void destroy_stream(uint32_t stream);
bool query_stream(uint32_t stream);
void synchronize_stream(uint32_t stream);
/// The same in front of a copy that the thread then makes itself, so that reports know what it will store.
void synchronize_stream_to_copy(uint32_t stream, void* to, size_t size_bytes);
uint32_t create_event();
/// What waits for it still does; to use it behind that ends the run.
void destroy_event(uint32_t event);
void record_event(uint32_t event, uint32_t stream);
bool query_event(uint32_t event);
/// Whether it has been recorded in a stream.
bool is_recorded(uint32_t event);
void synchronize_event(uint32_t event);
void wait_event(uint32_t stream, uint32_t event);
/// What `give(what)` gives to streams, and has them wait for, is one operation of this stream: nothing that another thread does comes in between.
void give_as_one(uint32_t stream, void (*give)(void*), void* what);

}  // namespace heddle::sim::runtime
