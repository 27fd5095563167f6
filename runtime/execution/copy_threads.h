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
#include "runtime/execution/host_links.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace rondo::runtime {

/// The copies of one rank of a program. Each lane has a thread, which has the
/// lane's whole list from the start and runs a copy once what it awaits has
/// ended. The rank's thread reports ended tasks, and waits for copies. On a
/// device that enqueues its work (cuda/copy_turns.h) a task or copy has ended
/// here once its end is enqueued.
class CopyThreads : public CopyRunner {
public:
  CopyThreads(const RankContext &context, const Messages &messages,
              HostLinks *links);
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
  CopyWait waitsFor() const override;
  void check() const override;
  bool has(ActionKind kind, int64_t replica,
           int64_t microbatch) const override {
    return list.findCopy(kind, replica, microbatch) >= 0;
  }

protected:
  // A device overrides these.
  /// Takes the turn of a copy and moves its bytes. False: the run has failed.
  virtual bool run(size_t lane, int32_t copy);
  /// Ends its turn.
  virtual void leave(int32_t copy);
  /// Waits until the condition holds, which the mutex guards.
  virtual void block(std::unique_lock<std::mutex> &lock,
                     const std::function<bool()> &isReady) {
    changed.wait(lock, isReady);
  }

  /// Waits for a change, or that long.
  void waitFor(std::unique_lock<std::mutex> &lock,
               std::chrono::microseconds time) {
    changed.wait_for(lock, time);
  }
  /// Before the members of a derived class go.
  void stopThreads();
  HostLinks::Copy onLink(int32_t copy) const {
    return {context.rank, list.nodes()[list.copies()[copy].node].kind,
            list.copies()[copy].turn};
  }

  const RankContext context;
  HostLinks *const links;
  const CopyList list;
  /// [node].
  std::vector<bool> hasEnded;
  /// [copy].
  struct Times {
    int64_t startNs = 0, endNs = 0;
  };
  std::vector<Times> times;
  bool isTraced = false;
  /// The run has failed.
  std::atomic<bool> isAborted{false};

private:
  void work(size_t lane);
  /// Waits for a condition of the rank's thread. Throws Aborted, or what a
  /// lane's thread has thrown.
  void blockRank(std::unique_lock<std::mutex> &lock,
                 const std::function<bool()> &isReady);
  size_t laneOf(int32_t copy) const;
  /// The first node that one still awaits; -1: none. Requires `mutex`.
  int32_t openOf(int32_t node) const;

  mutable std::mutex mutex;
  std::condition_variable changed;
  /// Iterations begun, and lanes that have done theirs.
  uint64_t round = 0;
  size_t numDone = 0;
  bool isStopping = false;
  std::exception_ptr failure;
  /// The node that the rank's thread waits for; -1: none.
  int32_t waiting = -1;
  /// The rank's thread waits for all copies of the iteration.
  bool isFinishing = false;
  /// [lane]: the copy that has begun to wait for its turn on a shared link; -1:
  /// none.
  std::vector<int32_t> entering;
  std::atomic<uint64_t> numEnded{0};
  std::vector<std::thread> threads;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_COPY_THREADS_H
