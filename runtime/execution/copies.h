//===- copies.h - Copies of activations to the host and back ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_COPIES_H
#define RONDO_RUNTIME_EXECUTION_COPIES_H

#include "runtime/execution/messages.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

class Device;
class HostLinks;
class JsonWriter;

/// Whether the program's schedule states the order of copies over a link that
/// ranks share.
bool ordersCopies(const ProgramDesc &program);

/// A wait for a copy.
struct CopyWait {
  /// `0LOAD3`, and what it waits for itself; empty: there is no wait.
  std::string text;
  /// The rank that it waits for; -1: none.
  int32_t onRank = -1;
};

/// Runs the copies of one rank of a program, or enqueues them on a device that
/// enqueues its work: then waits are the device's, and none blocks. Functions
/// are for the rank's thread unless they say otherwise.
class CopyRunner {
public:
  virtual ~CopyRunner() = default;

  /// Whether the program copies a micro-batch of a replica.
  virtual bool areOf(int64_t replica, int64_t microbatch) const = 0;
  /// An iteration begins; keeps events if `traces`.
  virtual void begin(bool traces) = 0;
  /// Waits for the copies that a task awaits. Returns whether it awaits any.
  /// Throws Aborted.
  virtual bool await(ActionKind kind, int64_t replica, int64_t microbatch) = 0;
  /// The rank's order has reached a copy that the program has. A runner whose
  /// lanes have their lists from the start does nothing.
  virtual void reach(ActionKind, int64_t /*replica*/, int64_t /*microbatch*/) {}
  /// A task has ended.
  virtual void ended(ActionKind kind, int64_t replica, int64_t microbatch) = 0;
  /// Waits for all copies of the iteration and appends their events. Throws
  /// Aborted.
  virtual void finish(std::vector<TraceEvent> &trace, int64_t iteration) = 0;
  /// Makes the rank throw Aborted where it waits for copies. Any thread.
  virtual void abort() = 0;
  /// Copies that have ended so far. Any thread.
  virtual uint64_t progress() const = 0;
  /// The copy that the rank's thread waits for. Any thread.
  virtual CopyWait waitsFor() const = 0;
  /// Throws what a copy on another thread has thrown: the rank's thread may be
  /// waiting for something else. Any thread.
  virtual void check() const {}
  /// Whether the program has the copy.
  virtual bool has(ActionKind kind, int64_t replica,
                   int64_t microbatch) const = 0;
};

/// Entry points of the part that programs with copies link.
struct CopySupport {
  /// Makes the runner for the copies of all ranks of a program in this process:
  /// `links` keeps the schedule's orders of copies over links that ranks share,
  /// and imposes the times of the plan's host links; may be null.
  std::unique_ptr<CopyRunner> (*make)(const RankContext &context,
                                      const Messages &messages,
                                      HostLinks *links);
  /// The links of the ranks of this process; null if copies need none. All
  /// processes of a run call it at the same time. Throws Error if links cannot
  /// be imposed, or if ranks that share one are on several hosts.
  std::shared_ptr<HostLinks> (*connectLinks)(const Executable &executable,
                                             const World &world,
                                             bool areImposed);
  /// Measures a device's link to its host, writes the figures as an object, and
  /// returns them as a plan has them.
  std::string (*measureLink)(Device &device, JsonWriter &json);
};

/// The copies of a rank, if its program has any: see CopyRunner.
class Copies {
public:
  Copies(const RankContext &context, const Messages &messages,
         HostLinks *links);

  bool areOf(int64_t replica, int64_t microbatch) const {
    return runner && runner->areOf(replica, microbatch);
  }
  void begin(bool traces) {
    if (runner)
      runner->begin(traces);
  }
  bool await(ActionKind kind, int64_t replica, int64_t microbatch) {
    return runner && runner->await(kind, replica, microbatch);
  }
  void ended(ActionKind kind, int64_t replica, int64_t microbatch) {
    if (runner)
      runner->ended(kind, replica, microbatch);
  }
  /// Throws Error if the program does not have the copy.
  void reach(ActionKind kind, int64_t replica, int64_t microbatch);
  void finish(std::vector<TraceEvent> &trace, int64_t iteration) {
    if (runner)
      runner->finish(trace, iteration);
  }
  void abort() {
    if (runner)
      runner->abort();
  }
  uint64_t progress() const { return runner ? runner->progress() : 0; }
  /// A repeated recording would take no turns on links that ranks share.
  bool mayReplay() const { return !hasOrder; }
  CopyWait waitsFor() const { return runner ? runner->waitsFor() : CopyWait(); }
  void check() const {
    if (runner)
      runner->check();
  }

private:
  const RankContext context;
  const bool hasOrder;
  std::unique_ptr<CopyRunner> runner;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_COPIES_H
