//===- copies.h - Copies of activations to the host and back ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_COPIES_H
#define RONDO_RUNTIME_EXECUTION_COPIES_H

#include "runtime/execution/messages.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace rondo::runtime {

/// Imposes the plan's host links on the copies of the ranks of this process.
/// Thread-safe.
class HostLinks {
public:
  /// Throws Error if ranks of several processes share a link.
  HostLinks(const Executable &executable, const World &world);

  /// Runs `copy` and returns once the copy has taken as long as the rank's link
  /// needs for `bytes`. A shared link carries one copy after another in each
  /// direction, in the order in which they come.
  template <typename Copy>
  void carry(int32_t rank, ActionKind kind, int64_t bytes, Copy copy);

private:
  /// Lets threads in one after another, in the order in which they come.
  struct Turns {
    std::mutex mutex;
    std::condition_variable next;
    int64_t last = 0, now = 0;

    void enter();
    void leave();
  };
  /// Null if the rank's link is its own.
  Turns *turnsOf(int32_t rank, ActionKind kind);

  const Executable &executable;
  /// [2 * shared link], and [2 * shared link + 1] for LOAD if it is full
  /// duplex.
  std::deque<Turns> shared;
};

/// The copies of one rank of a program. Each lane has a thread, which has the
/// lane's whole list from the start and runs a copy once what it awaits has
/// ended. The rank's thread says which tasks have ended, and waits for copies.
/// Functions are for the rank's thread unless they say otherwise.
class Copies {
public:
  /// `links` may be null: copies take as long as they take.
  Copies(const RankContext &context, const Messages &messages,
         HostLinks *links);
  ~Copies();
  Copies(const Copies &) = delete;
  Copies &operator=(const Copies &) = delete;

  bool isEmpty() const { return copies.empty(); }
  /// Whether the program copies a micro-batch of a replica.
  bool areOf(int64_t replica, int64_t microbatch) const {
    return !copies.empty() &&
           findCopy(ActionKind::Load, replica, microbatch) != nullptr;
  }

  /// An iteration begins; `traces` says whether to keep events.
  void begin(bool traces);
  /// Waits for the copies that a task awaits. Returns whether it awaits any.
  /// Throws Aborted.
  bool await(ActionKind kind, int64_t replica, int64_t microbatch);
  /// A task has ended.
  void ended(ActionKind kind, int64_t replica, int64_t microbatch);
  /// Throws Error if the program does not have the copy.
  void check(ActionKind kind, int64_t replica, int64_t microbatch) const;
  /// Waits for all copies of the iteration and appends their events. Throws
  /// Aborted.
  void finish(std::vector<TraceEvent> &trace, int64_t iteration);

  /// Makes the rank throw Aborted where it waits for copies. Any thread.
  void abort();
  /// Copies that have ended so far. Any thread.
  uint64_t progress() const { return numEnded.load(std::memory_order_relaxed); }
  /// `0LOAD3`: the copy that the rank's thread waits for; empty: none. Any
  /// thread.
  std::string waitsFor() const;

private:
  /// A task or a copy that others await, or that awaits others.
  struct Node {
    ActionKind kind;
    int32_t replica, microbatch;
    std::vector<int32_t> awaited;
    bool hasEnded = false;
  };
  struct Copy {
    int32_t node;
    /// A part for I and one for W; null if there is none.
    char *device[2] = {}, *host[2] = {};
    int64_t bytes[2] = {};
    int64_t startNs = 0, endNs = 0;
  };

  static uint64_t keyOf(ActionKind kind, int64_t replica, int64_t microbatch) {
    return static_cast<uint64_t>(kind) << 58 |
           static_cast<uint64_t>(replica) << 32 |
           static_cast<uint64_t>(microbatch);
  }
  int32_t nodeOf(ActionKind kind, int32_t replica, int32_t microbatch);
  const Copy *findCopy(ActionKind kind, int64_t replica,
                       int64_t microbatch) const;
  void addCopy(const CopyDesc &desc, const Messages &messages);
  void work(const std::vector<int32_t> &lane);
  void run(Copy &copy);
  /// The first node that one still awaits; -1: none. Requires `mutex`.
  int32_t openOf(const Node &node) const;

  const RankContext context;
  HostLinks *const links;
  std::vector<Node> nodes;
  std::unordered_map<uint64_t, int32_t> numbers;
  /// In the order of the list.
  std::vector<Copy> copies;
  /// [node]: its copy; -1: it is a task.
  std::vector<int32_t> copyOf;
  /// By lane, the copies of its list.
  std::vector<std::vector<int32_t>> lanes;
  bool isTraced = false;

  mutable std::mutex mutex;
  std::condition_variable changed;
  /// Iterations begun, and lanes that have done theirs.
  uint64_t round = 0;
  size_t numDone = 0;
  bool isStopping = false, isAborted = false;
  /// The copy that the rank's thread waits for; -1: none.
  int32_t waiting = -1;
  std::atomic<uint64_t> numEnded{0};
  std::vector<std::thread> threads;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_COPIES_H
