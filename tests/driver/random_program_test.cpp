// Random programs on several contexts and devices against a model that knows nothing of pages, caches, queues or time: what each
// process has been given, and what it wrote there.
#include "machine.h"

#include <heddle/scheduler/random_stream.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace heddle::driver::tests {
namespace {

/// What a kernel of these programs does: each work-group adds its number to one word of a buffer.
struct adding {
  uint64_t buffer = 0;
  uint64_t words = 0;
  uint64_t salt = 0;

  uint64_t word_of(uint64_t group) const { return (group * 7 + salt) % words; }
  uint64_t added_by(uint64_t group) const { return (group + 1) * (salt | 1); }
};

execution add(const work_group& group, group_memory_port& memory) {
  adding what;
  if (memory.read(group.arguments, bytes_of(what)) == access::waits) return {.how = execution::state::waits};
  const uint64_t address = what.buffer + 8 * what.word_of(group.flat);
  uint64_t word = 0;
  if (memory.read(address, bytes_of(word)) == access::waits) return {.how = execution::state::waits};
  word += what.added_by(group.flat);
  if (memory.write(address, bytes_of(word)) == access::waits) return {.how = execution::state::waits};
  return {.duration = group.flat % 3 * 5'000};
}

class random_program {
 public:
  random_program(uint64_t seed, bool flush_before_copy) : seed_(seed), random_(seed) {
    driver_settings settings;
    settings.cpu_bytes = 16 * page_bytes;
    settings.compute_units = 2;
    settings.groups_per_unit = 3;
    settings.flush_before_copy = flush_before_copy;
    settings.copies = random_.below(2) == 0 ? copy_model::timed : copy_model::instant;
    settings.dispatch = static_cast<dispatch_policy>(random_.below(3));
    driver_ = std::make_unique<gpu_driver>(settings, &kernels_);
    kernels_.what = add;
    const uint32_t gpus = 1 + random_.below(4);
    std::vector<device_id> all;
    for (uint32_t n = 0; n < gpus; ++n)
      all.push_back(driver_->register_gpu((8 + random_.below(24)) * page_bytes).value());
    total_pages_ = 16;
    for (const device_id each : all) total_pages_ += driver_->allocator().physical().free_pages(each);
    contexts_.push_back({driver_->contexts().create_context()});
    contexts_.push_back({driver_->contexts().create_context()});
    contexts_.push_back({driver_->contexts().create_context_beside(contexts_[0].id).value()});
    driver_->create_unified_device(contexts_[0].id, all).value();
    if (gpus > 2) driver_->create_unified_device(contexts_[0].id, std::vector<device_id>{3, 1}).value();
    for (context& each : contexts_) {
      each.process = driver_->contexts().process_of(each.id).value();
      for (int n = 0; n < 2; ++n) each.queues.push_back(driver_->queues().create_queue(each.id).value());
    }
  }

  /// The first difference to the model; empty for none.
  std::string run(int steps) {
    for (int n = 0; n < steps && wrong_.empty(); ++n) step();
    for (context& each : contexts_) drain(each);
    for (context& each : contexts_)
      while (!buffers_[each.process].empty() && wrong_.empty()) release(each, 0);
    if (wrong_.empty()) check_pages();
    if (wrong_.empty()) {
      uint64_t free = 0;
      for (device_id device = 0; device < driver_->device_count(); ++device)
        free += driver_->allocator().physical().free_pages(device);
      if (free != total_pages_) complain("pages have been lost");
    }
    return wrong_;
  }
  uint64_t moved() const { return driver_->pages_moved(); }

 private:
  struct buffer {
    uint64_t address = 0;
    std::vector<std::byte> bytes;     ///< what it holds
    std::vector<bool> poisoned;       ///< by byte
    queue_id used_in = ~uint64_t{0};  ///< the queue whose commands use it; commands of others come after a drain
  };
  struct context {
    context_id id = 0;
    process_id process = 0;
    std::vector<queue_id> queues = {};
  };
  struct expected_copy {
    queue_id queue = 0;
    std::vector<std::byte> seen;
    std::vector<std::byte> expected;
  };

  uint32_t below(uint32_t bound) { return random_.below(bound); }
  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = "seed " + std::to_string(seed_) + ": " + what;
  }
  template <typename T>
  bool good(const result<T>& said) {
    if (!said) complain(said.why().line());
    return bool(said);
  }

  void step() {
    context& in = contexts_[below(3)];
    auto& buffers = buffers_[in.process];
    const uint32_t what = below(16);
    if (what < 3 || buffers.empty()) return allocate(in);
    const uint32_t which = below(static_cast<uint32_t>(buffers.size()));
    switch (what) {
      case 3:
        return release(in, which);
      case 4:
        return remap(in, buffers[which]);
      case 5:
        return select(in);
      case 6:
        return new_page(in, buffers[which]);
      case 7:
      case 8:
        return drain(in);
      case 9:
      case 10:
      case 11:
        return write(in, buffers[which]);
      case 12:
      case 13:
        return read(in, buffers[which]);
      default:
        return launch(in, buffers[which]);
    }
  }

  void select(context& in) { good(driver_->contexts().select_device(in.id, below(driver_->device_count()))); }

  void allocate(context& in) {
    const uint64_t bytes = uint64_t{8} * (1 + below(below(3) == 0 ? 2000 : 100));
    auto made =
        below(3) == 0 ? driver_->contexts().allocate_unified(in.id, bytes) : driver_->contexts().allocate(in.id, bytes);
    if (!made) {
      if (made.why().name != "out of memory") complain(made.why().line());
      return;
    }
    for (const buffer& each : buffers_[in.process])
      if (made.value() < each.address + each.bytes.size() && each.address < made.value() + bytes)
        complain("two buffers overlap");
    buffers_[in.process].push_back(
        {.address = made.value(), .bytes = std::vector<std::byte>(bytes), .poisoned = std::vector<bool>(bytes)});
  }

  void release(context& in, uint32_t which) {
    auto& buffers = buffers_[in.process];
    const result<void> said = driver_->contexts().free(in.id, buffers[which].address);
    if (!said) {
      if (said.why().name != "in use") complain(said.why().line());
      return drain_process(in.process);
    }
    if (driver_->contexts().free(in.id, buffers[which].address)) complain("a buffer is freed twice");
    buffers.erase(buffers.begin() + which);
  }

  /// Poisons what the model knows of the pages that hold a byte of the range.
  void poison(buffer& of, uint64_t offset, uint64_t bytes) {
    const uint64_t first = offset / page_bytes * page_bytes;
    const uint64_t end =
        std::min<uint64_t>((offset + bytes + page_bytes - 1) / page_bytes * page_bytes, of.bytes.size());
    for (uint64_t n = first; n < end; ++n) of.poisoned[n] = true;
  }

  void remap(context& in, buffer& of) {
    const uint64_t offset = below(static_cast<uint32_t>(of.bytes.size()));
    const uint64_t bytes = 1 + below(static_cast<uint32_t>(of.bytes.size() - offset));
    const result<void> said =
        driver_->contexts().remap(in.id, of.address + offset, bytes, below(driver_->device_count()));
    if (said) return poison(of, offset, bytes);
    if (said.why().name == "in use") return drain_process(in.process);
    if (said.why().name != "out of memory") complain(said.why().line());
  }

  void new_page(context& in, buffer& of) {
    const uint64_t offset = below(static_cast<uint32_t>(of.bytes.size()));
    // The CPU or a GPU; a unified device is refused.
    const device_id device = below(driver_->device_count());
    const result<page> said = driver_->contexts().allocate_page_at(in.id, device, of.address + offset, below(2) == 0);
    if (said) return poison(of, offset, 1);
    if (said.why().name == "in use") return drain_process(in.process);
    if (said.why().name != "out of memory" && said.why().name != "invalid device") complain(said.why().line());
  }

  queue_id queue_for(context& in, buffer& of) {
    const queue_id queue = in.queues[below(2)];
    // Nothing orders two queues: the one that used the buffer before must have come to its end.
    if (of.used_in != queue && of.used_in != ~uint64_t{0}) good(driver_->drain(of.used_in));
    of.used_in = queue;
    return queue;
  }

  void write(context& in, buffer& of) {
    const queue_id queue = queue_for(in, of);
    const uint64_t offset = below(static_cast<uint32_t>(of.bytes.size()));
    const uint64_t bytes = 1 + below(static_cast<uint32_t>(of.bytes.size() - offset));
    sent_.push_back(pattern(bytes, below(250)));
    if (!good(driver_->queues().enqueue_copy_to_device(queue, of.address + offset, sent_.back()))) return;
    for (uint64_t n = 0; n < bytes; ++n) {
      of.bytes[offset + n] = sent_.back()[n];
      of.poisoned[offset + n] = false;
    }
  }

  void read(context& in, buffer& of) {
    const uint64_t offset = below(static_cast<uint32_t>(of.bytes.size()));
    uint64_t bytes = 1 + below(static_cast<uint32_t>(of.bytes.size() - offset));
    // Up to bytes that have not been written.
    uint64_t good_bytes = 0;
    while (good_bytes < bytes && !of.poisoned[offset + good_bytes]) ++good_bytes;
    bytes = good_bytes;
    if (bytes == 0) return;
    const queue_id queue = queue_for(in, of);
    const auto from = of.bytes.begin() + static_cast<ptrdiff_t>(offset);
    copies_.push_back(
        {queue, std::vector<std::byte>(bytes), std::vector<std::byte>(from, from + static_cast<ptrdiff_t>(bytes))});
    good(driver_->queues().enqueue_copy_to_host(queue, copies_.back().seen, of.address + offset));
  }

  void launch(context& in, buffer& of) {
    for (const bool each : of.poisoned)
      if (each) return write(in, of);
    if (driver_->contexts().selected_device(in.id).value() == cpu_device) return select(in);
    // A queue is of the device that was selected when it was made.
    if (of.used_in != ~uint64_t{0}) good(driver_->drain(of.used_in));
    const queue_id queue = driver_->queues().create_queue(in.id).value();
    const adding what = {of.address, of.bytes.size() / 8, below(1000)};
    const extent groups = {1 + below(5), 1 + below(3), 1 + below(2)};
    const extent group = {1 + below(3), 1 + below(2), 1};
    const extent grid = {groups.x * group.x - below(group.x), groups.y * group.y - below(group.y), groups.z};
    const result<void> said = driver_->queues().enqueue_launch(
        queue, {.code = some_code, .arguments = bytes_of(what), .grid = grid, .group = group});
    if (said) {
      for (uint64_t n = 0; n < groups.count(); ++n) {
        uint64_t word = 0;
        std::memcpy(&word, of.bytes.data() + 8 * what.word_of(n), 8);
        word += what.added_by(n);
        std::memcpy(of.bytes.data() + 8 * what.word_of(n), &word, 8);
      }
      of.used_in = queue;
      in.queues[below(2)] = queue;
      extra_queues_.push_back(queue);
    } else if (said.why().name != "out of memory") {
      complain(said.why().line());
    }
  }

  void drain(context& in) {
    for (const queue_id queue : in.queues) good(driver_->drain(queue));
    check_copies();
    check_pages();
  }

  void drain_process(process_id process) {
    for (context& each : contexts_)
      if (each.process == process) drain(each);
    for (const queue_id queue : extra_queues_) good(driver_->drain(queue));
  }

  /// What has been copied back is what the model says.
  void check_copies() {
    for (size_t n = 0; n < copies_.size();) {
      if (!driver_->is_empty(copies_[n].queue)) {
        ++n;
        continue;
      }
      if (copies_[n].seen != copies_[n].expected) complain("a copy to the host brought something else");
      copies_.erase(copies_.begin() + static_cast<ptrdiff_t>(n));
    }
  }

  /// No physical page has two owners, each lies on its device, and each is free or owned.
  void check_pages() {
    std::set<uint64_t> owned;
    for (process_id process = 1; process <= 2; ++process)
      driver_->allocator().pages().for_each(process, [&](const page& each) {
        if (!owned.insert(each.physical_address).second) complain("a physical page has two owners");
        if (driver_->device_of(each.physical_address).value() != each.device) complain("a page is on another device");
      });
    uint64_t free = 0;
    for (device_id device = 0; device < driver_->device_count(); ++device)
      free += driver_->allocator().physical().free_pages(device);
    if (free + owned.size() > total_pages_) complain("a page is free and owned");
  }

  uint64_t seed_;
  scheduler::random_stream random_;
  runner kernels_;
  std::unique_ptr<gpu_driver> driver_;
  uint64_t total_pages_ = 0;
  std::vector<context> contexts_;
  std::map<process_id, std::vector<buffer>> buffers_;
  std::deque<std::vector<std::byte>> sent_;
  std::deque<expected_copy> copies_;
  std::vector<queue_id> extra_queues_;
  std::string wrong_;
};

uint64_t environment(const char* name, uint64_t otherwise) {
  const char* const said = std::getenv(name);
  return said == nullptr ? otherwise : std::strtoull(said, nullptr, 10);
}

TEST(driver_random_programs, ten_thousand_agree_with_the_model) {
  const uint64_t first = environment("HEDDLE_DRIVER_SEED", 1);
  const uint64_t programs = environment("HEDDLE_DRIVER_PROGRAMS", 10'000);
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + programs - 1));
  uint64_t moved = 0;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    random_program program(seed, true);
    const std::string wrong = program.run(60);
    ASSERT_TRUE(wrong.empty()) << wrong;
    moved += program.moved();
  }
  if (programs >= 1000) {
    EXPECT_GT(moved, programs / 100) << "pages migrate in these programs";
  }
}

TEST(driver_random_programs, without_the_flush_before_a_copy_some_bring_back_what_is_stale) {
  uint64_t stale = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string wrong = random_program(seed, false).run(60);
    if (wrong.find("brought something else") != std::string::npos) ++stale;
  }
  EXPECT_GT(stale, 30u);
}

}  // namespace
}  // namespace heddle::driver::tests
