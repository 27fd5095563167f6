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

std::vector<Candidate> Engine::readyOnes() {
  std::vector<Candidate> candidates;
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
    Item &item = queue.items.front();
    auto add = [&](int node, const Operation &operation) {
      if (!operation.isReady || operation.isReady())
        candidates.push_back({&queue, node, operation.usesHostLink()});
    };
    if (!item.replay) {
      add(-1, item.operation);
      continue;
    }
    for (int node : item.replay->ready)
      add(node, (*item.replay->nodes)[static_cast<size_t>(node)].operation);
    if (item.replay->left == 0)
      candidates.push_back({&queue, -1, false});
  }
  return candidates;
}

template <typename Drops>
static void drop(std::vector<Candidate> &candidates, Drops drops) {
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), drops),
                   candidates.end());
}

/// A copy takes as long as several tasks, or hardly any time. So what does not
/// wait for one, or for which it does not wait, is found.
void Engine::delayCopies(std::vector<Candidate> &candidates) {
  const auto copies =
      std::count_if(candidates.begin(), candidates.end(),
                    [](const Candidate &each) { return each.usesHostLink; });
  if (copies == 0)
    return;
  if (steps >= redrawCopyTimeAt) {
    copyTime = static_cast<CopyTime>(draw(3));
    redrawCopyTimeAt = steps + draw(1000);
  }
  if (copies == static_cast<long>(candidates.size()) ||
      copyTime == CopyTime::Any)
    return;
  drop(candidates, [&](const Candidate &each) {
    return each.usesHostLink == (copyTime == CopyTime::Late);
  });
}

/// Runs one operation; false: none is ready.
bool Engine::step() {
  if (steps++ % 32 == 0)
    for (auto &queue : queues)
      queue->speed = draw(1000);

  const bool ignoresSpeed = draw(4) == 0;
  std::vector<Candidate> candidates = readyOnes();
  if (candidates.empty())
    return false;
  delayCopies(candidates);
  if (!ignoresSpeed) {
    unsigned best = 0;
    for (const Candidate &each : candidates)
      best = std::max(best, each.queue->speed);
    drop(candidates,
         [&](const Candidate &each) { return each.queue->speed < best; });
  }
  Candidate chosen = candidates[draw(static_cast<unsigned>(candidates.size()))];
  Item &item = chosen.queue->items.front();
  runningDevice = chosen.queue->device;
  if (chosen.node >= 0) {
    Replay &replay = *item.replay;
    const Operation &operation =
        (*replay.nodes)[static_cast<size_t>(chosen.node)].operation;
    operation.run();
    hostCopiesOfGraphs += operation.usesHostLink();
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
