//===- SizedProblem.h - Problems with sizes of micro-batches ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_SIZEDPROBLEM_H
#define RONDO_FORMATS_SIZEDPROBLEM_H

#include "formats/AffineFit.h"
#include "formats/json/CostsReader.h"

namespace rondo::formats {

/// Fitted costs of a stage, of the kinds that were measured.
struct FittedStage {
  std::string name;
  std::vector<std::pair<ActionKind, AffineFit>> costs;
};

/// Measured times, and the sizes of the micro-batches that they are for.
struct SizedCosts {
  json::Costs costs;
  std::vector<int64_t> sizes;
};

/// Fits the times of each stage. All files measure the same stages. A fault if
/// they do not, if a time is 0 in some files but not in all, or if the sizes do
/// not determine the figures.
Result<std::vector<FittedStage>>
fitStages(const std::vector<SizedCosts> &measured);

/// Reads a rondo-problem, of either version. Nothing depends on `sizes` yet,
/// which another call may set.
Result<json::ProblemText> readProblemText(llvm::StringRef text);

/// Sets the sizes of the micro-batches, and their number.
void setSizes(json::ProblemText &problem,
              std::vector<std::vector<int64_t>> sizes);

/// Makes the bytes of tasks and messages proportional to the first size of a
/// micro-batch: they are stated for `tokens`, and rounded up. What W frees is
/// the rest. Figures that depend on the micro-batch already stay. B's costs
/// become those of I and W.
void scaleBytes(json::ProblemText &problem, int64_t tokens);

/// Sets the times of the stages, in their order. B's costs become those of I
/// and W. A fault if there are as many stages as the problem has not.
std::optional<json::TextFault> setTimes(json::ProblemText &problem,
                                        const std::vector<FittedStage> &stages);

/// The problem in one line, checked; a fault if it is none.
Result<std::string> writeProblemText(const json::ProblemText &problem);

} // namespace rondo::formats

#endif // RONDO_FORMATS_SIZEDPROBLEM_H
