//===- UnitTable.h - Units and chunks side by side --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_UNITTABLE_H
#define RONDO_REPORTS_UNITTABLE_H

#include "lowering/Lowering.h"
#include "planning/gathers/Units.h"
#include "schedule/families/Family.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// Stages of rank 0.
int64_t chunksOf(const Problem &problem);

/// Units of one plan among the candidates of a table.
struct Chunked {
  int64_t chunks = 0;
  const Problem *problem = nullptr;
  /// Null for a problem without a plan.
  const PlanFigures *figures = nullptr;
  Hiding hiding;
};

/// The units and chunks that `blockwise` chooses from, a row for each: time,
/// bubble, memory, traffic and what is in the way of more.
class UnitTable {
public:
  UnitTable(std::string name, const FamilyChoice &choice)
      : name(std::move(name)), choice(choice) {}

  void add(const Problem &problem, const PlanFigures *figures);
  /// A number of chunks without a plan.
  void addMissing(const std::string &shape, const std::string &why) {
    missing.push_back({shape, why});
  }
  /// The best candidate that fits; nothing if none does.
  std::optional<size_t> best() const;
  /// Why none fits, if one applies.
  std::string whyNone() const;
  bool hasPlans() const { return !plans.empty(); }
  /// [i]: arguments of the i-th addMissing().
  const std::vector<std::pair<std::string, std::string>> &withoutPlan() const {
    return missing;
  }
  void writeText(llvm::raw_ostream &os) const;
  void writeCsv(llvm::raw_ostream &os) const;

private:
  std::vector<std::string> rowOf(size_t number, bool isBest) const;
  std::string limitText(size_t number) const;
  std::string memoryText(size_t number) const;

  const std::string name;
  const FamilyChoice &choice;
  std::vector<Chunked> plans;
  std::vector<UnitCandidate> candidates;
  /// [candidate]: index of its plan in `plans`.
  std::vector<size_t> of;
  std::vector<std::pair<std::string, std::string>> missing;
};

} // namespace rondo

#endif // RONDO_REPORTS_UNITTABLE_H
