// What every scenario over a FIFO needs: both ends on one machine, a consumer until the kernel has ended, and an account of entries.
#pragma once

#include "ports.h"

namespace heddle::tests {

inline std::vector<parameter> fifo_parameters(int64_t waves, int64_t lanes, int64_t entries, int64_t calls) {
  return {
      parameter::number("waves", waves, 1, 65536, "", "waves that push"),
      parameter::number("lanes", lanes, 1, 64, "", "lanes of each wave"),
      parameter::number("calls", calls, 1, 100000, "", "entries that each lane pushes"),
      parameter::number("entries", entries, 1, rpc::max_fifo_entries, "",
                        "places in the ring, rounded up to a power of two"),
      parameter::one_of(
          "flag", "parity", {"parity", "cleared"},
          "how an entry says that it is there: the parity of its lap, or a flag that the consumer clears"),
      parameter::number("first", 4294967294, 0, 4294967295, "", "number of the first entry; numbers wrap at 2^32"),
      parameter::number("batch", 0, 0, rpc::max_fifo_entries, "",
                        "entries for which the consumer gives credit back at a time; 0: all that are there"),
  };
}

inline uint32_t fifo_entries(const parameters& set) {
  uint32_t entries = 1;
  while (entries < set.count("entries")) entries *= 2;
  return entries;
}

/// The verdict of a scenario whose producers reserve: a wave that has reserved must be guaranteed turns, unless nothing needs what lies behind
/// it. `waits_behind` says that producers also wait for the consumption of what others have pushed.
inline scheduler::verdict needs_fair_producers(const parameters& set, bool waits_behind) {
  if (!set.has("progress")) return scheduler::verdict::ok;
  if (set.count("lanes") > fifo_entries(set)) return scheduler::verdict::protocol;
  const std::string& model = set.text("progress");
  // A wave that stops behind its first reservation does not push the rest.
  const uint64_t most = all_calls(set) - (set.count("calls") - 1);
  const bool waits = set.count("waves") > 1 && (waits_behind || most > fifo_entries(set));
  const bool hangs = model == "unfair" || (model == "hsa" && waits);
  return hangs ? scheduler::verdict::progress : scheduler::verdict::ok;
}

/// What is pushed: which lane's which entry, where its letter lies, and words that all follow from these.
struct fifo_message {
  static constexpr uint32_t words_beside = 3;
  uint32_t producer;
  uint32_t call;
  uint32_t letter;
  uint32_t unused;
  uint64_t words[words_beside];

  HEDDLE_FUNCTION static constexpr uint64_t word(uint64_t id, uint32_t n) { return (id + 1) * 0x9e3779b97f4a7c15U + n; }
};

/// The memory of one FIFO and of the account of what is pushed through it.
template <typename Form>
class fifo_test {
 public:
  using layout = rpc::fifo_layout<fifo_message>;
  template <typename Machine>
  using producer_on = rpc::basic_fifo_producer<Machine, fifo_message, Form, rpc::checking>;
  template <typename Machine>
  using consumer_on = rpc::basic_fifo_consumer<Machine, fifo_message, Form, rpc::checking>;

  /// `letters` words lie beside the FIFO for each producer; see account.
  fifo_test(device& on, const parameters& set, uint32_t letters)
      : on_(on),
        shape_{fifo_entries(set)},
        producers_(set.count("waves") * set.count("lanes")),
        calls_(set.count("calls")),
        letters_(letters),
        batch_(set.count("batch") == 0 ? ~uint32_t{0} : set.count("batch")) {
    memory_ = on.allocate_shared<unsigned char>(shape_.size_bytes(), "fifo");
    counters_ = on.allocate_device<rpc::fifo_counters>(1, "fifo counters");
    letter_words_ = on.allocate_shared<uint64_t>(uint64_t{producers_} * letters, "letters");
    next_ = on.allocate_shared<uint32_t>(producers_, "entries consumed");
    stop_ = on.allocate_shared<uint32_t>(1, "stop flag");
    const auto first = static_cast<uint32_t>(set.number("first"));
    const rpc::fifo_counters begin{first, first};
    layout::begin_at(memory_, first);
    on.copy(counters_, &begin, sizeof begin);
  }

  template <typename Machine = target>
  producer_on<Machine> producer(bool rings = false) const {
    return {memory_, counters_, shape_, rings};
  }
  template <typename Machine = target>
  consumer_on<Machine> consumer() const {
    return {memory_, shape_};
  }
  void* memory() const { return memory_; }
  layout shape() const { return shape_; }
  uint64_t* letters() const { return letter_words_; }

  /// Runs the kernel on all waves while a host thread consumes through `consumer`, as soon as `begins()`, and keeps the account: every
  /// entry whole and its letter with it, those of one lane in order, none twice, none lost.
  template <typename Consumer, typename Kernel, typename Begins>
  void run(Consumer consumer, Kernel kernel, launch_shape waves, Begins begins) {
    auto consuming = on_.spawn_host(
        "consumer", [consumer, begins, letters = letter_words_, letters_each = letters_, producers = producers_,
                     calls = calls_, batch = batch_, next = next_, stop = stop_] {
          const auto account = [&](const fifo_message& message) {
            HEDDLE_CHECK(message.producer < producers, "an entry is of no producer");
            HEDDLE_CHECK(message.call == next[message.producer], "an entry is lost, twice, or out of order");
            ++next[message.producer];
            const uint64_t id = uint64_t{message.producer} * calls + message.call;
            for (uint32_t n = 0; n < fifo_message::words_beside; ++n)
              HEDDLE_CHECK(message.words[n] == fifo_message::word(id, n), "an entry is not whole");
            HEDDLE_CHECK(message.letter < letters_each, "a letter is nowhere");
            HEDDLE_CHECK(letters[uint64_t{message.producer} * letters_each + message.letter] == id,
                         "a letter is not the one that was sent");
          };
          while (true) {
            // Acquire pairs with the release below. Read before the look: what was pushed before is then found.
            const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
            if ((ends || begins()) && consumer.consume(account, batch) != 0) continue;
            if (ends) break;
            target::pause();
          }
          for (uint32_t lane = 0; lane < producers; ++lane)
            HEDDLE_CHECK(next[lane] == calls, "an entry was not consumed");
        });
    on_.launch(waves, kernel);
    on_.synchronize();
    shared_word<uint32_t>(*stop_).store(1, memory_order::release);
    consuming.join();
  }

 private:
  device& on_;
  layout shape_;
  uint32_t producers_;
  uint32_t calls_;
  uint32_t letters_;
  uint32_t batch_;
  unsigned char* memory_ = nullptr;
  rpc::fifo_counters* counters_ = nullptr;
  uint64_t* letter_words_ = nullptr;
  uint32_t* next_ = nullptr;
  uint32_t* stop_ = nullptr;
};

/// What a lane pushes: an entry, and beside it a letter of its own.
struct fifo_letters {
  uint64_t* words;
  uint32_t each;
  callers who;

  /// Writes the letter and returns what fills the entry. The letter's place must have been read, or never used.
  HEDDLE_FUNCTION auto write(uint32_t call) const {
    const uint32_t me = who.number();
    const uint64_t id = who.request(call);
    const uint32_t letter = call % each;
    words[uint64_t{me} * each + letter] = id;
    return [=](fifo_message& message, uint32_t) {
      message.producer = me;
      message.call = call;
      message.letter = letter;
      for (uint32_t n = 0; n < fifo_message::words_beside; ++n) message.words[n] = fifo_message::word(id, n);
    };
  }
};

/// Runs `Scenario::run<Form>` with the form of the flags that the settings name.
template <typename Scenario>
void run_with_flag(const parameters& set) {
  if (set.text("flag") == "cleared")
    Scenario::template run<rpc::cleared_flag>(set);
  else
    Scenario::template run<rpc::lap_parity>(set);
}

}  // namespace heddle::tests
