//===- Comparison.h - Schedules of one problem side by side -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_COMPARISON_H
#define RONDO_REPORTS_COMPARISON_H

#include "formats/curves/Curve.h"
#include "formats/json/ScheduleWriter.h"
#include "lowering/ExposedCommunication.h"
#include "planning/JudgedSchedule.h"
#include "schedule/search/Search.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// The result for the schedules of one problem.
struct ComparisonOutcome {
  bool hasSchedule = false;
  bool isOverCap = false;
  /// Proved: a device's memory is too small for every order.
  bool noOrderFits = false;
  /// Name and reason of each schedule that does not apply.
  std::vector<std::string> refusals;
};

/// Stream and style of a comparison's output.
struct ComparisonOutput {
  llvm::raw_ostream &os;
  /// Columns of timelines, and whether they have colours.
  int width = 100;
  bool hasColors = false;
  /// Gets what is worth a note.
  std::function<void(const llvm::Twine &)> note;
  /// Ends searches; may be null.
  const std::atomic<bool> *interrupt = nullptr;
};

/// Keeps no schedule, so that a caller can hold one in memory at a time.
class Comparison {
public:
  enum class Style {
    Table,
    /// The table, then each schedule over time.
    Timeline,
    /// The table, then why each schedule takes its time.
    Explained,
    /// Only a rondo-schedule line for each schedule.
    Json,
    /// Only a rondo-explanation line for each schedule.
    ExplainedJson,
    /// A line of figures for each schedule; csvHead() comes before the first.
    Csv,
  };

  Comparison(const Problem &problem, Style style, ComparisonOutput output);

  /// Also shows what programs allocate and the devices' memory. `plan` must
  /// outlive this object.
  void showArenas(const PlanFigures &plan);

  /// Also shows with which queues of messages each schedule runs to its end,
  /// and when. Only with a searched schedule.
  void showQueues() { hasQueues = true; }

  /// Adds the schedule that a search has found. From here on also compares with
  /// the search's bound and shows the cost of communication. Peaks are those of
  /// the fullest rank, or of all if `allRanks` is set. `record` is that of a
  /// schedule, and `limitOption` the option that limits the search.
  void addSearched(const SearchResult &result, const json::SearchRecord &record,
                   llvm::StringRef limitOption, bool allRanks);

  void add(const JudgedSchedule &candidate);
  /// Whether add() needs the times of each task.
  bool needsTimes() const;
  ComparisonOutcome finish();
  /// Time over memory of all that has been added. Only with a searched
  /// schedule.
  curves::Curve curve() const;
  /// Instead of add() and finish() if the problem has no schedule; the caller
  /// reports the error.
  ComparisonOutcome infeasible(const std::string &why);

private:
  struct Row {
    std::string name;
    /// Why there is no schedule; the figures are then not set.
    std::string why;
    curves::Origin origin = curves::Origin::Family;
    int64_t makespanNs = 0, spanNs = 0;
    double bubble = 0;
    std::vector<int64_t> peakBytes;
    std::vector<int64_t> arenaBytes;
    std::optional<ExposedCommunication> communication;
    /// Bytes of sharded state that the busiest rank moves.
    int64_t trafficBytes = 0;
  };

  void addSchedule(const std::string &name, const std::string &family,
                   const Schedule &schedule, const Simulation &simulation,
                   const std::vector<int64_t> &arenaBytes,
                   const json::SearchRecord *record, bool clipsByNorm = false);
  void noteOthers() const;
  void writeTable() const;
  void writeQueues() const;
  void writeCsv() const;
  bool isLines() const {
    return style == Style::Json || style == Style::ExplainedJson;
  }
  std::string peakText(const std::vector<int64_t> &peaks) const;
  std::string arenaText(const std::vector<int64_t> &arenas) const;
  double ratioToBound(const Row &row) const;

  const Problem &problem;
  /// Null for a problem without a plan.
  const PlanFigures *figures = nullptr;
  /// Null if arenas are not shown.
  const PlanFigures *plan = nullptr;
  Style style;
  ComparisonOutput output;
  bool allRanks = false, hasQueues = false;
  /// Set by addSearched().
  std::optional<Bound> bound;
  std::string limitOption;
  int64_t searchedNs = 0;
  bool isSearchBeaten = false;
  std::vector<Row> rows;
  /// Families that do not apply, if they get no rows.
  struct Other {
    std::string name, reason;
  };
  std::vector<Other> others;
  /// All that have no schedule, for the picture.
  std::vector<curves::Missing> missing;
  /// Text after the table.
  std::string details;
  ComparisonOutcome outcome;
};

/// The first line of a file of Style::Csv, with its newline.
const char *csvHead();

} // namespace rondo

#endif // RONDO_REPORTS_COMPARISON_H
