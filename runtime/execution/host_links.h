//===- host_links.h - Links to the host that ranks share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the runtime that only programs with copies link.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_HOST_LINKS_H
#define RONDO_RUNTIME_EXECUTION_HOST_LINKS_H

#include "runtime/base/shared_memory.h"
#include "runtime/base/signal.h"
#include "runtime/execution/copies.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The links to the host of the ranks of this process. Keeps the schedules'
/// orders of copies over links that ranks share, and imposes the plan's times.
/// Ranks that share a link take turns by counters in memory that their
/// processes share, so they must be on one host.
///
/// No rank waits for a turn for ever if all ranks run: a schedule is legal only
/// if its simulation ends, in which a copy waits for its turn as here (rule
/// S4). So among the copies of an iteration that have not ended there is always
/// one that can begin. A turn of an iteration comes after all turns of those
/// before it, which need nothing of it. If a rank does not run, the run fails
/// at its time-out, and stop() ends the waits.
class HostLinks {
public:
  /// All processes of a run construct it at the same time, with the same
  /// arguments. Throws Error if ranks that share a link cannot share memory.
  HostLinks(const Executable &executable, const World &world, bool areImposed);

  /// A copy of a rank of this process.
  struct Copy {
    int32_t rank;
    ActionKind kind;
    /// CopyDesc::turn.
    int32_t turn;
  };
  /// A rank begins an iteration of a program. By one thread of the rank, while
  /// no copy of the rank is under way.
  void begin(int32_t rank, const ProgramDesc &program);
  /// Waits for a copy's turn in the order of its iteration, if it has one, and
  /// until an imposed link is free. False: the run has failed.
  bool enter(const Copy &copy);
  /// Returns once an imposed link has had the time for a copy that began at
  /// `beginNs`.
  void impose(const Copy &copy, int64_t bytes, int64_t beginNs) const;
  /// A copy that has entered has ended.
  void leave(const Copy &copy);
  /// Lets all that wait return, now and later. Any thread.
  void stop();
  /// What a copy that has called enter() waits for; empty: nothing. Any thread,
  /// but not during begin() of the copy's rank.
  CopyWait waitOf(const Copy &copy) const;

private:
  /// The turns of one direction of a shared link, or of both if it is half
  /// duplex.
  struct alignas(64) Lane {
    explicit Lane(Signal::Reach reach) : ended(reach), free(reach) {}

    /// Copies with a turn that have ended in all iterations.
    Signal ended;
    /// Imposed links carry copies in the order in which they come: the number
    /// of the next that comes, of the one that is carried, and its rank.
    std::atomic<uint32_t> next{0};
    Signal free;
    std::atomic<int32_t> carries{-1};
  };
  static constexpr int lanesOfLink = 2;

  /// Makes or opens the memory of this process's link.
  void shareLanes(const World &world);
  /// Null if the rank's link is its own.
  Lane *laneOf(const Copy &copy) const;
  size_t laneNumber(const Copy &copy) const {
    return executable.hostLinks[copy.rank].laneOfShared(copy.kind);
  }
  /// The copy's number among those with a turn in all iterations.
  uint32_t turnOf(const Copy &copy) const {
    return orders[copy.rank].first[laneNumber(copy) % lanesOfLink] +
           static_cast<uint32_t>(copy.turn);
  }
  bool await(Signal &signal, uint32_t value) const;

  const Executable &executable;
  const bool areImposed;
  /// [lane of a shared link]; null: it has no rank of this process.
  std::vector<Lane *> lanes;
  std::deque<Lane> ownLanes;
  std::unique_ptr<SharedMemory> memory;
  /// [rank]: its program, and the number of the iteration's first turn and of
  /// the next one's, for both lanes of its link.
  struct Order {
    const ProgramDesc *program = nullptr;
    uint32_t first[lanesOfLink] = {}, next[lanesOfLink] = {};
  };
  std::vector<Order> orders;
  std::atomic<bool> isStopped{false};
};

/// Null if no program orders copies and links are not imposed. Called as the
/// constructor.
std::shared_ptr<HostLinks> connectHostLinks(const Executable &executable,
                                            const World &world,
                                            bool areImposed);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_HOST_LINKS_H
