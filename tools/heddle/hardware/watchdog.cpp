#include <heddle/hw/observed/session.h>
#include <heddle/tools/hardware/watchdog.h>
#include <heddle/tools/process/seconds_text.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <ranges>

namespace heddle::tools {
namespace {

using observed::session;

const char* name_of(observed::operation kind) {
  constexpr const char* names[] = {"load", "store", "modify", "notify"};
  return names[static_cast<size_t>(kind)];
}
const char* name_of(memory_order order) {
  constexpr const char* names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<size_t>(order)];
}
const char* name_of(scope reach) {
  constexpr const char* names[] = {"wave", "block", "cluster", "device", "system"};
  return names[static_cast<size_t>(reach)];
}
const char* name_of(observed::activity doing) {
  constexpr const char* names[] = {"absent", "running", "synchronizes", "joins", "sleeps", "ended"};
  return names[static_cast<size_t>(doing)];
}

std::string hexadecimal(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + digits;
}

/// Addresses in words.
class places {
 public:
  explicit places(const session::picture& of) : of_(of) {
    std::map<std::string, uint32_t> times;
    for (const auto& [address, memory] : of.memory) {
      const uint32_t nth = ++times[memory.name];
      names_[address] = memory.name + (nth == 1 ? "" : " " + std::to_string(nth));
    }
  }

  std::string name_of(const void* memory) const {
    const auto found = names_.find(reinterpret_cast<uint64_t>(memory));
    return found == names_.end() ? "ports" : found->second;
  }

  dump_place at(uint64_t address) const {
    const auto behind = of_.memory.upper_bound(address);
    if (behind == of_.memory.begin()) return {.allocation = "memory of no name", .offset = 0, .part = {}};
    const auto& [begin, memory] = *std::prev(behind);
    if (address - begin >= memory.size_bytes) return {.allocation = "memory of no name", .offset = 0, .part = {}};
    return {.allocation = names_.at(begin), .offset = address - begin, .part = part_of(begin, address - begin)};
  }

 private:
  std::string part_of(uint64_t begin, uint64_t offset) const {
    for (const observed::named_ports& each : of_.ports) {
      if (begin == reinterpret_cast<uint64_t>(each.shared)) return part_of_ports(each.shape, offset);
      const bool of_client = begin == reinterpret_cast<uint64_t>(each.client_locks);
      if (!of_client && begin != reinterpret_cast<uint64_t>(each.server_locks)) continue;
      // Behind them is the word of rings, or of giving up.
      if (offset / sizeof(uint32_t) >= each.shape.last_own_index()) return {};
      const uint64_t first = offset / sizeof(uint32_t) * 8;
      const uint64_t last = std::min<uint64_t>(first + 7, each.shape.ports - uint64_t{1});
      return std::string("lock of ") + (first == last ? "port " : "ports ") + std::to_string(first) +
             (first == last ? "" : " to " + std::to_string(last));
    }
    return {};
  }

  static std::string part_of_ports(const rpc::layout& shape, uint64_t offset) {
    const auto port = [&](uint64_t begin, uint64_t bytes) {
      return "port " + std::to_string((offset - begin) / bytes);
    };
    if (offset < rpc::layout::client_outbox_offset()) return "doorbell";
    if (offset < shape.server_outbox_offset())
      return port(rpc::layout::client_outbox_offset(), sizeof(uint32_t)) + ", client's outbox";
    if (offset < shape.header_offset())
      return port(shape.server_outbox_offset(), sizeof(uint32_t)) + ", server's outbox";
    if (offset < shape.packet_offset()) return port(shape.header_offset(), sizeof(rpc::header)) + ", header";
    return port(shape.packet_offset(), sizeof(rpc::packet) * shape.lanes) + ", packet";
  }

  const session::picture& of_;
  std::map<uint64_t, std::string> names_;  ///< by address
};

std::string in_words(const dump_place& place) {
  std::string text = place.allocation;
  if (place.offset != 0) text += "+" + std::to_string(place.offset);
  return place.part.empty() ? text : text + " (" + place.part + ")";
}

/// What the actor has looked at, and found the same, since it last changed memory or read something new.
std::string waits_of(const session::picture::actor& who, const places& where) {
  std::string text;
  for (const auto& each : std::views::reverse(who.events)) {
    // The first of its wait is what it did last before.
    if (each.repeats == 0) break;
    const auto sort = observed::operation_sort::unpacked(each.sort);
    if (sort.kind == observed::operation::store || sort.kind == observed::operation::notify) break;
    const std::string one = in_words(where.at(each.address)) + " = " + hexadecimal(each.before);
    text = text.empty() ? one : one + ", " + text;
  }
  return text.empty() ? "" : "looks again and again at " + text;
}

/// Those of one actor keep their order where the clock did not move.
void sort_by_clock(std::vector<dump_event>& events) {
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return std::pair(events[one].clock_ns, one) < std::pair(events[other].clock_ns, other);
  });
  std::vector<dump_event> sorted;
  sorted.reserve(events.size());
  for (const size_t each : order) sorted.push_back(std::move(events[each]));
  events = std::move(sorted);
}

void add_actor(dump& to, const session::picture::actor& who, const places& where) {
  const auto index = static_cast<uint32_t>(to.actors.size());
  const auto doing = static_cast<observed::activity>(who.log.doing);
  const bool awake = doing == observed::activity::running || doing == observed::activity::absent;
  to.actors.push_back({.name = who.name,
                       .group = who.group,
                       .member = who.member,
                       .doing = name_of(doing),
                       .operations = who.log.operations,
                       .changes = who.log.changes,
                       .events = who.log.written,
                       .lost = who.log.written - who.events.size(),
                       .waits = awake ? waits_of(who, where) : ""});
  for (const observed::event& each : who.events) {
    const auto sort = observed::operation_sort::unpacked(each.sort);
    to.events.push_back({.clock_ns = each.clock,
                         .actor = index,
                         .operation = name_of(sort.kind),
                         .order = name_of(sort.order),
                         .scope = name_of(sort.reach),
                         .place = where.at(each.address),
                         .before = each.before,
                         .after = each.after,
                         .changes = each.changes,
                         .repeats = each.repeats});
  }
}

}  // namespace

void add_picture(dump& to, bool with_device_memory) {
  const session::picture taken = session::instance().take_picture(with_device_memory);
  const places where(taken);
  to.whole = taken.with_device_memory;
  to.without_log = taken.without_log;
  to.ports.clear();
  to.actors.clear();
  to.events.clear();
  for (size_t set = 0; set < taken.ports.size(); ++set) {
    for (uint32_t port = 0; port < taken.states[set].size(); ++port) {
      const observed::port_state& state = taken.states[set][port];
      to.ports.push_back({.set = where.name_of(taken.ports[set].shared),
                          .port = port,
                          .owner = state.client_outbox == state.server_outbox ? "client" : "server",
                          .client_outbox = state.client_outbox,
                          .server_outbox = state.server_outbox,
                          .client_lock = state.client_locks,
                          .server_lock = state.server_locks,
                          .mask = state.header.mask,
                          .opcode = state.header.opcode,
                          .step = state.header.step});
    }
  }
  for (const auto& who : taken.actors) add_actor(to, who, where);
  sort_by_clock(to.events);
}

std::string summary_of(const dump& left) {
  std::string text;
  for (const dump_actor& each : left.actors)
    if (each.doing != "ended") text += "  " + each.name + ": " + (each.waits.empty() ? each.doing : each.waits) + "\n";
  for (const dump_port& each : left.ports) {
    if (each.owner == "client" && !each.client_lock && !each.server_lock) continue;
    text += "  " + each.set + ", port " + std::to_string(each.port) + ": owned by the " + each.owner + ", locked by " +
            (each.client_lock   ? each.server_lock ? "both" : "the client"
             : each.server_lock ? "the server"
                                : "nothing") +
            "; outboxes " + hexadecimal(each.client_outbox) + " and " + hexadecimal(each.server_outbox) + ", mask " +
            hexadecimal(each.mask) + ", opcode " + std::to_string(each.opcode) + ", hand-overs " +
            std::to_string(each.step >> 2) + "\n";
  }
  return text;
}

namespace {

using std::chrono::steady_clock;

/// How often the logs are looked at.
constexpr std::chrono::milliseconds look_interval{20};
/// How long a run has to end once it was stopped.
constexpr std::chrono::seconds grace{5};

double seconds_between(steady_clock::time_point from, steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

watchdog::watchdog(watch_options options, std::function<void(const std::string& lines)> give_up)
    : options_(std::move(options)), give_up_(std::move(give_up)), thread_([this] { watch(); }) {}

watchdog::~watchdog() { finish(); }

void watchdog::begin_run(uint64_t run, std::optional<uint64_t> seed) {
  const std::lock_guard lock(mutex_);
  run_ = run;
  seed_ = seed;
}

std::string watchdog::finish() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return lines_;
}

void watchdog::watch() {
  const observed::session& watched = observed::session::instance();
  const auto start = steady_clock::now();
  auto moved = start;
  auto run_began = start;
  uint64_t progress = ~uint64_t{0};
  uint64_t run = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look_interval, [this] { return over_; })) {
    const auto now = steady_clock::now();
    if (run_ != run) run_began = moved = now;
    run = run_;
    const uint64_t there = watched.progress();
    if (there != progress) moved = now;
    progress = there;
    if (options_.quiet_seconds > 0 && seconds_between(moved, now) > options_.quiet_seconds)
      found("nothing has happened for " + seconds_text(options_.quiet_seconds), seconds_between(run_began, now));
    else if (seconds_between(start, now) > options_.seconds_max)
      found("no end after " + seconds_text(options_.seconds_max), seconds_between(run_began, now));
    else
      continue;
    // Every wait ends; a thread or lane outside of a wait may go on for as long as it likes.
    if (!changed_.wait_for(lock, grace, [this] { return over_; })) give_up_(lines_);
    return;
  }
}

void watchdog::found(const std::string& reason, double seconds) {
  dump left = options_.header;
  left.run = run_;
  left.seed = seed_;
  left.reason = reason;
  left.seconds = seconds;
  lines_ = "hang: " + reason + " (run " + std::to_string(run_) +
           (seed_ ? ", seed " + std::to_string(*seed_) + ")\n" : ")\n");
  // Written before the device is asked for what only it reaches: one that does not answer leaves this.
  add_picture(left, false);
  std::optional<std::string> failed = write_dump(left, options_.file);
  add_picture(left, true);
  lines_ += summary_of(left);
  if (!failed) failed = write_dump(left, options_.file);
  lines_ += "  " + (failed ? *failed : "the dump is in " + options_.file) + "\n";
  observed::session::instance().stop();
}

}  // namespace heddle::tools
