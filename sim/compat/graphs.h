// Graphs of CUDA and HIP: what a stream is given while it is captured, or a program adds by hand, kept and launched later. (CUDA Runtime API,
// "Graph Management".) A launch of a graph gives each of its nodes to a stream of its own, behind those that it depends on.
#pragma once

#include <heddle/sim/runtime/gpu_calls.h>

#include <stddef.h>
#include <stdint.h>

namespace heddle::compat {

struct graph_node;
struct graph;

enum class node_kind : uint8_t { nothing, launch, copy, call };

/// What one node does.
struct graph_work {
  node_kind kind = node_kind::nothing;
  sim::grid_shape shape = {};             ///< of a launch
  const sim::fiber_body* body = nullptr;  ///< likewise
  const void* bytes = nullptr;            ///< likewise; copied
  void* to = nullptr;                     ///< of a copy; of a call, what it is given
  const void* from = nullptr;
  size_t size_bytes = 0;
  void (*function)(void*) = nullptr;
};

graph* make_graph();
/// A graph of its own, with the same nodes.
graph* clone_graph(const graph& from);
void destroy_graph(graph* destroyed);
graph_node* add_node(graph& to, const graph_work& work, graph_node* const* after, size_t count);
/// The second node comes behind the first one, too; false where they are of other graphs, or would wait for each other.
bool add_dependency(const graph& of, graph_node& first, graph_node& then);
/// A node for the next kernel that this thread launches, which is kept and not launched.
void keep_next_launch();
graph_work kept_launch();
size_t node_count(const graph& of);
graph_node* node_at(const graph& of, size_t n);
/// The kernel's arguments are others from now on.
void set_work(graph_node& of, const graph_work& work);
graph_node* same_node(const graph& in, const graph_node& as);
/// The nodes of `to` do from now on what those of the other one do; false, and nothing is changed, where that has others, or they depend on others.
bool update_graph(graph& to, const graph& from);
/// Gives all of it to the stream.
void launch_graph(graph& launched, uint32_t stream);

// -- capture

/// Takes the work if the stream is being captured, or the thread's next launch is to be kept; false where it is to be done.
bool captures(uint32_t stream, const graph_work& work);
/// What the program may not do meanwhile, beside what concerns the stream itself: what any thread, this thread, or no thread does that
/// may wait for the device.
enum class capture_mode : uint8_t { of_all, of_thread, relaxed };
void begin_capture(uint32_t stream, capture_mode mode);
/// What the calling thread may not do while others capture, from now on; what that was. `relaxed`: it may do all.
capture_mode exchange_capture_mode(capture_mode mode);
/// The stream is asked for what it does now. Where it is being captured, that is spoilt: true.
bool spoils_capture(uint32_t stream);
/// Something is done that may wait for the device. Where a capture forbids it, that is spoilt: true.
bool spoils_captures();
bool is_capturing(uint32_t stream);
/// Null where the stream is not being captured, not all that joined it has come back, or it is `spoilt`.
graph* end_capture(uint32_t stream, bool& spoilt);
/// The event stands for what has been captured of the stream; false where it is not being captured.
bool captures_record(uint32_t event, uint32_t stream);
/// The stream comes behind what the event has captured; false where that is nothing.
bool captures_wait(uint32_t stream, uint32_t event);

}  // namespace heddle::compat
