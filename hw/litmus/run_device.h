// Rows with threads of a device, on it: batches of instances, as the literature stresses GPUs (Sorensen and Donaldson, "Exposing errors
// related to weak memory in GPU applications", PLDI 2016; Levine, Guo, Cho, Baker, Levien, Neto, Quinn and Sorensen, "MC Mutants:
// Evaluating and improving testing for memory consistency specifications", ASPLOS 2023, and GPUHarbor, ISSTA 2023): each lane runs one
// thread of an instance of its own, waves and locations are put where chance says, all begin together, and other waves use the memory.
//
// Threads of a row that are the host's run beside the kernel on OS threads, over memory that both map.
#pragma once

#include <heddle/hw/litmus/row.h>
#include <heddle/hw/litmus/run_host.h>
#include <heddle/rpc/rpc.h>
#include <heddle/rpc/selected_device.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Blocks of a batch, of eight waves each: four for each processor of the GPUs of today.
#ifndef HEDDLE_LITMUS_BLOCKS
#define HEDDLE_LITMUS_BLOCKS 512
#endif

namespace heddle::machine_litmus {

/// What one wave of a batch does.
struct wave_role {
  static constexpr uint32_t idle = threads_max;
  static constexpr uint32_t stress = threads_max + 1;
  uint32_t thread = idle;  ///< of the row
  uint32_t first = 0;      ///< its lanes' first instances
  uint32_t step = 0;       ///< from one instance of a lane to the next
};

/// How the waves of a batch begin together: each says that it is there, and waits a bounded time for the others.
struct start_line {
  uint32_t* arrived;  ///< in device memory: waves that are there
  uint32_t waves;
  uint32_t* flags;  ///< in host memory, one word a wave: it is there
  uint32_t* host;   ///< in host memory: the host has seen all flags
  bool hosts;       ///< whether the row has threads of the host
  uint32_t spins;
};

/// Loads and stores of memory that no row uses, so that the row's wait their turn.
struct stress {
  uint32_t* scratch;
  uint32_t words;    ///< a power of two
  uint32_t before;   ///< accesses before each instance, by the threads of the row
  uint32_t rounds;   ///< of a wave that does nothing else
  uint32_t pattern;  ///< two bits: whether the first and the second access of a round are stores

  HEDDLE_LITMUS_DEVICE void touch(uint32_t which, bool store) const {
    volatile uint32_t* const word = scratch + (which & (words - 1));
    if (store)
      *word = which;
    else
      (void)*word;
  }
};

struct run_kernel {
  const wave_role* roles;
  batch of;
  row_thread threads[threads_max];
  uint32_t rounds;  ///< instances of a lane
  start_line line;
  stress noise;

  HEDDLE_LITMUS_DEVICE void operator()() const {
    const uint32_t wave = target::wave_id();
    const uint32_t lane = target::lane_id();
    const wave_role mine = roles[wave];
    if (mine.thread == wave_role::idle) return;
    if (mine.thread == wave_role::stress) {
      for (uint32_t n = 0; n < noise.rounds; ++n) {
        const uint32_t which = (wave * 2654435761U) + n * 64 + lane;
        noise.touch(which, (noise.pattern & 1) != 0);
        noise.touch(which + 4096, (noise.pattern & 2) != 0);
      }
      return;
    }
    begin_together(wave, lane);
    for (uint32_t n = 0; n < rounds; ++n) {
      const uint32_t instance = mine.first + n * mine.step + lane;
      for (uint32_t k = 0; k < noise.before; ++k)
        noise.touch(instance * 32 + k * 1024, ((noise.pattern >> (k & 1)) & 1) != 0);
      const row_thread& which = threads[mine.thread];
      of.results[mine.thread][instance] =
          run_device_body(which.body, of.word(which.locations[0], instance), of.word(which.locations[1], instance),
                          of.word(which.locations[2], instance));
    }
  }

 private:
  using counter = target::atomic_ref<uint32_t, scope::device>;
  using flag = target::atomic_ref<uint32_t, scope::system>;

  /// Orders nothing: the words of the row were written before the launch.
  HEDDLE_LITMUS_DEVICE void begin_together(uint32_t wave, uint32_t lane) const {
    const uint64_t mask = target::lane_mask();
    if (lane == 0) {
      counter(*line.arrived).fetch_add(1, memory_order::relaxed);
      if (line.hosts) flag(line.flags[wave]).store(1, memory_order::relaxed);
      for (uint32_t n = 0; n < line.spins && counter(*line.arrived).load(memory_order::relaxed) < line.waves; ++n) {
      }
      for (uint32_t n = 0; line.hosts && n < line.spins && flag(*line.host).load(memory_order::relaxed) == 0; ++n) {
      }
    }
    target::sync_lanes(mask);
  }
};

/// Looks at instances: one lane after the other.
struct count_kernel {
  batch of;
  uint32_t threads;
  uint32_t locations;
  uint32_t asked;
  uint32_t thread_shift[threads_max];
  uint32_t location_shift[locations_max];
  uint64_t* tally;
  uint32_t lanes;  ///< of the whole launch

  HEDDLE_LITMUS_DEVICE void operator()() const {
    for (uint32_t n = target::wave_id() * target::lane_count() + target::lane_id(); n < of.instances; n += lanes) {
      uint64_t key = 0;
      for (uint32_t t = 0; t < threads; ++t) key |= static_cast<uint64_t>(of.results[t][n]) << thread_shift[t];
      for (uint32_t l = 0; l < locations; ++l)
        if ((asked >> l & 1) != 0) key |= static_cast<uint64_t>(*of.word(l, n) & value_mask) << location_shift[l];
      target::atomic_ref<uint64_t, scope::device>(tally[key]).fetch_add(1, memory_order::relaxed);
    }
  }
};

/// Leaves the words zero for the next batch.
struct clear_kernel {
  batch of;
  uint32_t locations;
  uint32_t* arrived;
  uint32_t lanes;

  HEDDLE_LITMUS_DEVICE void operator()() const {
    const uint32_t first = target::wave_id() * target::lane_count() + target::lane_id();
    if (first == 0) *arrived = 0;
    for (uint32_t n = first; n < of.instances; n += lanes)
      for (uint32_t l = 0; l < locations; ++l) *of.word(l, n) = 0;
  }
};

class device_runner {
 public:
  static result<std::unique_ptr<device_runner>> open(uint32_t index, uint64_t seed) {
    result<std::unique_ptr<device>> opened = device::open(index);
    if (!opened) return opened.why();
    return std::unique_ptr<device_runner>(new device_runner(std::move(opened.value()), seed));
  }

  std::string name() const {
    result<std::string> told = on_->name();
    return told ? told.value() : told.why().line();
  }
  static std::string driver() {
    result<int> version = device::driver_version();
    return version ? std::to_string(version.value()) : version.why().line();
  }

  counted run(const row& which, const amount& wanted) {
    counted made;
    const uint32_t hosts = which.host_threads();
    if (hosts == which.threads) made.skipped = "has threads of the host only";
    // The table's atomic operations on memory of the host are one for both sides only where the link has them.
    if (hosts != 0 && std::string_view(which.program).find("atom.") != std::string_view::npos &&
        !(link_.add && link_.swap && link_.compare))
      made.skipped = "the link has no atomic operations";
    if (!made.skipped.empty()) return made;
    const key_layout keys(which);
    std::vector<uint64_t> zeroes(keys.keys());
    made.tally.resize(keys.keys());
    on_->copy(tally_, zeroes.data(), zeroes.size() * sizeof zeroes[0]);
    const auto began = clock::now();
    const memory& in = hosts == 0 ? own_ : shared_;
    while (made.instances < wanted.instances && made.seconds < wanted.seconds) {
      made.instances += run_batch(which, keys, in);
      made.seconds = std::chrono::duration<double>(clock::now() - began).count();
    }
    on_->copy(made.tally.data(), tally_, made.tally.size() * sizeof made.tally[0]);
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr uint32_t waves_of_block = 8;
  static constexpr uint32_t blocks_max = HEDDLE_LITMUS_BLOCKS;
  static constexpr uint32_t waves_max = blocks_max * waves_of_block;
  static constexpr uint32_t rounds_max = 64;
  static constexpr uint32_t groups_max =
      blocks_max;  ///< of waves that run the same instances; of a block's waves half stay free
  static constexpr uint32_t keys_max = 1 << 16;
  static constexpr uint32_t scratch_words = 1 << 20;
  static constexpr uint32_t groups_with_host = 4;

  /// Where the words and results of a batch lie.
  struct memory {
    uint32_t* words;
    uint32_t room;  ///< words of one location
    uint8_t* results;
    uint32_t instances_max;
  };

  device_runner(std::unique_ptr<device> on, uint64_t seed)
      : on_(std::move(on)),
        lanes_(on_->max_lanes()),
        link_(on_->link()),
        chance_(seed),
        roles_(on_->template allocate_shared<wave_role>(waves_max, "litmus roles")),
        flags_(on_->template allocate_shared<uint32_t>(waves_max + 1, "litmus start")),
        arrived_(on_->template allocate_device<uint32_t>(1, "litmus start")),
        scratch_(on_->template allocate_device<uint32_t>(scratch_words, "litmus scratch")),
        tally_(on_->template allocate_device<uint64_t>(keys_max, "litmus tally")) {
    own_ = {nullptr, 0, nullptr, groups_max * rounds_max * lanes_};
    own_.room = 4 * own_.instances_max;
    own_.words = on_->template allocate_device<uint32_t>(size_t{own_.room} * locations_max, "litmus words");
    own_.results = on_->template allocate_device<uint8_t>(size_t{own_.instances_max} * threads_max, "litmus results");
    shared_ = {nullptr, 0, nullptr, groups_with_host * rounds_max * lanes_};
    shared_.room = 4 * shared_.instances_max;
    shared_.words = on_->template allocate_shared<uint32_t>(size_t{shared_.room} * locations_max, "litmus words");
    shared_.results =
        on_->template allocate_shared<uint8_t>(size_t{shared_.instances_max} * threads_max, "litmus results");
  }

  uint64_t run_batch(const row& which, const key_layout& keys, const memory& in) {
    const uint32_t hosts = which.host_threads();
    const uint32_t groups = hosts == 0 ? groups_max >> chance_.below(3) : groups_with_host >> chance_.below(3);
    const uint32_t rounds = rounds_max >> chance_.below(4);
    run_kernel kernel = {};
    kernel.roles = roles_;
    kernel.of.instances = groups * rounds * lanes_;
    kernel.rounds = rounds;
    place_locations(kernel.of, which.locations, in.words, in.room, chance_);
    for (uint32_t n = 0; n < which.threads; ++n) {
      kernel.of.results[n] = in.results + size_t{n} * in.instances_max;
      kernel.threads[n] = which.thread[n];
    }
    const uint32_t waves = put_waves(which, groups);
    const bool noisy = chance_.below(2) == 0;
    if (noisy) fill_with_stress();
    // A wave asks the device's memory some 2,000 times, the host's ten times as often: a thread may have to wake up.
    kernel.line = {arrived_, waves, flags_, flags_ + waves_max, hosts != 0, hosts != 0 ? 20'000U : 2'000U};
    kernel.noise = {scratch_, scratch_words, noisy ? chance_.below(4) : 0, rounds * 16, chance_.below(4)};
    {
      std::vector<std::jthread> threads;
      if (hosts != 0) std::fill(flags_, flags_ + waves_max + 1, 0);
      for (uint32_t n = 0; n < which.threads; ++n)
        if (which.on_host(n)) threads.emplace_back([this, &kernel, n, groups] { play_host(kernel, n, groups); });
      on_->launch({.blocks = blocks_max, .waves = waves_of_block, .lanes = lanes_}, kernel);
      on_->synchronize();
    }
    look(which, keys, kernel.of);
    return kernel.of.instances;
  }

  /// Puts the waves of each group into blocks: threads of one place into one block, those of different places into different ones. Returns
  /// how many there are.
  uint32_t put_waves(const row& which, uint32_t groups) {
    std::fill(roles_, roles_ + waves_max, wave_role{});
    std::vector<uint32_t> used(blocks_max, 0);
    uint32_t waves = 0;
    for (uint32_t group = 0; group < groups; ++group) {
      std::vector<uint32_t> taken;
      for (uint32_t n = 0; n < which.threads; ++n) {
        const int32_t place = which.thread[n].block;
        bool first = place >= 0;
        for (uint32_t earlier = 0; earlier < n; ++earlier) first = first && which.thread[earlier].block != place;
        if (!first) continue;
        const uint32_t block = free_block(which, place, used, taken);
        taken.push_back(block);
        for (uint32_t m = n; m < which.threads; ++m) {
          if (which.thread[m].block != place) continue;
          roles_[size_t{block} * waves_of_block + used[block]++] = {m, group * lanes_, groups * lanes_};
          ++waves;
        }
      }
    }
    // Which wave of the block plays which: the schedulers of a processor take waves by their number.
    for (uint32_t block = 0; block < blocks_max; ++block)
      for (uint32_t n = waves_of_block - 1; n > 0; --n)
        std::swap(roles_[size_t{block} * waves_of_block + n],
                  roles_[size_t{block} * waves_of_block + chance_.below(n + 1)]);
    return waves;
  }

  /// A block with room for the threads of a place, and none of this group's. There is one: groups need half of all waves at most.
  uint32_t free_block(const row& which, int32_t place, const std::vector<uint32_t>& used,
                      const std::vector<uint32_t>& taken) {
    uint32_t needed = 0;
    for (uint32_t n = 0; n < which.threads; ++n) needed += which.thread[n].block == place ? 1 : 0;
    uint32_t block = chance_.below(blocks_max);
    while (used[block] + needed > waves_of_block || std::find(taken.begin(), taken.end(), block) != taken.end())
      block = (block + 1) % blocks_max;
    return block;
  }

  void fill_with_stress() {
    for (uint32_t n = 0; n < waves_max; ++n)
      if (roles_[n].thread == wave_role::idle && chance_.below(2) == 0) roles_[n].thread = wave_role::stress;
  }

  /// A thread of the row that is the host's: begins when the waves do, and goes through the instances in their order.
  void play_host(const run_kernel& kernel, uint32_t thread, uint32_t groups) {
    constexpr double most_seconds = 1;
    const auto began = clock::now();
    for (uint32_t n = 0; n < waves_max; ++n) {
      if (roles_[n].thread >= threads_max) continue;
      // Relaxed: what the batch uses was written before the launch and before this thread began.
      while (__atomic_load_n(&flags_[n], __ATOMIC_RELAXED) == 0) {
        relax();
        if (std::chrono::duration<double>(clock::now() - began).count() > most_seconds) break;
      }
    }
    __atomic_store_n(&flags_[waves_max], 1, __ATOMIC_RELAXED);
    const row_thread& which = kernel.threads[thread];
    const batch& of = kernel.of;
    run_host_body(which.body, [&](auto body) {
      for (uint32_t n = 0; n < kernel.rounds * groups * lanes_; ++n)
        of.results[thread][n] =
            body(of.word(which.locations[0], n), of.word(which.locations[1], n), of.word(which.locations[2], n));
    });
  }

  /// Adds a batch to the tally, and leaves its words zero.
  void look(const row& which, const key_layout& keys, const batch& of) {
    const launch_shape shape = {.blocks = blocks_max, .waves = waves_of_block, .lanes = lanes_};
    const uint32_t lanes = shape.blocks * shape.waves * lanes_;
    count_kernel count = {of, which.threads, which.locations, which.asked, {}, {}, tally_, lanes};
    std::copy(std::begin(keys.thread_shift), std::end(keys.thread_shift), count.thread_shift);
    std::copy(std::begin(keys.location_shift), std::end(keys.location_shift), count.location_shift);
    on_->launch(shape, count);
    on_->launch(shape, clear_kernel{of, which.locations, arrived_, lanes});
    on_->synchronize();
  }

  std::unique_ptr<device> on_;
  uint32_t lanes_;
  link_properties link_;
  random_numbers chance_;
  wave_role* roles_;
  uint32_t* flags_;
  uint32_t* arrived_;
  uint32_t* scratch_;
  uint64_t* tally_;
  memory own_ = {};
  memory shared_ = {};
};

}  // namespace heddle::machine_litmus
