#include <heddle/sim/hang_report.h>
#include <heddle/sim/source_line.h>
#include <heddle/sim/stack_overflow.h>
#include <heddle/sim/world.h>

#include <cstring>
#include <exception>
#include <utility>

// The bounds of the program's own image, set by the linker.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

thread_local constinit lane* world::current = nullptr;
thread_local constinit world* world::instance = nullptr;

namespace {

constexpr size_t most_lanes_at_once = size_t{1} << 19;
constexpr size_t most_hosts = 1024;
constexpr size_t page_bytes = 4096;  // the least that any page has

// Equal bytes, equal digest; the two halves of a 128-bit product mix well and cost one multiplication (the idea of wyhash).
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
uint64_t digest_of(const std::byte* low, const std::byte* high) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (; low + sizeof(uint64_t) <= high; low += sizeof(uint64_t)) {
    uint64_t word = *reinterpret_cast<const volatile uint64_t*>(low);
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(word ^ state) * 0xa0761d6478bd642fu;
    state = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ word;
  }
  return state;
}

uint64_t lane_bit(const lane& who) { return uint64_t{1} << who.index; }

}  // namespace

std::string name_of(const wave& who) {
  if (who.host) return "host " + who.name;
  return "wave " + std::to_string(who.device_id);
}

std::string name_of(const lane& who) {
  if (who.is_host()) return name_of(*who.of);
  return name_of(*who.of) + " lane " + std::to_string(who.index);
}

world::world() : view_(this, &world::look_at) {
  image_low_ = reinterpret_cast<uintptr_t>(&__executable_start);
  image_high_ = reinterpret_cast<uintptr_t>(&_end);
  report_stack_overflows();
}

world::~world() = default;

// -- a run ------------------------------------------------------------------------------------------------------------------------

void world::prepare(const settings& machine, scheduler::choice_source& choices, bool explain) {
  if (device_stacks_ == nullptr || device_stacks_->stack_bytes() != machine.stack_bytes)
    device_stacks_ = std::make_unique<stack_arena>(machine.stack_bytes, most_lanes_at_once);
  if (host_stacks_ == nullptr || host_stacks_->stack_bytes() != machine.host_stack_bytes)
    host_stacks_ = std::make_unique<stack_arena>(machine.host_stack_bytes, most_hosts);
  machine_ = machine;
  heap_.reset();
  lanes_used_ = waves_used_ = 0;
  free_stacks_.clear();
  stacks_used_ = host_stacks_used_ = 0;
  stack_to_free_ = no_stack;
  kernels_.clear();
  kernels_running_ = 0;
  kernels_launched_ = device_waves_ = resident_waves_ = 0;
  live_lanes_ = 0;
  candidates_.clear();
  fair_.reset(machine.progress);
  watches_.clear();
  changes_ = proof_changes_ = 0;
  proving_ = proof::none;
  fair_tail_ = false;
  choices_ = &choices;
  digest_ = {};
  steps_ = 0;
  next_limit_ = machine.budget;
  recorder_ = explain ? std::make_unique<recorder>() : nullptr;
  verdict_ = verdict::ok;
  message_.clear();
  about_ = nullptr;
  ended_by_ = nullptr;
  report_.clear();
  stock_for_ = nullptr;
  denied_ = false;
  stopped_ = false;
}

outcome world::run(const settings& machine, const std::function<void()>& body, scheduler::choice_source& choices,
                   bool explain) {
  prepare(machine, choices, explain);
  static constexpr fiber_body run_main = {
      .size_bytes = sizeof(const std::function<void()>*),
      .move_to = [](void* to, void* from) { std::memcpy(to, from, sizeof(const std::function<void()>*)); },
      .invoke = [](void* main_body) { (**static_cast<const std::function<void()>**>(main_body))(); },
  };
  main_body_ = &body;
  wave& host = new_wave();
  host.host = true;
  host.name = "main";
  host.live_lanes = 1;
  lane& main = new_lane(host, 0);
  main.how_to_run = &run_main;
  begin(main);
  run_main.move_to(main.body, &main_body_);
  host.resident = true;
  fair_.live(host);
  add_candidate(main);

  instance = this;
  exceptions_ = &exceptions_in_flight::of_this_thread();
  fiber::switch_to(root_, main.runs, *exceptions_);
  while (stock_for_ != nullptr) {
    report_ = hang_report(*this).text();
    fiber::switch_to(root_, std::exchange(stock_for_, nullptr)->runs, *exceptions_);
  }
  current = nullptr;

  outcome result;
  result.verdict = verdict_;
  result.steps = steps_;
  result.digest = digest_.value();
  result.stopped_by_source = stopped_;
  result.message = message_;
  if (verdict_ != verdict::ok && about_ != nullptr) result.where = source_of(about_).where();
  if (recorder_ != nullptr) {
    constexpr size_t most_steps = 200000;
    result.steps_taken = recorder_->steps(heap_, most_steps);
    if (verdict_ != verdict::ok) result.report = report_.empty() ? hang_report(*this).text() : report_;
  }
  instance = nullptr;
  return result;
}

wave& world::new_wave() {
  if (waves_used_ == waves_.size()) waves_.emplace_back();
  wave& fresh = waves_[waves_used_];
  auto lanes = std::move(fresh.lanes);
  auto collectives = std::move(fresh.collectives);
  lanes.clear();
  collectives.clear();
  fresh = wave{};
  fresh.lanes = std::move(lanes);
  fresh.collectives = std::move(collectives);
  fresh.id = static_cast<uint32_t>(waves_used_++);
  return fresh;
}

lane& world::new_lane(wave& of, uint32_t index) {
  if (lanes_used_ == lanes_.size()) lanes_.emplace_back();
  lane& fresh = lanes_[lanes_used_];
  fresh.of = &of;
  fresh.id = static_cast<uint32_t>(lanes_used_++);
  fresh.index = index;
  fresh.state = lane_state::candidate;
  fresh.begun = false;
  fresh.pending = {};
  fresh.storing.size_bytes = 0;
  fresh.resolved = false;
  fresh.registrations.clear();
  fresh.private_state = nullptr;
  got_somewhere(fresh);
  fresh.proof.forget();
  fresh.proven = false;
  of.lanes.push_back(&fresh);
  ++live_lanes_;
  return fresh;
}

void world::begin(lane& self) {
  self.begun = true;
  const size_t bytes = self.how_to_run->size_bytes;
  stack_arena::stack on;
  if (self.is_host()) {
    self.stack_slot = host_stacks_used_++;
    on = host_stacks_->at(self.stack_slot);
  } else {
    if (free_stacks_.empty()) {
      self.stack_slot = stacks_used_++;
    } else {
      self.stack_slot = free_stacks_.back();
      free_stacks_.pop_back();
    }
    on = device_stacks_->at(self.stack_slot);
  }
  constexpr size_t line_bytes = 64;
  self.body = on.high() - (bytes + line_bytes - 1) / line_bytes * line_bytes;
  self.runs.reset(on, self.is_host() ? 0 : static_cast<uint32_t>(self.stack_slot), bytes, &world::run_lane, &self);
  if (!self.is_host()) {
    const kernel& of = kernels_.front();
    std::memcpy(self.body, of.bytes.data(), of.bytes.size());
  }
}

void world::run_lane(void* argument) {
  lane& self = *static_cast<lane*>(argument);
  world& here = *instance;
  if (!self.of->stepped) here.first_step(*self.of);
  std::string thrown;
  bool has_thrown = false;
  current = &self;
  try {
    self.how_to_run->invoke(self.body);
  } catch (const std::exception& error) {
    has_thrown = true;
    thrown = error.what();
  } catch (...) {
    has_thrown = true;
    thrown = "of a type that does not derive from std::exception";
  }
  current = nullptr;
  here.finish_plain_store(self);
  if (has_thrown) here.end(self, verdict::assertion, "an exception leaves the thread: " + thrown);
  here.lane_ended(self);
}

void world::leave(lane& self) {
  fiber::switch_to(self.runs, root_, *exceptions_);
  std::abort();  // nobody enters an abandoned lane
}

void world::end(lane& about, scheduler::verdict found, std::string message) {
  verdict_ = found;
  message_ = std::move(message);
  about_ = about.pending.place;
  ended_by_ = &about;
  report_.clear();
  leave(about);
}

void world::stop(lane& self) {
  stopped_ = true;
  leave(self);
}

void world::lane_ended(lane& self) {
  wave& of = *self.of;
  remove_candidate(self);
  self.state = lane_state::ended;
  of.ended_mask |= lane_bit(self);
  --of.live_lanes;
  --live_lanes_;
  for (const open_collective& open : of.collectives)
    if ((open.mask & lane_bit(self)) != 0) {
      for (lane* waiting : of.lanes)
        if ((open.arrived & lane_bit(*waiting)) != 0)
          end(*waiting, verdict::mask, name_of(self) + " has ended, but a " + to_string(open.kind) + " of its wave names it");
    }
  if (!self.is_host()) {
    // Its stack is still in use; the one that was freed before it is not.
    if (stack_to_free_ != no_stack) free_stacks_.push_back(stack_to_free_);
    stack_to_free_ = self.stack_slot;
  }
  if (!of.live()) {
    fair_.ended(of);
    of.ended = 1;
    wake_readers(self, &of.ended, sizeof of.ended);
    if (!of.host) {
      --resident_waves_;
      // Launches run in order, so a wave that ends is one of the first.
      kernel& runs = kernels_.front();
      if (--runs.live_waves == 0) {
        kernels_.pop_front();
        --kernels_running_;
        wake_readers(self, &kernels_running_, sizeof kernels_running_);
      }
      start_blocks();
    }
  }
  if (live_lanes_ == 0 && kernels_.empty()) {
    if (denied_) verdict_ = verdict::progress;
    leave(self);
  }
  block(self);
  std::abort();
}

// -- who goes next ----------------------------------------------------------------------------------------------------------------

void world::add_candidate(lane& who) {
  who.state = lane_state::candidate;
  who.candidate_slot = static_cast<uint32_t>(candidates_.size());
  candidates_.push_back(&who);
  fair_.candidate_added(*who.of);
}

void world::remove_candidate(lane& who) {
  lane* const last = candidates_.back();
  candidates_[who.candidate_slot] = last;
  last->candidate_slot = who.candidate_slot;
  candidates_.pop_back();
  fair_.candidate_removed(*who.of);
}

scheduler::candidate world::look_at(const void* self, uint32_t index) {
  const auto& here = *static_cast<const world*>(self);
  const lane& who = *here.candidates_[index];
  const auto address = reinterpret_cast<uintptr_t>(who.pending.address);
  const uint64_t location = address == 0 ? 0 : here.stable(address);
  return {.actor = who.id,
          .group = who.of->id,
          .guaranteed = who.of->guaranteed,
          .writes = may_write(who.pending.kind),
          .location = location == unstable ? 0 : location};
}

lane& world::choose_specially(lane& self) {
  if (steps_ >= next_limit_) pass_limit(self);
  while (true) {
    if (proving_ != proof::none && changes_ != proof_changes_) proving_ = proof::none;
    if (proving_ != proof::none)
      for (lane* who : candidates_)
        if (proving_ == proof::of_everybody || who->of->guaranteed) return *who;
    if (denied_ && !candidates_.empty()) return *candidates_[denied_turns_++ % candidates_.size()];
    if (!candidates_.empty() && (fair_.candidates() != 0 || fair_.owes_a_start())) {
      proving_ = proof::none;
      return ask(self);
    }
    proving_ = candidates_.empty() ? proof::of_everybody : proof::of_guaranteed;
    if (!all_waits_proven()) continue;
    if (proving_ == proof::of_everybody) end_deadlock(self);
    judge_denied(self);
  }
}

// A hang that this model allows has been found. Whether a stronger one would avoid it is seen by letting everybody run on in turn:
// when the run ends, this hang is the model's, and the verdict `progress`; when they all get stuck, it is a deadlock.
void world::judge_denied(lane& self) {
  denied_ = true;
  denied_turns_ = 0;
  take_stock(self);
  proving_ = proof::none;
}

// Notes what the verdict is about, and has the report written, as things stand now.
void world::take_stock(lane& self) {
  if (const lane* waiter = most_telling_waiter()) about_ = waiter->pending.place;
  message_ = std::string("everybody whom the progress model '") + to_string(machine_.progress) +
             "' guarantees a turn waits for somebody whom it does not";
  if (recorder_ == nullptr) return;
  stock_for_ = &self;
  fiber::switch_to(self.runs, root_, *exceptions_);
}

// Everybody who counts waits. Whether they wait for ever is certain when each of them, run again on memory that does not change,
// comes back to the very state in which it waited: equal state and equal memory have an equal future. Whoever does not is run
// again. (The condition of GenMC's liveness check, for code instead of graphs.)
bool world::all_waits_proven() {
  const bool everybody = proving_ == proof::of_everybody;
  if (proof_changes_ != changes_) {
    proof_changes_ = changes_;
    for (size_t n = 0; n < lanes_used_; ++n) {
      lanes_[n].proof.forget();
      lanes_[n].proven = false;
    }
  }
  bool all = true;
  const auto counts = [&](const lane& who) {
    return who.state == lane_state::waiting && who.private_state != nullptr && (everybody || who.of->guaranteed);
  };
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane& who = lanes_[n];
    if (!counts(who) || who.proven) continue;
    who.proven = who.proof.returns_to_anchor(digest_of(who.private_state, who.runs.stack().high()));
    all = all && who.proven;
  }
  if (all) return true;
  for (size_t n = 0; n < lanes_used_; ++n)
    if (counts(lanes_[n]) && !lanes_[n].proven) add_candidate(lanes_[n]);
  return false;
}

void world::end_deadlock(lane& self) {
  verdict_ = verdict::deadlock;
  message_ = "nobody can ever move again";
  if (const lane* waiter = most_telling_waiter()) about_ = waiter->pending.place;
  report_.clear();
  leave(self);
}

// The one whose source line names the hang: a lane in a loop of the code under test before a collective that waits for it, the
// device before the host.
const lane* world::most_telling_waiter() const {
  const bool everybody = proving_ == proof::of_everybody;
  const lane* best = nullptr;
  int best_rank = 0;
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if (who.state == lane_state::ended || who.state == lane_state::candidate) continue;
    if (!everybody && !who.of->guaranteed) continue;
    const bool loops = who.state == lane_state::waiting && who.private_state != nullptr;
    const int rank = 1 + (loops ? 2 : 0) + (who.is_host() ? 0 : 1);
    if (rank > best_rank) {
      best = &who;
      best_rank = rank;
    }
  }
  return best;
}

void world::pass_limit(lane& self) {
  if (denied_) {
    // The hang under this model is certain; only whether another would end it has not been seen.
    verdict_ = verdict::progress;
    leave(self);
  }
  if (fair_tail_) {
    const lane& about = self.state == lane_state::ended && !candidates_.empty() ? *candidates_.front() : self;
    verdict_ = verdict::budget;
    message_ = "no end after " + std::to_string(steps_) +
               " steps, the latter half of them fair; inconclusive (raise it with --set budget=N)";
    about_ = about.pending.place;
    leave(self);
  }
  fair_tail_ = true;
  next_limit_ = steps_ + machine_.budget;
  choices_->begin_fair_tail();
}

void world::first_step(wave& who) {
  who.stepped = true;
  fair_.stepped(who);
}

// -- waiting ----------------------------------------------------------------------------------------------------------------------

void world::pause(lane& self, const operation& how, const std::byte* private_state) {
  finish_plain_store(self);
  self.pending = how;
  if (!self.reads.unchanged(watches_) || self.reads.saw_change()) {
    // Something that it read has changed already, or changed while it looked: it has reason to look again.
    self.reads.clear();
    self.wakes_left = machine_.wakes;
    yield(self);
  } else if (self.wakes_left != 0 && proving_ == proof::none && !fair_tail_ && !denied_ && (--self.wakes_left, true) &&
             pick(self, 2, choice_kind::wake) == 1) {
    yield(self);
  } else {
    wait(self, private_state);
  }
  performed(self, 0);
}

void world::wait(lane& self, const std::byte* private_state) {
  self.private_state = private_state;
  self.fruitless_reads = 0;
  watches_.enrol(self);
  remove_candidate(self);
  self.state = lane_state::waiting;
  block(self);
}

void world::wake(lane& waiter) {
  waiter.reads.clear();
  waiter.wakes_left = machine_.wakes;
  waiter.spin.forget();
  add_candidate(waiter);
}

void world::wait_for(lane& self, const uint64_t& word, uint64_t wanted, const operation& how) {
  finish_plain_store(self);
  self.pending = how;
  yield(self);
  while (word != wanted) {
    self.reads.clear();
    self.reads.add(&word, sizeof word, word);
    wait(self, nullptr);
  }
  got_somewhere(self);
  performed(self, wanted);
}

void world::look_for_spin(lane& self, const std::byte* private_state) {
  // The return address is part of the private state, and with it the place of the read.
  if (!self.spin.returns_to_anchor(digest_of(private_state, self.runs.stack().high()))) {
    // What the loop depends on is what it reads from the anchor to the anchor.
    if (self.spin.at_anchor()) self.reads.clear();
    return;
  }
  if (self.reads.unchanged(watches_) && !self.reads.saw_change())
    wait(self, private_state);
  else
    self.reads.clear();
}

// -- memory -----------------------------------------------------------------------------------------------------------------------

uint64_t world::stable(uint64_t word) const {
  // Where things lie differs from process to process; how far they are from the start of their region does not.
  enum region : uint64_t { of_image = 2, of_device_stacks = 3, of_host_stacks = 4 };
  if (heap_.contains(reinterpret_cast<const void*>(word)))
    return in_heap(heap_.offset_of(reinterpret_cast<const void*>(word)));
  if (word - image_low_ < image_high_ - image_low_) return uint64_t{of_image} << 60 | (word - image_low_);
  if (device_stacks_->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_device_stacks} << 60 | device_stacks_->offset_of(reinterpret_cast<const void*>(word));
  if (host_stacks_->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_host_stacks} << 60 | host_stacks_->offset_of(reinterpret_cast<const void*>(word));
  return unstable;
}

void world::add_words_to_digest(const void* address, uint32_t size_bytes) {
  const auto* bytes = static_cast<const std::byte*>(address);
  for (uint32_t done = 0; done < size_bytes; done += sizeof(uint64_t)) {
    const uint32_t left = size_bytes - done;
    digest_.add(stable_value(
        watched::value_at(bytes + done, left < sizeof(uint64_t) ? left : static_cast<uint32_t>(sizeof(uint64_t)))));
  }
}

void world::begin_plain_store(lane& self, void* address, uint32_t size_bytes) {
  self.storing.address = address;
  self.storing.size_bytes = size_bytes;
  self.storing.before = watched::value_at(address, size_bytes);
}

void world::look_at_plain_store(lane& self) {
  plain_store_in_progress& store = self.storing;
  const uint32_t size_bytes = std::exchange(store.size_bytes, 0);
  if (may_vanish(store.address)) {
    // The code under test may have freed the object that it wrote last.
    changed(self, store.address, size_bytes);
    return;
  }
  const uint64_t value = watched::value_at(store.address, size_bytes);
  add_to_digest(0, store.address, size_bytes, value);
  if (value != store.before || size_bytes > plain_store_in_progress::largest_bytes) changed(self, store.address, size_bytes);
  if (recorder_) recorder_->stored(self, value);
}

void world::bad_access(lane& self, const char* wrong) {
  const operation how = self.pending;
  char at[64];
  if (wrong != nullptr) {
    end(self, verdict::memory,
        std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
            heap_.describe(how.address) + ": " + wrong);
  }
  std::snprintf(at, sizeof at, "%p", how.address);
  if (reinterpret_cast<uintptr_t>(how.address) < lowest_address)
    end(self, verdict::memory, std::string(to_string(how.kind)) + " through a null pointer (" + at + ")");
  // The stack of a lane that has ended may have another owner by now.
  for (size_t n = 0; n < lanes_used_; ++n)
    if (lanes_[n].begun && lanes_[n].state != lane_state::ended && is_private(lanes_[n], how.address))
      end(self, verdict::memory,
          std::string(to_string(how.kind)) + " on the stack of " + name_of(lanes_[n]) +
              "; share memory that the device allocates, and capture by value");
  end(self, verdict::memory, std::string(to_string(how.kind)) + " on the stack of a lane that has ended");
}

const lane* world::owner_of_guard(const void* address) const {
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if (!who.begun || who.state == lane_state::ended) continue;
    const std::byte* const low = who.runs.stack().low;
    if (address < low && guards(low - 1) && static_cast<const std::byte*>(address) >= low - page_bytes) return &who;
  }
  return nullptr;
}

void* world::allocate(lane& self, size_t size_bytes, memory_kind kind, const char* name) {
  got_somewhere(self);
  void* const memory = heap_.allocate(size_bytes, kind, name);
  if (memory == nullptr)
    end(self, verdict::memory, "no memory left for " + std::to_string(size_bytes) + " bytes of " + name);
  return memory;
}

void world::release(lane& self, void* pointer, const operation& how) {
  finish_plain_store(self);
  self.pending = how;
  if (const char* wrong = heap_.release(pointer))
    end(self, verdict::memory, std::string(wrong) + " (" + heap_.describe(pointer) + ")");
  got_somewhere(self);
}

// -- lanes together ---------------------------------------------------------------------------------------------------------------

uint64_t world::active_mask(lane& self, const operation& how) {
  wave& of = *self.of;
  if (of.lanes.size() == 1) return 1;
  step(self, how);
  if (self.resolved) {
    self.resolved = false;
    performed(self, self.result);
    return self.result;
  }
  const auto depth = [](const lane& who) {
    return who.runs.top() - reinterpret_cast<const std::byte*>(who.pending.frame);
  };
  const auto stands_here = [&](const lane& other) {
    return &other != &self && other.state == lane_state::candidate && !other.resolved &&
           other.pending.kind == operation_kind::active_mask && other.pending.place == how.place &&
           depth(other) == depth(self);
  };
  uint64_t mask = lane_bit(self);
  bool company = false;
  for (const lane* other : of.lanes) company = company || stands_here(*other);
  if (company) {
    const bool some = proving_ == proof::none && !denied_ && pick(self, 2, choice_kind::active_mask) == 1;
    for (lane* other : of.lanes) {
      if (!stands_here(*other)) continue;
      if (some && pick(self, 2, choice_kind::active_mask) == 1) continue;
      mask |= lane_bit(*other);
    }
    for (lane* other : of.lanes)
      if (other != &self && (mask & lane_bit(*other)) != 0) {
        other->result = mask;
        other->resolved = true;
      }
  }
  performed(self, mask);
  return mask;
}

void world::check_arrival(lane& self, const operation& how) {
  const wave& of = *self.of;
  if ((how.mask & lane_bit(self)) == 0)
    end(self, verdict::mask, name_of(self) + " takes part in a " + to_string(how.kind) + " whose mask does not name it");
  if (of.lanes.size() < 64 && how.mask >> of.lanes.size() != 0)
    end(self, verdict::mask, std::string("the mask of a ") + to_string(how.kind) + " names lanes that the wave does not have");
  if ((how.mask & of.ended_mask) != 0)
    end(self, verdict::mask,
        std::string("the mask of a ") + to_string(how.kind) + " names lane " +
            std::to_string(__builtin_ctzll(how.mask & of.ended_mask)) + ", which has ended");
  for (const open_collective& open : of.collectives) {
    // Each waits for the other at another collective: neither can ever go on.
    if ((open.kind != how.kind || open.mask != how.mask) && (open.mask & lane_bit(self)) != 0 &&
        (open.arrived & how.mask) != 0)
      end(self, verdict::mask,
          name_of(self) + " comes to a " + to_string(how.kind) + " while lane " +
              std::to_string(__builtin_ctzll(open.arrived & how.mask)) + " waits for it at a " + to_string(open.kind) +
              (open.kind == how.kind ? " with another mask" : ""));
  }
}

uint64_t world::collective(lane& self, const operation& how, uint64_t value) {
  wave& of = *self.of;
  if (how.mask == lane_bit(self)) return how.kind == operation_kind::ballot ? (value != 0 ? how.mask : 0) : value;
  finish_plain_store(self);
  self.pending = how;
  if (!of.stepped) first_step(of);
  check_arrival(self, how);
  self.result = value;
  size_t open = 0;
  while (open < of.collectives.size() && (of.collectives[open].kind != how.kind || of.collectives[open].mask != how.mask))
    ++open;
  if (open == of.collectives.size()) of.collectives.push_back({how.kind, how.mask, 0});
  of.collectives[open].arrived |= lane_bit(self);
  if (of.collectives[open].arrived == how.mask) {
    complete(of, open, how.kind);
  } else {
    // Lanes that wait in a loop of their own are needed here: their wait is over.
    for (lane* other : of.lanes)
      if ((how.mask & lane_bit(*other)) != 0 && other->state == lane_state::waiting) add_candidate(*other);
    remove_candidate(self);
    self.state = lane_state::at_collective;
    block(self);
  }
  performed(self, self.result);
  return self.result;
}

void world::complete(wave& of, size_t open, operation_kind kind) {
  const uint64_t mask = of.collectives[open].mask;
  of.collectives[open] = of.collectives.back();
  of.collectives.pop_back();
  uint64_t common = 0;
  if (kind == operation_kind::broadcast) common = of.lanes[static_cast<size_t>(__builtin_ctzll(mask))]->result;
  if (kind == operation_kind::ballot)
    for (const lane* who : of.lanes)
      if ((mask & lane_bit(*who)) != 0 && who->result != 0) common |= lane_bit(*who);
  for (lane* who : of.lanes) {
    if ((mask & lane_bit(*who)) == 0) continue;
    who->result = common;
    if (who->state == lane_state::at_collective) add_candidate(*who);
  }
}

// -- launches and host threads ----------------------------------------------------------------------------------------------------

void world::launch(lane& self, const launch_shape& shape, const fiber_body& body, const void* bytes, const operation& how) {
  step(self, how);
  if (shape.blocks == 0 || shape.waves == 0 || shape.lanes == 0 || shape.lanes > 64)
    end(self, verdict::assertion, "a launch needs at least one block, one wave and one lane, and at most 64 lanes a wave");
  if (shape.waves > machine_.resident)
    end(self, verdict::assertion,
        "a block of " + std::to_string(shape.waves) + " waves does not fit on a device that holds " +
            std::to_string(machine_.resident) + " (setting 'resident')");
  if (uint64_t{shape.waves} * shape.blocks * shape.lanes > most_lanes_at_once)
    end(self, verdict::assertion, "a launch of more than " + std::to_string(most_lanes_at_once) + " lanes");
  kernel& added = kernels_.emplace_back();
  added.blocks = shape.blocks;
  added.waves_per_block = shape.waves;
  added.lanes = shape.lanes;
  added.live_waves = shape.blocks * shape.waves;
  added.first_wave = waves_used_;
  added.body = body;
  added.bytes.resize(body.size_bytes);
  std::memcpy(added.bytes.data(), bytes, body.size_bytes);
  for (uint32_t n = 0; n < added.live_waves; ++n) {
    wave& fresh = new_wave();
    fresh.device_id = device_waves_++;
    fresh.kernel = kernels_launched_;
    fresh.block = n / shape.waves;
    fresh.in_kernel = n;
    fresh.live_lanes = shape.lanes;
    fair_.live(fresh);
  }
  ++kernels_launched_;
  ++kernels_running_;
  wake_readers(self, &kernels_running_, sizeof kernels_running_);
  start_blocks();
  performed(self, shape.blocks);
}

void world::start_blocks() {
  if (kernels_.empty()) return;
  kernel& runs = kernels_.front();
  while (runs.next_block < runs.blocks && resident_waves_ + runs.waves_per_block <= machine_.resident) {
    for (uint32_t n = 0; n < runs.waves_per_block; ++n) {
      wave& starts = waves_[runs.first_wave + size_t{runs.next_block} * runs.waves_per_block + n];
      starts.resident = true;
      for (uint32_t index = 0; index < runs.lanes; ++index) {
        lane& fresh = new_lane(starts, index);
        fresh.how_to_run = &runs.body;
        add_candidate(fresh);
      }
    }
    resident_waves_ += runs.waves_per_block;
    ++runs.next_block;
  }
}

const wave& world::spawn_host(lane& self, const char* name, const fiber_body& body, void* from,
                              const operation& how) {
  step(self, how);
  if (host_stacks_used_ == most_hosts)
    end(self, verdict::assertion, "more than " + std::to_string(most_hosts) + " host threads");
  wave& fresh = new_wave();
  fresh.host = true;
  fresh.name = name;
  uint32_t namesakes = 0;
  for (size_t n = 0; n + 1 < waves_used_; ++n)
    if (waves_[n].host && waves_[n].name.starts_with(name)) ++namesakes;
  if (namesakes != 0) fresh.name += " #" + std::to_string(namesakes + 1);
  fresh.live_lanes = 1;
  fresh.resident = true;
  lane& thread = new_lane(fresh, 0);
  thread.how_to_run = &body;
  begin(thread);
  body.move_to(thread.body, from);
  fair_.live(fresh);
  add_candidate(thread);
  got_somewhere(self);
  performed(self, fresh.id);
  return fresh;
}

// -- the public face --------------------------------------------------------------------------------------------------------------

simulation::simulation() : world_(std::make_unique<world>()), read_(std::make_unique<settings>()) {}
simulation::~simulation() = default;

outcome simulation::run(const parameters& values, const std::function<void()>& body, scheduler::choice_source& choices,
                        bool explain) {
  // Campaigns run the same settings over and over.
  if (values.revision() != read_revision_) {
    *read_ = settings::from(values);
    read_revision_ = values.revision();
  }
  return world_->run(*read_, body, choices, explain);
}

}  // namespace heddle::sim
