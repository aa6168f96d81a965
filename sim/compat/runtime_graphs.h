// Calls of the host in streams, and graphs of kernels, copies, fills and such calls. Included by runtime_api.h alone.

// -- calls: by a thread of its own, in its place in the stream; it is no place for calls of the runtime

using HEDDLE_GPU(HostFn_t) = void (*)(void*);
using HEDDLE_GPU(StreamCallback_t) = void (*)(HEDDLE_GPU(Stream_t), HEDDLE_GPU(Error_t), void*);

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(LaunchHostFunc)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(HostFn_t) function, void* given) {
  if (function == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::compat::call_in_stream(function, given, heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamAddCallback)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(StreamCallback_t) callback, void* given,
                                  unsigned int) {
  if (callback == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  struct call {
    HEDDLE_GPU(Stream_t) stream;
    HEDDLE_GPU(StreamCallback_t) callback;
    void* given;
  };
  const auto run = [](void* of) {
    const call* const what = static_cast<const call*>(of);
    what->callback(what->stream, HEDDLE_GPU(Success), what->given);
    delete what;
  };
  return HEDDLE_GPU(LaunchHostFunc)(stream, run, new call{stream, callback, given});
}

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventRecordWithFlags)(HEDDLE_GPU(Event_t) event,
                                                            HEDDLE_GPU(Stream_t) stream = nullptr, unsigned int = 0) {
  return HEDDLE_GPU(EventRecord)(event, stream);
}

/// Time is not simulated: from one event to another it takes a millisecond. Both must have completed.
HEDDLE_COMPAT_INLINE HEDDLE_GPU(Error_t)
    HEDDLE_GPU(EventElapsedTime)(float* milliseconds, HEDDLE_GPU(Event_t) from, HEDDLE_GPU(Event_t) to) {
  if (milliseconds == nullptr || from == nullptr || to == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  for (const HEDDLE_GPU(Event_t) each : {from, to}) {
    const bool has_time = (reinterpret_cast<uintptr_t>(each) & heddle_event_has_no_time) == 0;
    if (!has_time || !heddle::sim::runtime::is_recorded(heddle_event_number(each)))
      return HEDDLE_GPU(ErrorInvalidResourceHandle);
  }
  if (!heddle::sim::runtime::query_event(heddle_event_number(from)) ||
      !heddle::sim::runtime::query_event(heddle_event_number(to)))
    return HEDDLE_GPU(ErrorNotReady);
  *milliseconds = from == to ? 0.0F : 1.0F;
  return HEDDLE_GPU(Success);
}

// -- capture

enum HEDDLE_GPU(StreamCaptureMode) {
  HEDDLE_GPU(StreamCaptureModeGlobal),
  HEDDLE_GPU(StreamCaptureModeThreadLocal),
  HEDDLE_GPU(StreamCaptureModeRelaxed),
};
enum HEDDLE_GPU(StreamCaptureStatus) {
  HEDDLE_GPU(StreamCaptureStatusNone),
  HEDDLE_GPU(StreamCaptureStatusActive),
  HEDDLE_GPU(StreamCaptureStatusInvalidated),
};
using HEDDLE_GPU(Graph_t) = heddle::compat::graph*;
using HEDDLE_GPU(GraphNode_t) = heddle::compat::graph_node*;
using HEDDLE_GPU(GraphExec_t) = struct heddle_graph_exec*;

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamIsCapturing)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(StreamCaptureStatus) * status) {
  *status = heddle::compat::is_capturing(heddle::compat::stream_number(stream)) ? HEDDLE_GPU(StreamCaptureStatusActive)
                                                                                : HEDDLE_GPU(StreamCaptureStatusNone);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamGetCaptureInfo)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(StreamCaptureStatus) * status,
                                     unsigned long long* id = nullptr) {
  if (id != nullptr) *id = heddle::compat::stream_number(stream) + 1ULL;
  return HEDDLE_GPU(StreamIsCapturing)(stream, status);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(ThreadExchangeStreamCaptureMode)(HEDDLE_GPU(StreamCaptureMode) * mode) {
  *mode = static_cast<HEDDLE_GPU(StreamCaptureMode)>(
      heddle::compat::exchange_capture_mode(static_cast<heddle::compat::capture_mode>(*mode)));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamBeginCapture)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(StreamCaptureMode) mode) {
  const uint32_t number = heddle::compat::stream_number(stream);
  if (stream == nullptr || heddle::compat::is_capturing(number)) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::compat::begin_capture(number, static_cast<heddle::compat::capture_mode>(mode));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamEndCapture)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(Graph_t) * graph) {
  bool spoilt = false;
  *graph = heddle::compat::end_capture(heddle::compat::stream_number(stream), spoilt);
  if (spoilt) return HEDDLE_GPU(ErrorStreamCaptureInvalidated);
  return *graph == nullptr ? HEDDLE_GPU(ErrorStreamCaptureUnjoined) : HEDDLE_GPU(Success);
}

// -- graphs

struct HEDDLE_GPU(KernelNodeParams) {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct HEDDLE_GPU(MemsetParams) {
  void* dst;
  size_t pitch;
  unsigned int value, elementSize;
  size_t width, height;
};
struct HEDDLE_GPU(HostNodeParams) {
  HEDDLE_GPU(HostFn_t) fn;
  void* userData;
};

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphCreate)(HEDDLE_GPU(Graph_t) * graph, unsigned int) {
  *graph = heddle::compat::make_graph();
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphDestroy)(HEDDLE_GPU(Graph_t) graph) {
  if (graph == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::compat::destroy_graph(graph);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphClone)(HEDDLE_GPU(Graph_t) * clone, HEDDLE_GPU(Graph_t) graph) {
  *clone = heddle::compat::clone_graph(*graph);
  return HEDDLE_GPU(Success);
}
/// As many as `count` says; how many there are, where `nodes` is null.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphGetNodes)(HEDDLE_GPU(Graph_t) graph, HEDDLE_GPU(GraphNode_t) * nodes, size_t* count) {
  const size_t all = heddle::compat::node_count(*graph);
  for (size_t n = 0; nodes != nullptr && n < all && n < *count; ++n) nodes[n] = heddle::compat::node_at(*graph, n);
  *count = all;
  return HEDDLE_GPU(Success);
}
inline heddle::compat::graph_work heddle_work_of(const HEDDLE_GPU(KernelNodeParams) & what) {
  void* arguments[1] = {};
  heddle::compat::keep_next_launch();
  heddle::compat::launch_by_address(what.func, heddle::compat::shape(what.gridDim, what.blockDim, what.sharedMemBytes),
                                    {.addresses = what.kernelParams != nullptr ? what.kernelParams : arguments});
  return heddle::compat::kept_launch();
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddKernelNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                          const HEDDLE_GPU(GraphNode_t) * after, size_t count,
                                                          const HEDDLE_GPU(KernelNodeParams) * what) {
  *node = heddle::compat::add_node(*graph, heddle_work_of(*what), after, count);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphKernelNodeSetParams)(HEDDLE_GPU(GraphNode_t) node, const HEDDLE_GPU(KernelNodeParams) * what) {
  heddle::compat::set_work(*node, heddle_work_of(*what));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphAddMemcpyNode1D)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                     const HEDDLE_GPU(GraphNode_t) * after, size_t count, void* to, const void* from,
                                     size_t bytes, HEDDLE_GPU(MemcpyKind)) {
  *node = heddle::compat::add_node(
      *graph, {.kind = heddle::compat::node_kind::copy, .to = to, .from = from, .size_bytes = bytes}, after, count);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddMemcpyNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                          const HEDDLE_GPU(GraphNode_t) * after, size_t count,
                                                          const HEDDLE_GPU(Memcpy3DParms) * what) {
  // Rows that lie apart would be as many copies.
  const bool one_piece = what->extent.height * what->extent.depth <= 1 ||
                         (what->srcPtr.pitch == what->extent.width && what->dstPtr.pitch == what->extent.width);
  if (!one_piece || what->srcArray != nullptr || what->dstArray != nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  return HEDDLE_GPU(GraphAddMemcpyNode1D)(node, graph, after, count,
                                          heddle::compat::row_at(what->dstPtr, what->dstPos, 0, 0),
                                          heddle::compat::row_at(what->srcPtr, what->srcPos, 0, 0),
                                          what->extent.width * what->extent.height * what->extent.depth, what->kind);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddMemsetNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                          const HEDDLE_GPU(GraphNode_t) * after, size_t count,
                                                          const HEDDLE_GPU(MemsetParams) * what) {
  heddle::compat::keep_next_launch();
  heddle::compat::fill_rows(what->dst, what->pitch, what->value, what->elementSize, what->width, what->height);
  *node = heddle::compat::add_node(*graph, heddle::compat::kept_launch(), after, count);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddHostNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                        const HEDDLE_GPU(GraphNode_t) * after, size_t count,
                                                        const HEDDLE_GPU(HostNodeParams) * what) {
  *node = heddle::compat::add_node(
      *graph, {.kind = heddle::compat::node_kind::call, .to = what->userData, .function = what->fn}, after, count);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddEmptyNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                         const HEDDLE_GPU(GraphNode_t) * after, size_t count) {
  *node = heddle::compat::add_node(*graph, {}, after, count);
  return HEDDLE_GPU(Success);
}

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphAddDependencies)(HEDDLE_GPU(Graph_t) graph, const HEDDLE_GPU(GraphNode_t) * from,
                                     const HEDDLE_GPU(GraphNode_t) * to, size_t count) {
  for (size_t n = 0; n < count; ++n)
    if (!heddle::compat::add_dependency(*graph, *from[n], *to[n])) return HEDDLE_GPU(ErrorInvalidValue);
  return HEDDLE_GPU(Success);
}

/// (CUDA Runtime API, "cudaMemAllocNodeParams".) Memory of a graph is there from now on, and stays.
struct HEDDLE_GPU(MemAllocNodeParams) {
  HEDDLE_GPU(MemPoolProps) poolProps;
  const HEDDLE_GPU(MemAccessDesc) * accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  void* dptr;
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddMemAllocNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                            const HEDDLE_GPU(GraphNode_t) * after, size_t count,
                                                            HEDDLE_GPU(MemAllocNodeParams) * what) {
  if (what->poolProps.allocType != HEDDLE_GPU(MemAllocationTypePinned) ||
      what->poolProps.location.type != HEDDLE_GPU(MemLocationTypeDevice))
    return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::has_device(what->poolProps.location.id)) return HEDDLE_GPU(ErrorInvalidDevice);
  uint32_t loading = 0, storing = 0;
  for (size_t n = 0; n < what->accessDescCount; ++n) {
    if (!heddle::compat::has_device(what->accessDescs[n].location.id)) return HEDDLE_GPU(ErrorInvalidDevice);
    const uint32_t bit = 1U << what->accessDescs[n].location.id;
    if (what->accessDescs[n].flags != HEDDLE_GPU(MemAccessFlagsProtNone)) loading |= bit;
    if (what->accessDescs[n].flags == HEDDLE_GPU(MemAccessFlagsProtReadWrite)) storing |= bit;
  }
  const uint32_t current = heddle::sim::runtime::current_device();
  heddle::sim::runtime::set_current_device(static_cast<uint32_t>(what->poolProps.location.id));
  heddle::compat::allocate(&what->dptr, what->bytesize, heddle::compat::memory_place::HEDDLE_GPU_MEMORY,
                           HEDDLE_GPU_TEXT(GraphAddMemAllocNode));
  heddle::sim::runtime::set_current_device(current);
  heddle::sim::runtime::let_reach(what->dptr, loading, storing);
  return HEDDLE_GPU(GraphAddEmptyNode)(node, graph, after, count);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphAddMemFreeNode)(HEDDLE_GPU(GraphNode_t) * node, HEDDLE_GPU(Graph_t) graph,
                                                           const HEDDLE_GPU(GraphNode_t) * after, size_t count, void*) {
  return HEDDLE_GPU(GraphAddEmptyNode)(node, graph, after, count);
}
enum HEDDLE_GPU(GraphMemAttributeType) {
  HEDDLE_GPU(GraphMemAttrUsedMemCurrent) = 0,
  HEDDLE_GPU(GraphMemAttrUsedMemHigh) = 1,
  HEDDLE_GPU(GraphMemAttrReservedMemCurrent) = 2,
  HEDDLE_GPU(GraphMemAttrReservedMemHigh) = 3,
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGraphMemTrim)(int) { return HEDDLE_GPU(Success); }
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetGraphMemAttribute)(int, HEDDLE_GPU(GraphMemAttributeType), void* value) {
  *static_cast<uint64_t*>(value) = 0;
  return HEDDLE_GPU(Success);
}

// -- what is instantiated is a graph of its own

inline constexpr unsigned int HEDDLE_GPU(GraphInstantiateFlagAutoFreeOnLaunch) = 1;

inline heddle::compat::graph* heddle_graph_of(HEDDLE_GPU(GraphExec_t) exec) {
  return reinterpret_cast<heddle::compat::graph*>(exec);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphInstantiate)(HEDDLE_GPU(GraphExec_t) * exec, HEDDLE_GPU(Graph_t) graph, unsigned long long = 0) {
  *exec = nullptr;
  if (graph == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *exec = reinterpret_cast<HEDDLE_GPU(GraphExec_t)>(heddle::compat::clone_graph(*graph));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphInstantiate)(HEDDLE_GPU(GraphExec_t) * exec, HEDDLE_GPU(Graph_t) graph,
                                                        HEDDLE_GPU(GraphNode_t) *, char*, size_t) {
  return HEDDLE_GPU(GraphInstantiate)(exec, graph);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphInstantiateWithFlags)(HEDDLE_GPU(GraphExec_t) * exec,
                                                                 HEDDLE_GPU(Graph_t) graph, unsigned long long = 0) {
  return HEDDLE_GPU(GraphInstantiate)(exec, graph);
}
enum HEDDLE_GPU(GraphExecUpdateResult) {
  HEDDLE_GPU(GraphExecUpdateSuccess) = 0,
  HEDDLE_GPU(GraphExecUpdateError) = 1,
  HEDDLE_GPU(GraphExecUpdateErrorTopologyChanged) = 2,
};
struct HEDDLE_GPU(GraphExecUpdateResultInfo) {
  HEDDLE_GPU(GraphExecUpdateResult) result;
  HEDDLE_GPU(GraphNode_t) errorNode, errorFromNode;
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphExecUpdate)(HEDDLE_GPU(GraphExec_t) exec, HEDDLE_GPU(Graph_t) graph,
                                                       HEDDLE_GPU(GraphExecUpdateResultInfo) * info) {
  if (exec == nullptr || graph == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  const bool done = heddle::compat::update_graph(*heddle_graph_of(exec), *graph);
  if (info != nullptr)
    *info = {done ? HEDDLE_GPU(GraphExecUpdateSuccess) : HEDDLE_GPU(GraphExecUpdateErrorTopologyChanged), nullptr,
             nullptr};
  return done ? HEDDLE_GPU(Success) : HEDDLE_GPU(ErrorGraphExecUpdateFailure);
}
/// As before CUDA 12, and in HIP.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphExecUpdate)(HEDDLE_GPU(GraphExec_t) exec, HEDDLE_GPU(Graph_t) graph,
                                HEDDLE_GPU(GraphNode_t) * wrong, HEDDLE_GPU(GraphExecUpdateResult) * result) {
  HEDDLE_GPU(GraphExecUpdateResultInfo) info = {};
  const HEDDLE_GPU(Error_t) done = HEDDLE_GPU(GraphExecUpdate)(exec, graph, &info);
  if (wrong != nullptr) *wrong = nullptr;
  if (result != nullptr) *result = info.result;
  return done;
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(GraphExecKernelNodeSetParams)(HEDDLE_GPU(GraphExec_t) exec, HEDDLE_GPU(GraphNode_t) node,
                                             const HEDDLE_GPU(KernelNodeParams) * what) {
  HEDDLE_GPU(GraphNode_t) own = heddle::compat::same_node(*heddle_graph_of(exec), *node);
  if (own == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  return HEDDLE_GPU(GraphKernelNodeSetParams)(own, what);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphUpload)(HEDDLE_GPU(GraphExec_t), HEDDLE_GPU(Stream_t)) {
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphLaunch)(HEDDLE_GPU(GraphExec_t) exec, HEDDLE_GPU(Stream_t) stream) {
  if (exec == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::compat::launch_graph(*heddle_graph_of(exec), heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GraphExecDestroy)(HEDDLE_GPU(GraphExec_t) exec) {
  if (exec == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  // What it was launched for may still run; its nodes are not asked again.
  heddle::compat::destroy_graph(heddle_graph_of(exec));
  return HEDDLE_GPU(Success);
}
