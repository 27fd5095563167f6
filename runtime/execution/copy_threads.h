//===- copy_threads.h - Copies to the host and back, in threads -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the runtime that only programs with copies link.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_COPY_THREADS_H
#define RONDO_RUNTIME_EXECUTION_COPY_THREADS_H

#include "runtime/execution/copies.h"
#include "runtime/execution/copy_list.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

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

/// Keeps the orders of a program's copies over host links that ranks of this
/// process share: a copy begins once those before it have ended. Thread-safe.
class CopyTurns {
public:
  CopyTurns(const Executable &executable, const ProgramDesc &program);

  /// Waits for the turn of a copy in an iteration, from 0. False: the run has
  /// failed.
  bool enter(size_t lane, int64_t iteration, int32_t turn);
  void leave(size_t lane);
  /// Lets all that wait return.
  void stop();

private:
  struct Lane {
    /// Copies in an iteration, and those that have ended in all iterations.
    int64_t count = 0, ended = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Lane> lanes;
  bool isStopped = false;
};

/// The copies of one rank of a program. Each lane has a thread, which has the
/// lane's whole list from the start and runs a copy once what it awaits has
/// ended. The rank's thread reports ended tasks, and waits for copies.
class CopyThreads : public CopyRunner {
public:
  CopyThreads(const RankContext &context, const Messages &messages,
              HostLinks *links, CopyTurns *turns);
  ~CopyThreads() override;
  CopyThreads(const CopyThreads &) = delete;
  CopyThreads &operator=(const CopyThreads &) = delete;

  bool areOf(int64_t replica, int64_t microbatch) const override {
    return list.findCopy(ActionKind::Load, replica, microbatch) >= 0;
  }
  void begin(bool traces) override;
  bool await(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void ended(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void finish(std::vector<TraceEvent> &trace, int64_t iteration) override;
  void abort() override;
  uint64_t progress() const override {
    return numEnded.load(std::memory_order_relaxed);
  }
  std::string waitsFor() const override;
  bool has(ActionKind kind, int64_t replica,
           int64_t microbatch) const override {
    return list.findCopy(kind, replica, microbatch) >= 0;
  }

private:
  void work(const std::vector<int32_t> &lane);
  /// False: the run has failed.
  bool run(int32_t copy, int64_t iteration);
  /// The first node that one still awaits; -1: none. Requires `mutex`.
  int32_t openOf(int32_t node) const;

  const RankContext context;
  HostLinks *const links;
  CopyTurns *const turns;
  const CopyList list;
  /// [node].
  std::vector<bool> hasEnded;
  /// [copy].
  struct Times {
    int64_t startNs = 0, endNs = 0;
  };
  std::vector<Times> times;
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

#endif // RONDO_RUNTIME_EXECUTION_COPY_THREADS_H
