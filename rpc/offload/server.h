// The end that runs the functions: any number of host threads. (libgomp, GOMP_OFFLOAD_run: there the thread that launched, alone.)
#pragma once

#include <heddle/rpc/lock.h>
#include <heddle/rpc/offload/memory.h>
#include <heddle/rpc/offload/ring.h>
#include <heddle/rpc/offload/single.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace heddle::rpc {

/// Memory from which payloads may be fetched, and into which they may be put.
struct payload_range {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
};

/// The functions that a device's image names. A kernel asks for a function by what its own image has for it, and the host has a function of its own
/// at the same place of its table. (libgomp, GOMP_OFFLOAD_load_image: `$offload_func_table`, which is "freed if only NULL entries".)
class offload_table {
 public:
  offload_table() = default;
  /// Reads `count` words from the table at `from` of the device, by `copy(to, from, bytes)`. A word of 0 is no function.
  template <typename Copy>
  offload_table(const uint64_t* from, size_t count, Copy&& copy) {
    std::vector<uint64_t> words(count);
    if (count != 0) copy(static_cast<void*>(words.data()), static_cast<const void*>(from), count * sizeof words[0]);
    for (size_t place = 0; place < count; ++place)
      if (words[place] != 0) functions_.emplace_back(words[place], place);
    std::sort(functions_.begin(), functions_.end());
  }

  /// Whether the image names no function: it asks for none, and needs no server. Such a table holds no memory.
  bool empty() const { return functions_.empty(); }
  /// The place of the function in the table; none where the table does not have it.
  std::optional<uint64_t> place_of(uint64_t function) const {
    const auto found =
        std::lower_bound(functions_.begin(), functions_.end(), std::pair<uint64_t, uint64_t>(function, 0));
    if (found == functions_.end() || found->first != function) return std::nullopt;
    return found->second;
  }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> functions_;  ///< and their places; in ascending order
};

/// What a server takes. What is more is refused, by the status of the request.
struct offload_limits {
  uint64_t functions = ~uint64_t{0};  ///< functions have numbers below this
  /// Where there is one, requests name functions of this table, and `run` is given their places; `functions` is then not looked at. Must outlive
  /// the server.
  const offload_table* table = nullptr;
  uint64_t payload_bytes = ~uint64_t{0};  ///< of one lane
  /// A payload must lie within one of these, and fetch() and put() reach no other address. A server whose memory is mapped would
  /// otherwise read and write wherever a device says: name the memory that payloads are in. Empty: no payload is taken.
  std::span<const payload_range> payloads = {};
  bool payloads_anywhere = false;  ///< whatever `payloads` says; for devices that are trusted
  /// What one lane may map, its list included: the host allocates as much.
  uint64_t map_bytes = uint64_t{1} << 20;
};

/// The variables that one lane's request maps, in memory of the host.
class offload_maps {
 public:
  size_t count() const { return all_.size(); }
  /// The bytes of variable n: the device's where it is mapped to the host, zeros otherwise.
  std::span<unsigned char> bytes(size_t n) { return all_[n].bytes; }
  offload_map_kind kind(size_t n) const { return static_cast<offload_map_kind>(all_[n].at.kind); }

 private:
  template <typename, typename, typename, typename>
  friend class basic_offload_server;

  struct variable {
    offload_map_entry at;
    std::vector<unsigned char> bytes;
  };
  std::vector<variable> all_;
};

/// One server thread's view; each thread has its own, over the same memory and the same lock words. `Memory` is
/// mapped_entries or copied_entries. A function that runs may copy, print, allocate and wait for other requests that
/// another thread serves; it may not wait for a kernel that waits for it.
template <typename Target, typename Form, typename Memory, typename Check = unchecked>
class basic_offload_server {
 public:
  /// `locks` is shape.lock_words() zeroed words that only the servers of these entries use. Threads that start at
  /// different entries seldom meet.
  basic_offload_server(Memory memory, uint32_t* locks, offload_limits limits = {}, uint32_t start = 0)
      : memory_(memory), locks_(locks), limits_(limits) {
    require_layout<Target, Check>(memory.shape().is_valid(), "entries are no power of two, or lanes too many");
    start_ = start % entry_count();
  }

  /// Serves one request if there is one, and says whether there was: `run(function, line, lane)` for each lane that
  /// asks; `line` is a copy, which goes back when all have run. Looks at every entry once and begins behind the one that it served
  /// last: a request is passed over by this thread at most entries - 1 times. Does not wait. When `run` throws, the request is answered
  /// `failed`, and the exception goes on to the caller.
  template <typename Run>
  bool handle(Run&& run) {
    return serve([&](const offload_header& header, offload_line* lines) {
      for_each_that_asks(header.mask, [&](uint32_t lane) { run(number_of(header), lines[lane], lane); });
      return offload_status::done;
    });
  }

  /// As handle(), for requests whose payloads are lists of mapped variables (offload_map_entry): `run(function, line, maps, lane)` gets them in
  /// memory of the host. Those of kind `to` and `tofrom` are fetched before the first lane's function runs, those of kind `from` and `tofrom`
  /// put back when the last one's has run. Each must lie within the limits' payloads.
  template <typename Run>
  bool handle_mapped(Run&& run) {
    return serve([&](const offload_header& header, offload_line* lines) {
      std::vector<offload_maps> maps(memory_.shape().lanes);
      offload_status status = offload_status::done;
      for_each_that_asks(header.mask, [&](uint32_t lane) {
        if (status == offload_status::done) status = open_maps(lines[lane], maps[lane]);
      });
      if (status != offload_status::done) return status;
      for_each_that_asks(header.mask, [&](uint32_t lane) { run(number_of(header), lines[lane], maps[lane], lane); });
      for_each_that_asks(header.mask, [&](uint32_t lane) { close_maps(maps[lane]); });
      return status;
    });
  }

  /// Where Check::may_end: tells the clients that no request is served any more. Does not wait, however many ask. A request that waits, and one
  /// that is made later, is answered offload_status::ended. Handle what is there before: at most one request an entry.
  void end() const {
    static_assert(Check::may_end, "only a server whose clients expect it may end: may_end_and<Check>");
    memory_.store_end();
  }

  /// Copies from, or to, what a line's payload names. False, and nothing is copied, where that is not all within the limits' payloads.
  bool fetch(void* to, uint64_t payload, size_t bytes) const {
    if (!may_reach(payload, bytes)) return false;
    memory_.fetch(to, payload, bytes);
    return true;
  }
  bool put(uint64_t payload, const void* from, size_t bytes) const {
    if (!may_reach(payload, bytes)) return false;
    memory_.put(payload, from, bytes);
    return true;
  }

  uint32_t entry_count() const { return Form::has_one_entry ? 1 : memory_.shape().entries; }

  /// Whether no entry is in use and no server holds one. To be asked when both ends are quiescent.
  bool all_idle() const {
    for (uint32_t entry = 0; entry < entry_count(); ++entry)
      if (!Form::is_idle(memory_.load_turn(entry)) || locks_.is_locked(entry)) return false;
    return true;
  }

 private:
  bool find(uint32_t& entry, uint64_t& posted) const {
    for (uint32_t n = 0; n < entry_count(); ++n) {
      entry = start_ + n < entry_count() ? start_ + n : start_ + n - entry_count();
      // A look first: a lock taken for every idle entry would keep the other threads off.
      if (!Form::is_posted(memory_.load_turn(entry)) || !locks_.try_lock(entry)) continue;
      posted = memory_.load_turn(entry);
      if (Form::is_posted(posted)) return true;
      // Another thread has served it in between.
      locks_.unlock(entry);
    }
    return false;
  }

  template <typename Function>
  void for_each_that_asks(uint64_t mask, Function&& function) const {
    for (uint32_t lane = 0; lane < memory_.shape().lanes; ++lane)
      if ((mask >> lane & 1) != 0) function(lane);
  }

  /// One request, if there is one: `work(header, lines)` runs it where it is not refused, and returns its status.
  template <typename Work>
  bool serve(Work&& work) {
    uint32_t entry = 0;
    uint64_t posted = 0;
    if (!find(entry, posted)) return false;
    start_ = entry + 1 < entry_count() ? entry + 1 : 0;
    request asked(*this, entry, posted);
    offload_header& header = memory_.open(entry, asked.held);
    // It comes from the device, and indexes lines.
    header.mask &= memory_.shape().lanes_that_exist();
    const offload_status refused = refusal(header.function, header.mask, asked.held.lines);
    asked.answer(refused == offload_status::done ? work(std::as_const(header), asked.held.lines) : refused);
    return true;
  }

  /// Fetches a list and what it maps to the host. The list is the device's: each number in it is looked at once, in a copy.
  offload_status open_maps(const offload_line& line, offload_maps& maps) const {
    const uint64_t entries = line.payload_bytes / sizeof(offload_map_entry);
    if (line.payload_bytes % sizeof(offload_map_entry) != 0) return offload_status::bad_map;
    if (line.payload_bytes > limits_.map_bytes) return offload_status::too_large;
    uint64_t left = limits_.map_bytes - line.payload_bytes;
    maps.all_.resize(entries);
    for (uint64_t n = 0; n < entries; ++n) {
      auto& [at, bytes] = maps.all_[n];
      memory_.fetch(&at, line.payload + n * sizeof at, sizeof at);
      if (at.kind > static_cast<uint64_t>(offload_map_kind::tofrom)) return offload_status::bad_map;
      if (at.size_bytes > left) return offload_status::too_large;
      if (at.size_bytes != 0 && !may_reach(at.address, at.size_bytes)) return offload_status::bad_address;
      left -= at.size_bytes;
      bytes.resize(at.size_bytes);
      if ((at.kind & static_cast<uint64_t>(offload_map_kind::to)) != 0 && at.size_bytes != 0)
        memory_.fetch(bytes.data(), at.address, at.size_bytes);
    }
    return offload_status::done;
  }
  void close_maps(const offload_maps& maps) const {
    for (const auto& [at, bytes] : maps.all_)
      if ((at.kind & static_cast<uint64_t>(offload_map_kind::from)) != 0 && !bytes.empty())
        memory_.put(at.address, bytes.data(), bytes.size());
  }

  /// A request that is being served, and its answer, which is given in the end, also when a function throws.
  struct request {
    basic_offload_server& by;
    uint32_t entry;
    uint64_t posted;
    offload_buffer held;
    bool answered = false;

    // Without zeroing 4 KiB, of which a call of few lanes uses little.
    request(basic_offload_server& server, uint32_t at, uint64_t turn) : by(server), entry(at), posted(turn) {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    void answer(offload_status status) {
      held.header.status = static_cast<uint64_t>(status);
      // What the functions have written, here and behind the payloads, is there before the turn is.
      by.memory_.close(entry, held, status == offload_status::done ? held.header.mask : 0);
      // An atomic load: no compiler would leave it out where nothing is checked.
      if constexpr (Check::enabled)
        require<Target, Check>(by.memory_.load_turn(entry) == posted, "a request changes while it is served");
      answered = true;
      by.memory_.store_turn(entry, Form::turn_after(posted));
      by.locks_.unlock(entry);
    }

    ~request() {
      if (answered) return;
#ifdef __cpp_exceptions
      try {
        answer(offload_status::failed);
      } catch (...) {  // NOLINT(bugprone-empty-catch)
        // Another exception is under way, and tells. The device's memory cannot be reached, or is not as it must be.
      }
#else
      answer(offload_status::failed);
#endif
    }
  };

  /// Of a function that is not refused: what run() is given for it.
  uint64_t number_of(const offload_header& header) const {
    return limits_.table == nullptr ? header.function : *limits_.table->place_of(header.function);
  }

  bool may_reach(uint64_t address, uint64_t bytes) const {
    if (limits_.payloads_anywhere) return true;
    for (const payload_range& range : limits_.payloads)
      if (address >= range.address && bytes <= range.size_bytes && address - range.address <= range.size_bytes - bytes)
        return true;
    return false;
  }

  offload_status refusal(uint64_t function, uint64_t mask, const offload_line* lines) const {
    if (limits_.table == nullptr ? function >= limits_.functions : !limits_.table->place_of(function))
      return offload_status::unknown_function;
    for (uint32_t lane = 0; lane < max_lanes; ++lane) {
      const offload_line& asked = lines[lane];
      if ((mask >> lane & 1) != 0 && asked.payload_bytes > limits_.payload_bytes) return offload_status::too_large;
    }
    for (uint32_t lane = 0; lane < max_lanes; ++lane) {
      const offload_line& asked = lines[lane];
      if ((mask >> lane & 1) != 0 && asked.payload_bytes != 0 && !may_reach(asked.payload, asked.payload_bytes))
        return offload_status::bad_address;
    }
    return offload_status::done;
  }

  Memory memory_;
  lock_bits<Target, Check> locks_;
  offload_limits limits_;
  uint32_t start_ = 0;
};

/// The servers of several devices as one. (libgomp, `dev_num`: which device asks.) One thread's view, as each of them is.
template <typename Server>
class offload_devices {
 public:
  /// The number of its device, from 0 on.
  uint32_t add(Server server) {
    servers_.push_back(std::move(server));
    return static_cast<uint32_t>(servers_.size() - 1);
  }

  /// Serves one request of one device, if there is one: `run(device, function, line, lane)`. Looks at each device once and begins behind the
  /// one that it served last.
  template <typename Run>
  bool handle(Run&& run) {
    return serve([&](Server& server, uint32_t device) {
      return server.handle(
          [&](uint64_t function, offload_line& line, uint32_t lane) { run(device, function, line, lane); });
    });
  }
  /// The same with mapped variables: `run(device, function, line, maps, lane)`.
  template <typename Run>
  bool handle_mapped(Run&& run) {
    return serve([&](Server& server, uint32_t device) {
      return server.handle_mapped([&](uint64_t function, offload_line& line, offload_maps& maps, uint32_t lane) {
        run(device, function, line, maps, lane);
      });
    });
  }

  /// A device's server, for fetch() and put() of what its lines name.
  Server& operator[](uint32_t device) { return servers_[device]; }
  uint32_t count() const { return static_cast<uint32_t>(servers_.size()); }
  /// Of all of them, where they may end.
  void end() const {
    for (const Server& each : servers_) each.end();
  }

 private:
  template <typename Serve>
  bool serve(Serve&& one) {
    for (uint32_t n = 0; n < count(); ++n) {
      const uint32_t device = (next_ + n) % count();
      if (!one(servers_[device], device)) continue;
      next_ = device + 1;
      return true;
    }
    return false;
  }

  std::vector<Server> servers_;
  uint32_t next_ = 0;
};

}  // namespace heddle::rpc
