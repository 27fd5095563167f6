//===- engine.cpp - Runs the streams of the emulated device ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine.h"

#include "emulation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace emulation {

namespace {

/// No test waits longer for an idle device.
constexpr auto patience = std::chrono::seconds(30);

std::mutex faultMutex;
std::string faultFunction;
int faultSkip = 0, faultError = 0;
std::atomic<bool> hasFault{false};
std::atomic<int> handles{0};

} // namespace

Engine &Engine::get() {
  static Engine *engine = new Engine;
  return *engine;
}

Engine::Engine() {
  add(&nullStream);
  if (const char *text = std::getenv("RONDO_EMULATED_SEED"))
    seed(std::strtoull(text, nullptr, 10));
}

void Engine::add(Stream *stream) {
  streams.push_back(stream);
  queues.push_back(stream->queue);
}

void Engine::remove(Stream *stream) {
  streams.erase(std::find(streams.begin(), streams.end(), stream));
}

void Engine::endCapture(const std::shared_ptr<Capture> &capture) {
  capture->origin = nullptr;
  for (Stream *stream : streams)
    if (stream->capture == capture)
      stream->capture = nullptr;
  Nodes &nodes = capture->nodes;
  for (size_t n = 0; n < nodes.size(); ++n)
    for (int before : nodes[n].before)
      nodes[static_cast<size_t>(before)].after.push_back(static_cast<int>(n));
}

std::shared_ptr<Capture> Engine::captureOfThread() {
  for (auto it = captures.begin(); it != captures.end();) {
    std::shared_ptr<Capture> capture = it->lock();
    if (!capture) {
      it = captures.erase(it);
      continue;
    }
    bool isOurs = capture->mode == cudaStreamCaptureModeGlobal ||
                  (capture->mode == cudaStreamCaptureModeThreadLocal &&
                   capture->thread == std::this_thread::get_id());
    if (isOurs)
      return capture;
    ++it;
  }
  return nullptr;
}

void Engine::append(Stream &stream, Operation operation) {
  if (stream.capture) {
    Nodes &nodes = stream.capture->nodes;
    nodes.push_back({std::move(operation), stream.at, {}});
    stream.at = {static_cast<int>(nodes.size()) - 1};
    return;
  }
  stream.queue->items.push_back({std::move(operation), nullptr});
  wake();
}

/// Runs one operation; false: none is ready.
bool Engine::step() {
  if (steps++ % 32 == 0)
    for (auto &queue : queues)
      queue->speed = draw(1000);

  struct Candidate {
    Queue *queue;
    int node;
  };
  std::vector<Candidate> candidates;
  unsigned best = 0;
  const bool ignoresSpeed = draw(4) == 0;
  for (size_t q = 0; q < queues.size();) {
    Queue &queue = *queues[q];
    if (queue.items.empty()) {
      // Its stream is gone.
      if (queues[q].use_count() == 1) {
        queues.erase(queues.begin() + static_cast<long>(q));
        continue;
      }
      ++q;
      continue;
    }
    ++q;
    std::vector<int> ready;
    Item &item = queue.items.front();
    auto isReady = [](Operation &operation) {
      return !operation.isReady || operation.isReady();
    };
    if (!item.replay) {
      if (isReady(item.operation))
        ready.push_back(-1);
    } else {
      for (int node : item.replay->ready) {
        auto &operation = const_cast<Operation &>(
            (*item.replay->nodes)[static_cast<size_t>(node)].operation);
        if (isReady(operation))
          ready.push_back(node);
      }
      if (item.replay->left == 0)
        ready.push_back(-1);
    }
    if (ready.empty())
      continue;
    if (!ignoresSpeed && !candidates.empty() && queue.speed < best)
      continue;
    if (!ignoresSpeed && queue.speed > best)
      candidates.clear();
    best = queue.speed;
    for (int node : ready)
      candidates.push_back({&queue, node});
  }
  if (candidates.empty())
    return false;
  Candidate chosen = candidates[draw(static_cast<unsigned>(candidates.size()))];
  Item &item = chosen.queue->items.front();
  runningDevice = chosen.queue->device;
  if (chosen.node >= 0) {
    Replay &replay = *item.replay;
    const Operation &operation =
        (*replay.nodes)[static_cast<size_t>(chosen.node)].operation;
    operation.run();
    hostCopiesOfGraphs += operation.memcpy == cudaMemcpyDeviceToHost ||
                          operation.memcpy == cudaMemcpyHostToDevice;
    replay.ready.erase(
        std::find(replay.ready.begin(), replay.ready.end(), chosen.node));
    --replay.left;
    for (int node : (*replay.nodes)[static_cast<size_t>(chosen.node)].after)
      if (--replay.missing[static_cast<size_t>(node)] == 0)
        replay.ready.push_back(node);
    return true;
  }
  if (item.operation.run)
    item.operation.run();
  chosen.queue->items.pop_front();
  return true;
}

void Engine::runSome() {
  MemoryAccess access;
  for (unsigned i = draw(64); i > 0 && step(); --i) {
  }
  wake();
}

void Engine::runUntil(std::unique_lock<std::mutex> &lock,
                      const std::function<bool()> &isDone) {
  auto last = std::chrono::steady_clock::now();
  while (!isDone()) {
    bool didRun = false;
    {
      MemoryAccess access;
      while (!isDone() && step())
        didRun = true;
    }
    if (didRun) {
      last = std::chrono::steady_clock::now();
      wake();
      continue;
    }
    if (std::chrono::steady_clock::now() - last > patience) {
      std::fprintf(stderr, "cuda emulation: the host waits for work that waits "
                           "for what never comes\n");
      std::abort();
    }
    changed.wait_for(lock, std::chrono::milliseconds(20));
  }
}

void Engine::runAll(std::unique_lock<std::mutex> &lock, int device) {
  runUntil(lock, [&] {
    return std::all_of(queues.begin(), queues.end(), [&](const auto &queue) {
      return queue->items.empty() || (device >= 0 && queue->device != device);
    });
  });
}

int Engine::operationsLeft() const {
  size_t left = 0;
  for (const auto &queue : queues)
    left += queue->items.size();
  return static_cast<int>(left);
}

int injected(const char *function) {
  if (!hasFault)
    return 0;
  std::lock_guard<std::mutex> lock(faultMutex);
  if (faultFunction != function || faultSkip-- != 0)
    return 0;
  hasFault = false;
  return faultError;
}

void failCall(const char *function, int skip, int error) {
  std::lock_guard<std::mutex> lock(faultMutex);
  faultFunction = function ? function : "";
  faultSkip = skip;
  faultError = error;
  hasFault = function != nullptr;
}

void seed(uint64_t value) {
  std::lock_guard<std::mutex> lock(Engine::get().mutex);
  Engine::get().seed(value);
}

int hostCopiesOfGraphs() {
  std::lock_guard<std::mutex> lock(Engine::get().mutex);
  return std::exchange(Engine::get().hostCopiesOfGraphs, 0);
}

int64_t Engine::deviceNs() const {
  const auto offset = clockOffsets.find(runningDevice);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
             .count() +
         (offset == clockOffsets.end() ? 0 : offset->second);
}

// A kernel runs with the mutex held.
int64_t deviceNs() { return Engine::get().deviceNs(); }

void setClockOffset(int device, int64_t ns) {
  std::lock_guard<std::mutex> lock(Engine::get().mutex);
  Engine::get().clockOffsets[device] = ns;
}

void countHandle(int change) { handles += change; }

static std::atomic<int> elsewhere{0};

void noteDestroyed(int device) {
  int current = 0;
  cudaGetDevice(&current);
  elsewhere += current != device;
}

int destroyedElsewhere() { return elsewhere.exchange(0); }
int liveHandles() { return handles; }
int operationsLeft() {
  Engine &engine = Engine::get();
  std::lock_guard<std::mutex> lock(engine.mutex);
  return engine.operationsLeft();
}

} // namespace emulation
