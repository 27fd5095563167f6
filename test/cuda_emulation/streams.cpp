//===- streams.cpp - The emulated device's streams, events, graphs --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace emulation;

using Lock = std::unique_lock<std::mutex>;

static Stream &streamOf(cudaStream_t stream) {
  return stream ? *stream : Engine::get().defaultStream();
}

static double nowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Locks the device for the duration of a call.
struct Access {
  Engine &engine = Engine::get();
  Lock lock{engine.mutex};
};

/// A call that cannot be captured ends the capture.
static cudaError_t breakCapture(const std::shared_ptr<Capture> &capture) {
  capture->isValid = false;
  return emulation::remember(cudaErrorStreamCaptureUnsupported);
}

void emulation::enqueue(cudaStream_t stream, std::function<void()> work) {
  auto [engine, lock] = Access();
  engine.append(streamOf(stream), {nullptr, std::move(work)});
}

void emulation::enqueueCopy(cudaStream_t stream, void *to, const void *from,
                            size_t bytes, cudaMemcpyKind kind) {
  auto [engine, lock] = Access();
  engine.append(streamOf(stream), {nullptr,
                                   [=] {
                                     if (bytes > 0)
                                       std::memmove(to, from, bytes);
                                   },
                                   std::nullopt, kind});
}

void emulation::enqueueMemset(cudaStream_t stream,
                              const cudaMemsetParams &params) {
  auto [engine, lock] = Access();
  engine.append(streamOf(stream),
                {nullptr,
                 [params] {
                   if (params.width > 0)
                     std::memset(params.dst, int(params.value), params.width);
                 },
                 params});
}

std::function<void(double)> emulation::delayOf(cudaStream_t stream) {
  return [queue = streamOf(stream).queue](double ms) { queue->lateMs += ms; };
}

//===----------------------------------------------------------------------===//
// Streams.
//===----------------------------------------------------------------------===//

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) {
  RONDO_EMULATED(cudaStreamCreateWithPriority);
  int device = 0;
  cudaGetDevice(&device);
  auto [engine, lock] = Access();
  if (auto capture = engine.captureOfThread())
    return breakCapture(capture);
  *stream = new Stream;
  (*stream)->queue->device = device;
  engine.add(*stream);
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  RONDO_EMULATED(cudaStreamCreateWithFlags);
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  RONDO_EMULATED(cudaDeviceGetStreamPriorityRange);
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  auto [engine, lock] = Access();
  engine.remove(stream);
  noteDestroyed(stream->queue->device);
  delete stream;
  countHandle(-1);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  RONDO_EMULATED(cudaStreamSynchronize);
  auto [engine, lock] = Access();
  Stream &stream = streamOf(handle);
  if (stream.capture)
    return breakCapture(stream.capture);
  engine.runUntil(lock, [&] { return stream.queue->items.empty(); });
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  RONDO_EMULATED(cudaStreamQuery);
  auto [engine, lock] = Access();
  Stream &stream = streamOf(handle);
  if (stream.capture)
    return breakCapture(stream.capture);
  engine.runSome();
  return stream.queue->items.empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
  RONDO_EMULATED(cudaDeviceSynchronize);
  auto [engine, lock] = Access();
  if (auto capture = engine.captureOfThread())
    return breakCapture(capture);
  engine.runAll(lock);
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Events.
//===----------------------------------------------------------------------===//

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  RONDO_EMULATED(cudaEventCreateWithFlags);
  *event = new Event;
  cudaGetDevice(&(*event)->device);
  (*event)->state->keepsTime = (flags & cudaEventDisableTiming) == 0;
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Lock lock(Engine::get().mutex);
  noteDestroyed(event->device);
  delete event;
  countHandle(-1);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  RONDO_EMULATED(cudaEventRecord);
  auto [engine, lock] = Access();
  Stream &stream = streamOf(handle);
  if (handle && event->device != stream.queue->device)
    return emulation::remember(cudaErrorInvalidResourceHandle);
  event->capture = stream.capture;
  event->at = stream.at;
  if (stream.capture)
    return cudaSuccess;
  std::shared_ptr<EventState> state = event->state;
  uint64_t number = ++state->recorded;
  engine.append(stream, {nullptr, [state, number, queue = stream.queue] {
                           state->reached = number;
                           state->ms = nowMs() + queue->lateMs;
                         }});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event,
                                unsigned) {
  RONDO_EMULATED(cudaStreamWaitEvent);
  auto [engine, lock] = Access();
  Stream &stream = streamOf(handle);
  if (event->capture) {
    if (stream.capture && stream.capture != event->capture)
      return emulation::remember(cudaErrorStreamCaptureMerge);
    if (event->capture->origin == nullptr)
      return emulation::remember(
          cudaErrorInvalidValue); // from a capture that has ended
    if (!stream.capture) {
      stream.capture = event->capture;
      stream.at.clear();
    }
    for (int node : event->at)
      if (std::find(stream.at.begin(), stream.at.end(), node) ==
          stream.at.end())
        stream.at.push_back(node);
    return cudaSuccess;
  }
  if (stream.capture) {
    // Work before the capture cannot be waited for within it, unless there is
    // none.
    if (event->state->recorded == 0)
      return cudaSuccess;
    stream.capture->isValid = false;
    return emulation::remember(cudaErrorStreamCaptureIsolation);
  }
  std::shared_ptr<EventState> state = event->state;
  uint64_t number = state->recorded;
  engine.append(stream,
                {[state, number] { return state->reached >= number; }, [] {}});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  RONDO_EMULATED(cudaEventQuery);
  auto [engine, lock] = Access();
  if (event->capture)
    return emulation::remember(cudaErrorCapturedEvent);
  engine.runSome();
  return event->state->reached == event->state->recorded ? cudaSuccess
                                                         : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  RONDO_EMULATED(cudaEventSynchronize);
  auto [engine, lock] = Access();
  if (event->capture)
    return emulation::remember(cudaErrorCapturedEvent);
  std::shared_ptr<EventState> state = event->state;
  engine.runUntil(lock, [&] { return state->reached == state->recorded; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start,
                                 cudaEvent_t end) {
  RONDO_EMULATED(cudaEventElapsedTime);
  Lock lock(Engine::get().mutex);
  for (cudaEvent_t event : {start, end}) {
    if (event->capture || !event->state->keepsTime ||
        event->state->recorded == 0)
      return emulation::remember(cudaErrorInvalidValue);
    if (event->state->reached != event->state->recorded)
      return cudaErrorNotReady;
  }
  *ms = static_cast<float>(end->state->ms - start->state->ms);
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Graphs.
//===----------------------------------------------------------------------===//

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  RONDO_EMULATED(cudaStreamBeginCapture);
  auto [engine, lock] = Access();
  if (!stream)
    return emulation::remember(cudaErrorStreamCaptureUnsupported);
  if (stream->capture)
    return emulation::remember(cudaErrorInvalidValue);
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  stream->capture = capture;
  stream->at.clear();
  engine.captures.push_back(capture);
  return cudaSuccess;
}

/// Whether everything recorded comes before the end.
static bool isJoined(const Nodes &nodes, const std::vector<int> &end) {
  std::vector<bool> isReached(nodes.size());
  std::vector<int> open = end;
  while (!open.empty()) {
    auto node = static_cast<size_t>(open.back());
    open.pop_back();
    if (isReached[node])
      continue;
    isReached[node] = true;
    open.insert(open.end(), nodes[node].before.begin(),
                nodes[node].before.end());
  }
  return std::find(isReached.begin(), isReached.end(), false) ==
         isReached.end();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  RONDO_EMULATED(cudaStreamEndCapture);
  auto [engine, lock] = Access();
  *graph = nullptr;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return emulation::remember(cudaErrorInvalidValue);
  if (capture->origin != stream)
    return emulation::remember(cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id())
    return emulation::remember(cudaErrorStreamCaptureWrongThread);
  std::vector<int> end = stream->at;
  engine.endCapture(capture);
  // Events may keep the capture alive, but not its content.
  Nodes nodes = std::move(capture->nodes);
  capture->nodes.clear();
  if (!capture->isValid)
    return emulation::remember(cudaErrorStreamCaptureInvalidated);
  if (!isJoined(nodes, end))
    return emulation::remember(cudaErrorStreamCaptureUnjoined);
  *graph = new Graph(std::move(nodes));
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus *status) {
  Lock lock(Engine::get().mutex);
  *status = !stream || !stream->capture ? cudaStreamCaptureStatusNone
            : stream->capture->isValid  ? cudaStreamCaptureStatusActive
                                        : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long) {
  RONDO_EMULATED(cudaGraphInstantiate);
  *exec = new GraphExec{std::make_shared<const Nodes>(graph->nodes)};
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  RONDO_EMULATED(cudaGraphLaunch);
  auto [engine, lock] = Access();
  Stream &stream = streamOf(handle);
  if (stream.capture)
    return breakCapture(stream.capture);
  auto replay = std::make_shared<Replay>();
  replay->nodes = exec->nodes;
  replay->left = exec->nodes->size();
  for (size_t n = 0; n < exec->nodes->size(); ++n) {
    replay->missing.push_back(
        static_cast<int>((*exec->nodes)[n].before.size()));
    if (replay->missing.back() == 0)
      replay->ready.push_back(static_cast<int>(n));
  }
  stream.queue->items.push_back({{}, replay});
  engine.wake();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  countHandle(-1);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  countHandle(-1);
  return cudaSuccess;
}
