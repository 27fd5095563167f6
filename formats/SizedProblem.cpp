//===- SizedProblem.cpp - Problems with sizes of micro-batches ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/SizedProblem.h"

#include "formats/json/Documents.h"
#include "formats/json/ProblemReader.h"
#include "kinds/Counts.h"

using namespace rondo;
using namespace rondo::formats;
using json::AffineText;
using json::CostText;
using json::ProblemText;
using json::StageTimes;
using json::TextFault;
using json::UnevenText;

/// The time of a kind; nothing if it was not measured.
static std::optional<int64_t> timeOf(const StageTimes &stage, ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return stage.forwardNs;
  case ActionKind::InputGrad:
    return stage.inputGradNs;
  case ActionKind::WeightGrad:
    return stage.weightGradNs;
  default:
    return stage.recomputeNs;
  }
}

/// Nothing: the kind takes no time in any file, or was not measured.
static Result<std::optional<AffineFit>>
fitKind(const std::vector<SizedCosts> &measured, size_t stage,
        ActionKind kind) {
  std::vector<MeasuredTime> times;
  for (const SizedCosts &file : measured)
    if (const auto ns = timeOf(file.costs.stages[stage], kind); ns && *ns > 0)
      times.push_back({file.sizes, *ns});
  if (times.empty())
    return std::optional<AffineFit>();
  const std::string what = "stage " +
                           json::quoted(measured[0].costs.stages[stage].name) +
                           ": " + traitsOf(kind).code;
  if (times.size() < measured.size())
    return TextFault(what + " takes time in " + countOf(times.size(), "file") +
                     " of " + std::to_string(measured.size()));
  std::optional<AffineFit> fit = fitAffine(times);
  if (!fit)
    return TextFault("the lengths do not determine a fixed time and those of "
                     "tokens and pairs: measure at 3 lengths or more");
  return fit;
}

Result<std::vector<FittedStage>>
formats::fitStages(const std::vector<SizedCosts> &measured) {
  const std::vector<StageTimes> &first = measured.front().costs.stages;
  for (const auto &[index, file] : llvm::enumerate(measured)) {
    const std::vector<StageTimes> &stages = file.costs.stages;
    const bool areSame =
        stages.size() == first.size() &&
        std::equal(stages.begin(), stages.end(), first.begin(),
                   [](const StageTimes &a, const StageTimes &b) {
                     return a.name == b.name;
                   });
    if (!areSame)
      return TextFault("file " + std::to_string(index + 1) +
                       " has other stages than file 1; all are measurements of "
                       "one program at several lengths");
  }
  std::vector<FittedStage> fitted;
  for (const auto &[s, stage] : llvm::enumerate(first)) {
    FittedStage &own = fitted.emplace_back();
    own.name = stage.name;
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Recompute,
                            ActionKind::InputGrad, ActionKind::WeightGrad}) {
      Result<std::optional<AffineFit>> fit = fitKind(measured, s, kind);
      if (!fit)
        return fit.fault();
      if (*fit)
        own.costs.push_back({kind, std::move(**fit)});
    }
  }
  return fitted;
}

Result<ProblemText> formats::readProblemText(llvm::StringRef text) {
  if (std::optional<TextFault> fault = json::checkSyntax(text))
    return *fault;
  const json::Value value(text);
  if (auto fault = json::checkIsObject(value, "rondo-problem"))
    return *fault;
  ProblemText problem;
  if (auto fault = json::readProblemText(value, problem))
    return *fault;
  if (problem.chain.empty())
    return problem;
  // Version 1, which has no sizes.
  Result<Problem> read = json::readProblem(text);
  if (!read)
    return read.fault();
  return json::textOf(*read);
}

void formats::setSizes(ProblemText &problem,
                       std::vector<std::vector<int64_t>> sizes) {
  problem.microbatches = static_cast<int32_t>(sizes.size());
  problem.iterations = 1;
  problem.sizes = std::move(sizes);
}

/// All costs of a stage: its own, and those of its replicas.
template <typename Each>
static void forCosts(ProblemText &problem, const Each &each) {
  for (json::StageText &stage : problem.stages) {
    each(stage.costs);
    for (json::ReplicaText &replica : stage.replicas)
      if (replica.costs)
        each(*replica.costs);
  }
}

static void takeCostsOfParts(json::CostsText &costs) {
  const int column = costColumn(ActionKind::Backward);
  costs.has[column] = false;
  costs.row[column] = CostText();
}

void formats::scaleBytes(ProblemText &problem, int64_t tokens) {
  const size_t numSizes =
      problem.sizes.empty() ? 1 : problem.sizes.front().size();
  auto scale = [&](auto &figure, UnevenText &uneven, int64_t bytes) {
    if (bytes <= 0 || uneven.isStated())
      return;
    AffineText &affine = uneven.affine.emplace();
    affine.perSize.assign(numSizes, 0);
    affine.perSize.front() = bytes;
    affine.over = tokens;
    figure = {};
  };
  forCosts(problem, [&](json::CostsText &costs) {
    takeCostsOfParts(costs);
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Recompute,
                            ActionKind::InputGrad, ActionKind::WeightGrad}) {
      CostText &cost = costs.row[costColumn(kind)];
      scale(cost.acquireBytes, cost.unevenAcquire, cost.acquireBytes);
      if (kind == ActionKind::WeightGrad && !cost.unevenRelease.isStated()) {
        cost.freesRest = costs.has[costColumn(kind)];
        cost.releaseBytes = 0;
      } else {
        scale(cost.releaseBytes, cost.unevenRelease, cost.releaseBytes);
      }
    }
  });
  for (json::EdgeText &edge : problem.edges) {
    scale(edge.bytes, edge.unevenBytes, edge.bytes.value_or(0));
    scale(edge.gradientBytes, edge.unevenGradientBytes,
          edge.gradientBytes.value_or(0));
  }
}

std::optional<TextFault>
formats::setTimes(ProblemText &problem,
                  const std::vector<FittedStage> &stages) {
  if (problem.stages.size() != stages.size())
    return "the problem has " + countOf(problem.stages.size(), "stage") +
           ", the costs are of " + std::to_string(stages.size());
  for (const auto &[s, stage] : llvm::enumerate(problem.stages))
    for (const json::ReplicaText &replica : stage.replicas)
      if (replica.costs)
        return "rank " + std::to_string(replica.rank) +
               " has costs of its own for stage " + std::to_string(s) +
               ", which measured times of the stage do not replace; leave them "
               "out";
  for (const auto &[s, stage] : llvm::enumerate(stages)) {
    json::CostsText &costs = problem.stages[s].costs;
    takeCostsOfParts(costs);
    for (const auto &[kind, fit] : stage.costs) {
      CostText &cost = costs.row[costColumn(kind)];
      if (!costs.has[costColumn(kind)])
        continue;
      cost.unevenNs = {};
      cost.unevenNs.affine = fit.cost;
    }
  }
  return std::nullopt;
}

Result<std::string> formats::writeProblemText(const ProblemText &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-problem/2");
    json::problemTable(2).write(json, problem);
  });
  if (Result<Problem> read = json::readProblem(text); !read)
    return read.fault();
  return text;
}
