// More of the CUDA runtime that nvcc's host code calls (cudart.cpp): peers, handles for other processes, rows, pointers, graphs.
#include <heddle/sim/compat/cudart.h>

#define HEDDLE_OF_CUDA(name, parameters, arguments) \
  int cuda##name parameters { return simulated##name arguments; }

extern "C" {

// -- devices

HEDDLE_OF_CUDA(DeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer))
HEDDLE_OF_CUDA(DeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
HEDDLE_OF_CUDA(DeviceDisablePeerAccess, (int peer), (peer))
HEDDLE_OF_CUDA(DeviceGetP2PAttribute, (int* value, simulatedDeviceP2PAttr attribute, int from, int to),
               (value, attribute, from, to))
HEDDLE_OF_CUDA(DeviceGetPCIBusId, (char* text, int length, int device), (text, length, device))
HEDDLE_OF_CUDA(MemGetInfo, (size_t* available, size_t* total), (available, total))

// -- memory

HEDDLE_OF_CUDA(MallocPitch, (void** memory, size_t* pitch, size_t width, size_t height), (memory, pitch, width, height))
HEDDLE_OF_CUDA(Memcpy2D,
               (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                simulatedMemcpyKind kind),
               (to, to_pitch, from, from_pitch, width, height, kind))
HEDDLE_OF_CUDA(Memcpy2DAsync,
               (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                simulatedMemcpyKind kind, simulatedStream_t stream),
               (to, to_pitch, from, from_pitch, width, height, kind, stream))
HEDDLE_OF_CUDA(Memset2D, (void* to, size_t pitch, int value, size_t width, size_t height),
               (to, pitch, value, width, height))
HEDDLE_OF_CUDA(Memset2DAsync,
               (void* to, size_t pitch, int value, size_t width, size_t height, simulatedStream_t stream),
               (to, pitch, value, width, height, stream))
HEDDLE_OF_CUDA(MemcpyPeer, (void* to, int to_device, const void* from, int from_device, size_t bytes),
               (to, to_device, from, from_device, bytes))
HEDDLE_OF_CUDA(MemcpyPeerAsync,
               (void* to, int to_device, const void* from, int from_device, size_t bytes, simulatedStream_t stream),
               (to, to_device, from, from_device, bytes, stream))
// NVIDIA's has words behind that are reserved from version 13 on; what nvcc 12 compiles has no room for them.
HEDDLE_OF_CUDA(PointerGetAttributes, (simulatedPointerAttributes * attributes, const void* pointer),
               (attributes, pointer))
HEDDLE_OF_CUDA(IpcGetMemHandle, (simulatedIpcMemHandle_t * handle, void* memory), (handle, memory))
HEDDLE_OF_CUDA(IpcOpenMemHandle, (void** memory, simulatedIpcMemHandle_t handle, unsigned flags),
               (memory, handle, flags))
HEDDLE_OF_CUDA(IpcCloseMemHandle, (void* memory), (memory))
HEDDLE_OF_CUDA(IpcGetEventHandle, (simulatedIpcEventHandle_t * handle, simulatedEvent_t event), (handle, event))
HEDDLE_OF_CUDA(IpcOpenEventHandle, (simulatedEvent_t * event, simulatedIpcEventHandle_t handle), (event, handle))

// -- streams that are captured, and graphs

int cudaEventRecordWithFlags(simulatedEvent_t event, simulatedStream_t stream, unsigned) {
  return simulatedEventRecord(event, stream);
}
HEDDLE_OF_CUDA(StreamBeginCapture, (simulatedStream_t stream, simulatedStreamCaptureMode mode), (stream, mode))
HEDDLE_OF_CUDA(StreamEndCapture, (simulatedStream_t stream, simulatedGraph_t* graph), (stream, graph))
HEDDLE_OF_CUDA(StreamIsCapturing, (simulatedStream_t stream, simulatedStreamCaptureStatus* status), (stream, status))
HEDDLE_OF_CUDA(ThreadExchangeStreamCaptureMode, (simulatedStreamCaptureMode * mode), (mode))
HEDDLE_OF_CUDA(GraphCreate, (simulatedGraph_t * graph, unsigned flags), (graph, flags))
HEDDLE_OF_CUDA(GraphDestroy, (simulatedGraph_t graph), (graph))
HEDDLE_OF_CUDA(GraphClone, (simulatedGraph_t * clone, simulatedGraph_t graph), (clone, graph))
HEDDLE_OF_CUDA(GraphGetNodes, (simulatedGraph_t graph, simulatedGraphNode_t* nodes, size_t* count),
               (graph, nodes, count))
HEDDLE_OF_CUDA(GraphAddEmptyNode,
               (simulatedGraphNode_t * node, simulatedGraph_t graph, const simulatedGraphNode_t* after, size_t count),
               (node, graph, after, count))
HEDDLE_OF_CUDA(GraphAddHostNode,
               (simulatedGraphNode_t * node, simulatedGraph_t graph, const simulatedGraphNode_t* after, size_t count,
                const simulatedHostNodeParams* what),
               (node, graph, after, count, what))
HEDDLE_OF_CUDA(GraphAddMemcpyNode1D,
               (simulatedGraphNode_t * node, simulatedGraph_t graph, const simulatedGraphNode_t* after, size_t count,
                void* to, const void* from, size_t bytes, simulatedMemcpyKind kind),
               (node, graph, after, count, to, from, bytes, kind))
HEDDLE_OF_CUDA(GraphInstantiate, (simulatedGraphExec_t * exec, simulatedGraph_t graph, unsigned long long flags),
               (exec, graph, flags))
int cudaGraphInstantiateWithFlags(simulatedGraphExec_t* exec, simulatedGraph_t graph, unsigned long long flags) {
  return simulatedGraphInstantiate(exec, graph, flags);
}
HEDDLE_OF_CUDA(GraphExecUpdate,
               (simulatedGraphExec_t exec, simulatedGraph_t graph, simulatedGraphExecUpdateResultInfo* info),
               (exec, graph, info))
HEDDLE_OF_CUDA(GraphUpload, (simulatedGraphExec_t exec, simulatedStream_t stream), (exec, stream))
HEDDLE_OF_CUDA(GraphLaunch, (simulatedGraphExec_t exec, simulatedStream_t stream), (exec, stream))
HEDDLE_OF_CUDA(GraphExecDestroy, (simulatedGraphExec_t exec), (exec))

}  // extern "C"
