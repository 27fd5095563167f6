//===- background.h - Estimates in a thread of their own --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H
#define RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H

#include "runtime/adaptive/background_thread.h"
#include "runtime/adaptive/estimator.h"
#include "runtime/adaptive/found_program.h"
#include "runtime/adaptive/schedule_search.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::runtime {

/// When and how long the background searches for further schedules. A search
/// goes on in turns, each of which starts from all that is known by then.
struct SearchPlan {
  const Executable *executable = nullptr;
  /// Null: it does not search.
  const ScheduleSearch *search = nullptr;
  /// A search begins where some estimate has changed by this part since the
  /// last one, and what it finds counts if it is faster by as much.
  double leastChange = 0.02;
  /// Time of the first turn, short so that a better schedule is found soon.
  /// Each turn has twice the time of the one before, up to four times that of
  /// the first, so that a change of the network is noticed in time.
  int64_t timeLimitMs = 100;
  int32_t turns = 4;
};

/// Results of the background thread.
struct Estimates {
  /// ns of an iteration, one entry per program: the compiled ones, then
  /// `found`; -1 without an estimate.
  std::vector<int64_t> ns;
  /// Programs that searches have found, at most `maxFound`. One may replace
  /// another at its place, but not what runs, nor the best of all.
  std::vector<std::shared_ptr<const FoundProgram>> found;
  /// Why the last search has found nothing; empty if it did not fail.
  std::string why;
};

/// Estimates, and searches, while the ranks train.
class BackgroundEstimator {
public:
  static constexpr size_t maxFound = 4;

  explicit BackgroundEstimator(Estimator estimator,
                               const SearchPlan &plan = {});
  /// Waits for an estimate that is under way, and ends a search.
  ~BackgroundEstimator();

  /// Begins an estimate with fresh measurements, of iterations of the program
  /// at the place `running`. If one is under way, it is finished first, and
  /// only the new one has a result.
  void begin(Measurements measured, size_t running = 0);
  /// The estimate that has ended since the last call; does not wait. A search
  /// that finds something makes it new.
  std::optional<Estimates> takeResult();

private:
  struct Round {
    Measurements measured;
    size_t running;
  };

  void work();
  /// One estimate or turn of a search; false: it shall stop.
  bool workOnce();
  void takeAll(std::vector<Round> taken);
  bool hasChanged() const;
  bool searchLike(const Round &round);
  bool findLike(const Round &round);
  std::vector<const Program *> startsLike(size_t like) const;
  size_t placeForFound(size_t running) const;

  // Only the thread uses these.
  Estimator estimator;
  const SearchPlan plan;
  const size_t numCompiled;
  Estimates known;
  /// Estimates of the compiled programs when the last search began.
  std::vector<int64_t> searchedAt;
  int64_t numFound = 0, numSearches = 0;
  /// Turns that the search still has, and how many it has had. Costs that
  /// change again and again make it longer, but not its turns short.
  int32_t turnsLeft = 0, turnsHad = 0;
  std::optional<Round> last;
  /// The last find that was not worth a switch, and which program it is like: a
  /// start for the next turn.
  std::optional<std::pair<size_t, Program>> tooNear;

  // Both sides use these.
  std::vector<Round> fresh;
  std::optional<Estimates> result;
  BackgroundThread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H
