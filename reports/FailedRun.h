//===- FailedRun.h - Which rank ended a run ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_FAILEDRUN_H
#define RONDO_REPORTS_FAILEDRUN_H

#include "formats/json/FailureReader.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// The files that the ranks of one run wrote when it failed.
class FailedRun {
public:
  /// Adds a file. Returns what does not fit the files before it; empty: it
  /// fits.
  std::string add(json::Failure file, const std::string &path);

  const json::Failure &any() const;
  int64_t numRanks() const { return static_cast<int64_t>(byRank.size()); }
  /// Null if the rank left no file.
  const json::Failure *file(int64_t rank) const {
    return byRank[rank] ? &*byRank[rank] : nullptr;
  }
  std::vector<int64_t> missing() const;
  /// The last action that a rank began; null if it left no file or began none.
  const json::FailureAction *last(int64_t rank) const;
  /// The wait of a rank; null if it does not wait.
  const json::FailureWait *wait(int64_t rank) const;
  /// Whether a rank waits for a message that the other one has sent.
  bool isUnderWay(int64_t rank) const;
  /// The ranks that wait for each other, from this one to one that does not
  /// wait or has sent what the one before waits for, or to the first that comes
  /// again.
  std::vector<int64_t> chainFrom(int64_t rank) const;

  enum class Why {
    /// It left no file.
    Killed,
    /// It has reported an error.
    Error,
    /// Others wait for it, and it waits for nobody.
    Runs,
    /// It waits for a message that has been sent and has not arrived.
    UnderWay,
    /// It is one of a cycle of waits.
    Cycle,
    /// Nobody waits for a rank, and it has not gone on for longest.
    Longest,
    /// All ranks have ended their iteration.
    Unknown,
  };
  struct Cause {
    int64_t rank = 0;
    Why why = Why::Unknown;
    /// The longest with the rank.
    std::vector<int64_t> chain;
  };
  Cause cause() const;

private:
  std::vector<std::optional<json::Failure>> byRank;
  std::vector<std::string> paths;
};

/// Writes the cause, who waits for whom, and the last `most` actions of all
/// ranks.
void writeText(llvm::raw_ostream &os, const FailedRun &run, size_t most);
/// Writes the cause and the waits as one JSON object.
void writeJson(llvm::raw_ostream &os, const FailedRun &run);

} // namespace rondo

#endif // RONDO_REPORTS_FAILEDRUN_H
