// Graphs, and what launches need beside their headers; where blocks meet is in meeting_place.cpp. Compiled without instrumentation: none of this is an access of the program's.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/runtime/program_memory.h>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace heddle::compat {

/// Kept in the graph that it belongs to.
struct graph_node {
  graph_work work;
  std::vector<unsigned char> bytes;
  std::vector<uint32_t> after;  ///< the numbers of nodes
  uint32_t number = 0;
  graph* of = nullptr;
  uint32_t stream = 0;  ///< those of its latest launch
  uint32_t event = 0;
};

struct graph {
  std::vector<std::unique_ptr<graph_node>> nodes;
  bool has_streams = false;
  uint32_t begins = 0;  ///< an event
  uint32_t ends = 0;    ///< likewise
};

namespace {

/// A stream that is being captured: the work given to it next comes after these nodes.
struct capture {
  graph* into = nullptr;
  bool is_origin = false;
  std::vector<graph_node*> last;
  capture_mode mode = capture_mode::of_all;
  pthread_t thread = {};  ///< that has begun it
  bool is_spoilt = false;
};

/// Of one run.
struct graph_state {
  std::vector<std::unique_ptr<graph>> graphs;
  std::map<uint32_t, capture> streams;                                     ///< that are being captured
  std::map<uint32_t, std::pair<graph*, std::vector<graph_node*>>> events;  ///< what captured events stand for
  std::map<uintptr_t, size_t> registered;                                  ///< memory of the host: address and bytes
  std::map<pthread_t, capture_mode> modes;                                 ///< of threads that have asked for one
  size_t allowed_shared_bytes = 0;                                         ///< the most of any kernel
  /// By their numbers: bytes of a stack, of the output of printf, of the heap; depth and count of launches by kernels; bytes of fetches, and of
  /// the cache that keeps what it has.
  std::array<size_t, 7> limits = {1024, size_t{1} << 20, size_t{8} << 20, 2, 2048, 64, 0};
  bool keeps_next = false;
  graph_work kept;
  std::vector<unsigned char> kept_bytes;
};

/// As variables of the device, it is 0 when a run begins.
[[gnu::section("heddle_device")]] uint32_t is_of_this_run = 0;

// Not in the function: the guard of a variable there is an operation of the thread that comes first, in the first run of a process alone.
graph_state only;  // NOLINT(cert-err58-cpp): nothing that it makes throws

graph_state& here() {
  if (is_of_this_run == 0) {
    // Memory of an earlier run may have gone with it.
    if (sim::runtime::memory_begins_anew())
      std::construct_at(&only);
    else
      only = graph_state();
    is_of_this_run = 1;
  }
  return only;
}

/// Byte by byte: a call of memmove() would be an access of the program's, and not the same in each run, as is what lies between arguments.
void keep_arguments(std::vector<unsigned char>& kept, const graph_work& of) {
  kept.resize(of.body->size_bytes);
  const auto* const bytes = static_cast<const volatile unsigned char*>(of.bytes);
  for (size_t n = 0; n < kept.size(); ++n) kept[n] = bytes[n];
}

graph_node* append(graph& to, const graph_work& work, std::vector<uint32_t> after) {
  auto made = std::make_unique<graph_node>();
  made->number = static_cast<uint32_t>(to.nodes.size());
  made->of = &to;
  made->after = std::move(after);
  set_work(*made, work);
  return to.nodes.emplace_back(std::move(made)).get();
}

std::vector<uint32_t> numbers_of(const std::vector<graph_node*>& nodes) {
  std::vector<uint32_t> numbers;
  for (const graph_node* each : nodes) numbers.push_back(each->number);
  return numbers;
}

/// What is done with a graph behind its end is done to memory that is given back.
void must_be_there(const graph* used) {
  const auto& all = here().graphs;
  if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == used; }))
    sim::runtime::trap(fault::assertion, "a graph that is destroyed, or was never made, is used");
}

/// Whether the node waits for the other one, or is the same.
bool comes_behind(const graph& of, const graph_node& node, const graph_node& other) {
  std::vector<bool> is_met(of.nodes.size());
  std::vector<uint32_t> left = {node.number};
  while (!left.empty()) {
    const uint32_t number = left.back();
    left.pop_back();
    if (number == other.number) return true;
    if (is_met[number]) continue;
    is_met[number] = true;
    left.insert(left.end(), of.nodes[number]->after.begin(), of.nodes[number]->after.end());
  }
  return false;
}

/// Each behind those that it depends on.
std::vector<graph_node*> in_order(const graph& all) {
  std::vector<graph_node*> made;
  std::vector<bool> is_made(all.nodes.size());
  while (made.size() < all.nodes.size()) {
    for (const auto& node : all.nodes) {
      const bool waits = std::any_of(node->after.begin(), node->after.end(), [&](uint32_t n) { return !is_made[n]; });
      if (is_made[node->number] || waits) continue;
      is_made[node->number] = true;
      made.push_back(node.get());
    }
  }
  return made;
}

/// A part of a launch of a graph.
struct graph_step {
  bool waits;  ///< for the event, or records it, or
  uint32_t stream;
  uint32_t event;
  const graph_work* work = nullptr;  ///< gives this
  const void* bytes = nullptr;       ///< its arguments
};

std::vector<graph_step> steps_of(const graph& launched, uint32_t stream) {
  // Behind earlier launches of it, whatever stream they were for. (CUDA Runtime API, "cudaGraphLaunch".)
  std::vector<graph_step> steps = {{true, stream, launched.ends}, {false, stream, launched.begins}};
  std::vector<bool> is_waited_for(launched.nodes.size());
  for (const graph_node* const node : in_order(launched)) {
    if (node->after.empty()) steps.push_back({true, node->stream, launched.begins});
    for (const uint32_t earlier : node->after) {
      steps.push_back({true, node->stream, launched.nodes[earlier]->event});
      is_waited_for[earlier] = true;
    }
    steps.push_back({false, node->stream, 0, &node->work, node->bytes.data()});
    steps.push_back({false, node->stream, node->event});
  }
  for (const auto& node : launched.nodes)
    if (!is_waited_for[node->number]) steps.push_back({true, stream, node->event});
  steps.push_back({false, stream, launched.ends});
  return steps;
}

void give(const graph_work& work, const void* bytes, uint32_t stream) {
  if (work.kind == node_kind::launch) {
    sim::grid_shape shape = work.shape;
    shape.stream = stream;
    sim::runtime::launch_grid(shape, *work.body, bytes);
  } else if (work.kind == node_kind::copy) {
    sim::runtime::copy_in_stream(work.to, work.from, work.size_bytes, stream);
  } else if (work.kind == node_kind::call) {
    sim::runtime::call_in_stream(work.function, work.to, stream);
  }
}

/// Without containers: of their functions the linker may keep copies that are code under test, whose accesses other threads would come between.
void take_steps(void* all) {
  const auto& steps = *static_cast<const std::pair<const graph_step*, const graph_step*>*>(all);
  for (const graph_step* each = steps.first; each != steps.second; ++each) {
    if (each->work != nullptr)
      give(*each->work, each->bytes, each->stream);
    else if (each->waits)
      sim::runtime::wait_event(each->stream, each->event);
    else
      sim::runtime::record_event(each->event, each->stream);
  }
}

}  // namespace

graph* make_graph() { return here().graphs.emplace_back(std::make_unique<graph>()).get(); }

graph* clone_graph(const graph& from) {
  must_be_there(&from);
  graph* const made = make_graph();
  for (const auto& node : from.nodes) {
    graph_work work = node->work;
    work.bytes = node->bytes.data();
    append(*made, work, node->after);
  }
  return made;
}

void destroy_graph(graph* destroyed) {
  must_be_there(destroyed);
  std::erase_if(here().graphs, [&](const auto& each) { return each.get() == destroyed; });
}

void set_work(graph_node& of, const graph_work& work) {
  of.work = work;
  of.bytes.clear();
  if (work.kind != node_kind::launch) return;
  keep_arguments(of.bytes, work);
  of.work.bytes = nullptr;
}

graph_node* add_node(graph& to, const graph_work& work, graph_node* const* after, size_t count) {
  std::vector<uint32_t> numbers;
  for (size_t n = 0; n < count; ++n) {
    if (after[n]->of != &to) {
      sim::runtime::trap(fault::assertion, "a node of a graph depends on a node of another graph");
      return nullptr;
    }
    numbers.push_back(after[n]->number);
  }
  return append(to, work, std::move(numbers));
}

bool add_dependency(const graph& of, graph_node& first, graph_node& then) {
  if (first.of != &of || then.of != &of || comes_behind(of, first, then)) return false;
  then.after.push_back(first.number);
  return true;
}

void keep_next_launch() { here().keeps_next = true; }
graph_work kept_launch() {
  graph_work work = here().kept;
  work.bytes = here().kept_bytes.data();
  return work;
}

size_t node_count(const graph& of) { return of.nodes.size(); }
graph_node* node_at(const graph& of, size_t n) { return of.nodes[n].get(); }
graph_node* same_node(const graph& in, const graph_node& as) {
  return as.number < in.nodes.size() ? in.nodes[as.number].get() : nullptr;
}

bool update_graph(graph& to, const graph& from) {
  must_be_there(&to);
  must_be_there(&from);
  const auto is_same = [](const auto& one, const auto& other) {
    return one->work.kind == other->work.kind && one->after == other->after;
  };
  if (!std::equal(to.nodes.begin(), to.nodes.end(), from.nodes.begin(), from.nodes.end(), is_same)) return false;
  for (size_t n = 0; n < to.nodes.size(); ++n) {
    graph_work work = from.nodes[n]->work;
    work.bytes = from.nodes[n]->bytes.data();
    set_work(*to.nodes[n], work);
  }
  return true;
}

void launch_graph(graph& launched, uint32_t stream) {
  must_be_there(&launched);
  if (!std::exchange(launched.has_streams, true)) {
    launched.begins = sim::runtime::create_event();
    launched.ends = sim::runtime::create_event();
    for (const auto& node : launched.nodes) {
      node->stream = sim::runtime::create_stream(false, sim::runtime::device_of_stream(stream));
      node->event = sim::runtime::create_event();
    }
  }
  const std::vector<graph_step> steps = steps_of(launched, stream);
  std::pair<const graph_step*, const graph_step*> all = {steps.data(), steps.data() + steps.size()};
  sim::runtime::give_as_one(stream, take_steps, &all);
}

bool captures(uint32_t stream, const graph_work& work) {
  graph_state& now = here();
  if (now.keeps_next && work.kind == node_kind::launch) {
    now.keeps_next = false;
    now.kept = work;
    keep_arguments(now.kept_bytes, work);
    return true;
  }
  const auto found = now.streams.find(stream);
  if (found == now.streams.end()) return false;
  capture& of = found->second;
  of.last = {append(*of.into, work, numbers_of(of.last))};
  return true;
}

void begin_capture(uint32_t stream, capture_mode mode) {
  here().streams[stream] = {make_graph(), true, {}, mode, pthread_self()};
}
bool spoils_capture(uint32_t stream) {
  graph_state& now = here();
  const auto found = now.streams.find(stream);
  if (found == now.streams.end()) return false;
  for (auto& [number, each] : now.streams)
    if (each.into == found->second.into) each.is_spoilt = true;
  return true;
}
capture_mode exchange_capture_mode(capture_mode mode) {
  return std::exchange(here().modes.try_emplace(pthread_self(), capture_mode::of_all).first->second, mode);
}
bool spoils_captures() {
  bool any = false;
  const auto mine = here().modes.find(pthread_self());
  if (mine != here().modes.end() && mine->second == capture_mode::relaxed) return false;
  for (auto& [number, each] : here().streams) {
    if (each.mode == capture_mode::relaxed || !each.is_origin) continue;
    if (each.mode == capture_mode::of_thread && pthread_equal(each.thread, pthread_self()) == 0) continue;
    each.is_spoilt = any = true;
  }
  return any;
}
bool is_capturing(uint32_t stream) { return here().streams.contains(stream); }

graph* end_capture(uint32_t stream, bool& spoilt) {
  graph_state& now = here();
  const auto found = now.streams.find(stream);
  if (found == now.streams.end() || !found->second.is_origin) return nullptr;
  graph* const made = found->second.into;
  spoilt = found->second.is_spoilt;
  // Work of a stream that joined must come before something of this one.
  std::vector<bool> has_later(made->nodes.size());
  for (const auto& node : made->nodes)
    for (const uint32_t earlier : node->after) has_later[earlier] = true;
  for (const graph_node* each : found->second.last) has_later[each->number] = true;
  std::erase_if(now.streams, [&](const auto& each) { return each.second.into == made; });
  std::erase_if(now.events, [&](const auto& each) { return each.second.first == made; });
  return !spoilt && std::all_of(has_later.begin(), has_later.end(), [](bool has) { return has; }) ? made : nullptr;
}

bool captures_record(uint32_t event, uint32_t stream) {
  graph_state& now = here();
  const auto found = now.streams.find(stream);
  if (found == now.streams.end()) {
    now.events.erase(event);
    return false;
  }
  now.events[event] = {found->second.into, found->second.last};
  return true;
}

bool captures_wait(uint32_t stream, uint32_t event) {
  graph_state& now = here();
  const auto known = now.events.find(event);
  if (known == now.events.end()) return false;
  capture& of = now.streams.try_emplace(stream, capture{known->second.first, false, {}}).first->second;
  for (graph_node* each : known->second.second)
    if (std::find(of.last.begin(), of.last.end(), each) == of.last.end()) of.last.push_back(each);
  return true;
}

void allow_shared_bytes(int bytes) {
  graph_state& now = here();
  if (bytes > 0) now.allowed_shared_bytes = std::max(now.allowed_shared_bytes, static_cast<size_t>(bytes));
}

void check_launch(const sim::extent& grid, const sim::extent& block, size_t shared_bytes, size_t usual_shared_bytes) {
  const char* why = nullptr;
  if (block.count() > 1024) why = "a launch with more than 1024 threads in a block";
  if (grid.y > 65535 || grid.z > 65535) why = "a launch with more than 65535 blocks in y or z";
  if (grid.count() == 0 || block.count() == 0) why = "a launch of no blocks, or of blocks without threads";
  if (shared_bytes > usual_shared_bytes && shared_bytes > here().allowed_shared_bytes)
    why =
        "a launch with more than 48 KiB of dynamic shared memory, and cudaFuncAttributeMaxDynamicSharedMemorySize has "
        "allowed no kernel as much";
  if (why != nullptr) sim::runtime::trap(fault::assertion, why);
}

size_t* limit_of(int number) {
  std::array<size_t, 7>& limits = here().limits;
  return number >= 0 && static_cast<size_t>(number) < limits.size() ? &limits[static_cast<size_t>(number)] : nullptr;
}

bool register_host(const void* memory, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(memory);
  std::map<uintptr_t, size_t>& known = here().registered;
  const auto behind = known.lower_bound(first + bytes);
  if (behind != known.begin() && std::prev(behind)->first + std::prev(behind)->second > first) return false;
  known[first] = bytes;
  return true;
}
bool unregister_host(const void* memory) { return here().registered.erase(reinterpret_cast<uintptr_t>(memory)) != 0; }
bool is_registered(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto& known = here().registered;
  const auto behind = known.upper_bound(at);
  return behind != known.begin() && at - std::prev(behind)->first < std::prev(behind)->second;
}

}  // namespace heddle::compat
