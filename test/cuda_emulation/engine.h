//===- engine.h - Runs the streams of the emulated device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing runs when it is enqueued. A thread that waits for the device, or
// queries its progress, meanwhile runs work: it repeatedly takes a random one
// of the operations that could be next on a real device. So, with some seed,
// work that does not wait for what it needs runs too early or too late. One
// mutex guards everything; work runs under it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_ENGINE_H
#define RONDO_TEST_CUDA_EMULATION_ENGINE_H

#include "cuda_runtime.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace emulation {

/// In a graph it runs repeatedly, so `run` must not change it.
struct Operation {
  /// Polled once everything before it in its stream or graph is done, until it
  /// returns true; empty: ready at once.
  std::function<bool()> isReady;
  std::function<void()> run;
  /// The memory that it sets, if that is what it does.
  std::optional<cudaMemsetParams> memset = std::nullopt;
  /// Which way it copies, if that is what it does.
  std::optional<cudaMemcpyKind> memcpy = std::nullopt;

  /// Whether it copies to the host or from it.
  bool usesHostLink() const {
    return memcpy == cudaMemcpyDeviceToHost || memcpy == cudaMemcpyHostToDevice;
  }
};

/// Work with the numbers of the preceding and following nodes.
struct Node {
  Operation operation;
  std::vector<int> before, after;
};
using Nodes = std::vector<Node>;

/// A graph that is being recorded.
struct Capture {
  Nodes nodes;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  Stream *origin = nullptr;
  bool isValid = true;
};

/// A launch of a graph.
struct Replay {
  std::shared_ptr<const Nodes> nodes;
  /// For each node: how many nodes before it are not done.
  std::vector<int> missing;
  std::vector<int> ready;
  size_t left = 0;
};

/// Outlives its handle while operations need it.
struct EventState {
  uint64_t recorded = 0, reached = 0;
  bool keepsTime = false;
  double ms = 0;
};

struct Event {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
  /// The capture of its last record, if any.
  std::shared_ptr<Capture> capture;
  std::vector<int> at;
  int device = 0;
};

struct Item {
  Operation operation;
  std::shared_ptr<Replay> replay;
};

struct Queue {
  std::deque<Item> items;
  /// Redrawn from time to time: streams run at very different speeds.
  unsigned speed = 0;
  int device = 0;
  /// Delay of its events against the host's clock, ms.
  double lateMs = 0;
};

struct Stream {
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  std::shared_ptr<Capture> capture;
  /// The last nodes of this stream's capture.
  std::vector<int> at;
};

/// The handle of a node.
struct GraphNode {
  Graph *graph;
  size_t number;
};

struct Graph {
  explicit Graph(Nodes recorded);
  GraphNode *handle(int number) { return handles[size_t(number)].get(); }

  Nodes nodes;
  /// For each node; null: destroyed, and without edges and work.
  std::vector<std::unique_ptr<GraphNode>> handles;
};
struct Algorithm;

struct GraphExec {
  std::shared_ptr<const Nodes> nodes;
};

/// An operation that could be next.
struct Candidate {
  Queue *queue;
  /// A node of the queue's replay; -1: the queue's next item.
  int node;
  bool usesHostLink;
};

class Engine {
public:
  /// Never freed, so that exit handlers may use the device.
  static Engine &get();

  std::mutex mutex;

  // All of these require the mutex.
  void add(Stream *stream);
  void remove(Stream *stream);
  /// Its streams stop recording.
  void endCapture(const std::shared_ptr<Capture> &capture);
  /// Appends to a stream, or to its capture.
  void append(Stream &stream, Operation operation);
  /// Runs operations until the condition holds. If there are none, waits for
  /// other threads; ends the process if that takes too long.
  void runUntil(std::unique_lock<std::mutex> &lock,
                const std::function<bool()> &isDone);
  /// For one device, or for all.
  void runAll(std::unique_lock<std::mutex> &lock, int device = -1);
  /// Runs some, or none.
  void runSome();
  int operationsLeft() const;
  void wake() { changed.notify_all(); }
  Stream &defaultStream() { return nullStream; }
  unsigned draw(unsigned below) {
    return below ? unsigned(random() % below) : 0;
  }
  void seed(uint64_t value) { random.seed(value); }
  /// The capture that forbids this thread calls that cannot be captured; null:
  /// none.
  std::shared_ptr<Capture> captureOfThread();
  std::vector<std::weak_ptr<Capture>> captures;
  /// The clock of the device that is running an operation.
  int64_t deviceNs() const;
  /// Key: device.
  std::map<int, int64_t> clockOffsets;
  /// For hostCopiesOfGraphs().
  int hostCopiesOfGraphs = 0;

private:
  Engine();
  std::vector<Candidate> readyOnes();
  void delayCopies(std::vector<Candidate> &candidates);
  bool step();

  std::condition_variable changed;
  std::vector<Stream *> streams;
  /// Includes those of destroyed streams, until they are empty.
  std::vector<std::shared_ptr<Queue>> queues;
  Stream nullStream;
  std::mt19937_64 random{1};
  unsigned steps = 0;
  /// Copies over the host's link come as late as they can, as early as they
  /// can, or like all else; redrawn at a step.
  enum class CopyTime { Late, Early, Any } copyTime = CopyTime::Any;
  unsigned redrawCopyTimeAt = 0;
  int runningDevice = 0;
};

/// The error that a test injects into a call, or 0.
int injected(const char *function);
/// Keeps an error, which is also returned, for cudaGetLastError().
cudaError_t remember(cudaError_t error);
/// The library's list for products, and the number of products by algorithm.
std::vector<Algorithm> algorithms();
void countProduct(size_t number);
/// Number of groups of NCCL's calls that have been enqueued on a device, or are
/// in a graph, and have not ended.
int groupsOn(int device);
/// Appends a copy to a stream.
void enqueueCopy(cudaStream_t stream, void *to, const void *from, size_t bytes,
                 cudaMemcpyKind kind);
/// Appends the setting of memory to a stream.
void enqueueMemset(cudaStream_t stream, const cudaMemsetParams &params);
/// Delays later events of a stream, in what runs in it.
std::function<void(double ms)> delayOf(cudaStream_t stream);
/// Counts handles for liveHandles().
void countHandle(int change);
/// Counts for destroyedElsewhere().
void noteDestroyed(int device);

/// Gives the host's thread access to device memory while it runs work.
class MemoryAccess {
public:
  MemoryAccess();
  ~MemoryAccess();
};

} // namespace emulation

#define RONDO_EMULATED(function)                                               \
  if (int error = emulation::injected(#function))                              \
  return emulation::remember(static_cast<cudaError_t>(error))

#endif // RONDO_TEST_CUDA_EMULATION_ENGINE_H
