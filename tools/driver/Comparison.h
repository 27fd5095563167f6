//===- Comparison.h - Schedules of one problem side by side -----*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_COMPARISON_H
#define RONDO_TOOLS_DRIVER_COMPARISON_H

#include "tools/driver/Evaluate.h"
#include "tools/driver/Table.h"

#include <string>
#include <vector>

namespace rondo::driver {

enum class Style {
  Table,
  /// The table, then each schedule over time.
  Timeline,
  /// A rondo-schedule/1 line for each schedule, and nothing else.
  Json,
};

/// How the schedules of one problem end.
struct Outcome {
  bool hasSchedule = false;
  bool isOverCap = false;
};

/// Prints to standard output. Keeps no schedule, so that a caller can have one
/// in memory at a time.
class Comparison {
public:
  Comparison(const Problem &problem, Style style);

  void add(const Candidate &candidate);
  Outcome finish();
  /// In place of add() and finish() where the problem has no schedule; the
  /// caller reports the error.
  Outcome infeasible(const std::string &why);

private:
  const Problem &problem;
  Style style;
  Table table;
  std::string timelines;
  Outcome outcome;
};

/// Success where the only problem has a schedule; a batch is fine although some
/// of its problems have none.
int exitCodeOf(const std::vector<Outcome> &outcomes);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMPARISON_H
