#include <heddle/sim/run/assumptions.h>
#include <heddle/sim/run/execution.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <thread>
#include <utility>

namespace heddle::sim {
namespace {

struct order_name {
  std::string_view name;
  memory_order order;
};
constexpr std::array order_names = {
    order_name{"relaxed", memory_order::relaxed}, order_name{"acquire", memory_order::acquire},
    order_name{"release", memory_order::release}, order_name{"acq_rel", memory_order::acq_rel},
    order_name{"seq_cst", memory_order::seq_cst}};

struct scope_name {
  std::string_view name;
  scope reach;
};
constexpr std::array scope_names = {scope_name{"wave", scope::wave}, scope_name{"block", scope::block},
                                    scope_name{"cluster", scope::cluster}, scope_name{"device", scope::device},
                                    scope_name{"system", scope::system}};

template <typename Names>
auto named(const Names& names, std::string_view name) {
  return std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.name == name; });
}

/// The text in front of the next separator, which is taken off with it.
std::string_view next_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

bool read_added(std::string_view text, added_operation& into) {
  const std::string_view kind = next_part(text, '.');
  if (kind == "sync_lanes" || kind == "sync_same" || kind == "sync_block") {
    into.kind = kind == "sync_block" ? operation_kind::block_barrier : operation_kind::sync_lanes;
    into.of_same = kind == "sync_same";
    return text.empty();
  }
  if (kind != "fence" && kind != "proxy_fence") return false;
  into.kind = operation_kind::fence;
  into.of_proxy = kind == "proxy_fence";
  if (into.of_proxy) return text.empty();
  while (!text.empty()) {
    const std::string_view word = next_part(text, '.');
    if (const auto order = named(order_names, word);
        order != order_names.end() && order->order != memory_order::relaxed)
      into.order = order->order;
    else if (const auto reach = named(scope_names, word); reach != scope_names.end())
      into.reach = reach->reach;
    else
      return false;
  }
  return true;
}

bool read_word(std::string_view word, site_change& into) {
  if (const auto order = named(order_names, word); order != order_names.end()) {
    into.order = order->order;
    return true;
  }
  if (const auto reach = named(scope_names, word); reach != scope_names.end()) {
    into.reach = reach->reach;
    return true;
  }
  constexpr std::string_view of_plain = "plain.";
  if (word.starts_with(of_plain))
    if (const auto order = named(order_names, word.substr(of_plain.size())); order != order_names.end()) {
      into.plain_order = order->order;
      return true;
    }
  constexpr std::string_view of_variable = "after:broadcast.";
  if (word.starts_with(of_variable)) {
    into.shares = word.substr(of_variable.size());
    return !into.shares.empty();
  }
  if (word.starts_with("before:")) return read_added(word.substr(7), into.before);
  if (word.starts_with("after:")) return read_added(word.substr(6), into.after);
  return false;
}

std::string read_one(std::string_view text, assumption& into) {
  const std::string whole = "assume: \"" + std::string(text.substr(0, 200)) + "\"";
  const size_t equal = text.rfind('=');
  const std::string_view site = text.substr(0, equal);
  const size_t colon = site.rfind(':');
  if (equal == std::string_view::npos || colon == std::string_view::npos || colon == 0)
    return whole + " is no FILE:LINE=CHANGE, as in rpc/mailbox.h:75=acquire";
  into.file = site.substr(0, colon);
  const std::string_view number = site.substr(colon + 1);
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), into.line);
  if (failed != std::errc() || end != number.data() + number.size() || into.line < 1)
    return whole + ": \"" + std::string(number) + "\" is no number of a line";
  std::string_view words = text.substr(equal + 1);
  if (words.empty()) return whole + " says no change, as acquire, system or before:fence.release.device";
  while (!words.empty())
    if (const std::string_view word = next_part(words, '+'); !read_word(word, into.change))
      return whole + ": \"" + std::string(word) +
             "\" is no change; use relaxed, acquire, release, acq_rel, seq_cst (plain.relaxed and so on, of a plain "
             "access), wave, block, cluster, device, system, or before: or after: with fence.ORDER.SCOPE, proxy_fence, "
             "sync_lanes, sync_same or sync_block, or "
             "after:broadcast.VARIABLE";
  return {};
}

/// An order, as far as an operation can have it that loads, stores, or both.
memory_order fitting(memory_order wanted, memory_order now, bool loads, bool stores) {
  if (wanted == memory_order::relaxed || wanted == memory_order::seq_cst || (loads && stores)) return wanted;
  if (wanted == memory_order::acq_rel) return loads ? memory_order::acquire : memory_order::release;
  const bool fits = wanted == memory_order::acquire ? loads : stores;
  return fits ? wanted : now;
}

bool is_word(const operation& what) {
  const uint32_t size = what.size_bytes;
  return size != 0 && size <= 8 && (size & (size - 1)) == 0 && reinterpret_cast<uintptr_t>(what.address) % size == 0;
}

}  // namespace

assumptions_or_error parse_assumptions(std::string_view text) {
  assumptions_or_error read;
  while (!text.empty()) {
    assumption one;
    read.error = read_one(next_part(text, ','), one);
    if (!read.error.empty()) return read;
    read.all.push_back(std::move(one));
  }
  return read;
}

// Machines cannot make larger or misaligned accesses in one piece: those stay plain.
void apply(const site_change& by, operation& to) {
  const bool was_plain = to.kind == operation_kind::plain_load || to.kind == operation_kind::plain_store;
  switch (to.kind) {
    case operation_kind::plain_load:
    case operation_kind::plain_store:
      if (!by.plain_order || !is_word(to)) return;
      to.kind = to.kind == operation_kind::plain_load ? operation_kind::volatile_load : operation_kind::volatile_store;
      break;
    case operation_kind::load:
    case operation_kind::store:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
    case operation_kind::volatile_load:
    case operation_kind::volatile_store:
    case operation_kind::fence:
      break;
    default:
      return;
  }
  const bool stores = to.kind == operation_kind::store || to.kind == operation_kind::volatile_store;
  const bool loads = to.kind == operation_kind::load || to.kind == operation_kind::volatile_load;
  const std::optional<memory_order>& order = was_plain ? by.plain_order : by.order;
  if (order) to.order = fitting(*order, to.order, !stores, !loads);
  if (by.reach) to.reach = *by.reach;
}

// -- which operations ----------------------------------------------------------------------------------------------------------------

void assumptions::take(const std::string& text) {
  if (text == text_) return;
  assumptions_or_error read = parse_assumptions(text);
  if (!read.error.empty()) throw std::invalid_argument(read.error);
  text_ = text;
  known_.clear();
  changes_.clear();
  shares_any_ = false;
  for (assumption& each : read.all) {
    source_line site;
    site.file = std::move(each.file);
    site.line = each.line;
    shares_any_ = shares_any_ || !each.change.shares.empty();
    // What is said of one line more than once adds up.
    const auto same = std::find_if(changes_.begin(), changes_.end(), [&](const auto& other) {
      return other.first.file == site.file && other.first.line == site.line;
    });
    if (same == changes_.end()) {
      changes_.emplace_back(std::move(site), each.change);
      continue;
    }
    if (each.change.order) same->second.order = each.change.order;
    if (each.change.plain_order) same->second.plain_order = each.change.plain_order;
    if (each.change.reach) same->second.reach = each.change.reach;
    if (each.change.before.kind != operation_kind::none) same->second.before = each.change.before;
    if (each.change.after.kind != operation_kind::none) same->second.after = each.change.after;
    if (!each.change.shares.empty()) same->second.shares = each.change.shares;
  }
}

namespace {

/// On a stack of the system's: a lane's may be too small for what reads debug information.
template <typename Work>
void on_large_stack(const Work& work) {
  std::thread(work).join();
}

}  // namespace

void assumptions::look_at_lines(const void* place, known_place& into) const {
  into.is_plumbing = true;
  for (const source_line& line : inlined_at(place)) {
    if (line.file.empty() || is_plumbing(line)) continue;
    for (const auto& [site, change] : changes_) {
      if (line.line != site.line || !is_in_file(line, site.file)) continue;
      if (into.is_plumbing) into.change = &change;
      if (!change.shares.empty() && into.shares == nullptr) into.shares = &change;
    }
    into.is_plumbing = false;
  }
}

const assumptions::known_place& assumptions::look_up(const void* place) {
  const auto [entry, fresh] = known_.try_emplace(place);
  if (!fresh) return entry->second;
  on_large_stack([&] { look_at_lines(place, entry->second); });
  return entry->second;
}

assumptions::found assumptions::at(const lane& self) {
  found made;
  bool is_innermost = true;
  for (const void* const place : calls_of(self)) {
    if (place == nullptr) break;
    const known_place& known = look_up(place);
    if (is_innermost) made.change = known.change;
    is_innermost = is_innermost && known.is_plumbing;
    if (known.shares != nullptr) {
      made.shares = known.shares;
      made.place = place;
    }
    if (known.shares != nullptr || (!is_innermost && !shares_any_)) break;
  }
  return made;
}

const local_integer* assumptions::integer_at(const void* place, const std::string& name, std::string* others) {
  const auto [entry, fresh] = integers_.try_emplace(place);
  std::vector<local_integer>& all = entry->second;
  if (fresh) on_large_stack([&] { all = integers_at(place); });
  for (const local_integer& each : all) {
    if (each.name == name) return &each;
    if (others != nullptr) *others += (others->empty() ? "" : ", ") + each.name;
  }
  return nullptr;
}

// -- at work -------------------------------------------------------------------------------------------------------------------------

namespace {

// What the lane does next is meanwhile known to its frames alone.
void add(execution& here, lane& self, const added_operation& added, const operation& next, const void* place) {
  const bool is_fence = added.kind == operation_kind::fence;
  if (!is_fence && self.is_host()) return;
  if (added.of_same && self.assumed.met == 0) return;
  const bool hid = std::exchange(self.hides_operands, true);
  const std::array<uint64_t, 3> call = std::exchange(
      self.call, {reinterpret_cast<uintptr_t>(next.address), static_cast<uint64_t>(next.kind), next.mask});
  self.assumed.is_adding = true;
  operation how;
  how.kind = added.kind;
  how.place = place;
  how.frame = next.frame;
  how.private_state = next.private_state;
  if (added.of_proxy) {
    how.reach = scope::block;
    here.step(self, how);
    if (late_memory* const late = here.late()) late->proxy_fence(self, proxy_global | proxy_shared);
    here.performed(self, 0);
  } else if (is_fence) {
    how.order = added.order;
    how.reach = added.reach;
    here.step(self, how);
    here.let_arrive(self);
    if (late_memory* const late = here.late()) late->fence(self, self.pending);
    here.performed(self, 0);
  } else if (added.kind == operation_kind::block_barrier) {
    here.barrier(self, how, 0);
  } else {
    how.mask = added.of_same ? self.assumed.met : ~uint64_t{0} >> (64 - self.of->lanes.size());
    how.without_ended = true;
    here.collective(self, how, 0);
  }
  self.assumed.is_adding = false;
  self.hides_operands = hid;
  self.call = call;
}

}  // namespace

// What comes behind an operation is performed when the lane next enters the simulator: only then has code under test made a plain access.
void assume(execution& here, lane& self) {
  assumed_operations& mine = self.assumed;
  if (mine.is_adding) return;
  const operation next = self.pending;
  // The second half of a statement: what is added stands in front of the first, or behind this one.
  if (self.in_same_call && mine.due != nullptr) return apply(*mine.due, self.pending);
  mine.in_same_call = false;
  if (const site_change* const due = std::exchange(mine.due, nullptr); due != nullptr) {
    mine.in_same_call = true;
    add(here, self, due->after, next, mine.place);
    mine.in_same_call = false;
    self.pending = next;
  }
  const auto [found, shares, place] = here.assumed().at(self);
  if (is_collective(next.kind)) mine.met = next.mask;
  if (shares != nullptr && !self.is_host() && (is_collective(next.kind) || next.kind == operation_kind::active_mask)) {
    mine.shares = shares;
    if (!detour_return(self, next, place))
      here.core().end(self, scheduler::verdict::unsupported,
                      "after:broadcast." + shares->shares + ": it is not known where the call returns from");
  }
  if (found == nullptr) return;
  if (found->before.kind != operation_kind::none && !self.in_same_call) {
    add(here, self, found->before, next, next.place);
    mine.in_same_call = true;
  }
  if (found->after.kind != operation_kind::none) {
    mine.due = found;
    mine.place = next.place;
  }
  self.pending = next;
  apply(*found, self.pending);
}

}  // namespace heddle::sim
