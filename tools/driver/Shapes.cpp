//===- Shapes.cpp - Plans of the shapes that options ask for --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Searching.h"

#include "dialect/Nearest.h"
#include "passes/Pipelines.h"
#include "plans/ShapeGroups.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace rondo::driver {

ShapeRequest shapeRequest(const Arguments &arguments) {
  return {arguments.text("placement"), arguments.text("chunks"),
          arguments.text("microbatches")};
}

/// Reports a plan that cannot be laid out again.
static mlir::LogicalResult checkShape(pipe::PlanOp plan) {
  if (failed(pipe::shapeGroups(plan)))
    return mlir::failure();
  for (pipe::StageOp stage : plan.getStages())
    if (stage.getCostsAttr())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " states its own costs, which do not apply to other stages; "
                "state the costs of its layers";
  return mlir::success();
}

int readBasePlan(Session &session, const std::string &path,
                 pipe::PlanOp &base) {
  if (!session.isRead() && failed(session.read(path)))
    return Failure;
  session.restoreWritten();
  SmallVector<pipe::PlanOp> plans(session.module().getOps<pipe::PlanOp>());
  if (plans.size() != 1)
    return reportError(path +
                       ": a search over placements needs exactly one "
                       "pipe.plan, not " +
                       Twine(plans.size()));
  base = plans.front();
  if (failed(checkShape(base)))
    return Failure;
  return failed(session.run(pipe::buildPlanPipeline)) ? session.exitCode()
                                                      : int(Success);
}

bool isPlainShape(Session &session) {
  SmallVector<pipe::PlanOp> plans(session.written().getOps<pipe::PlanOp>());
  mlir::ScopedDiagnosticHandler silent(
      session.context(), [](mlir::Diagnostic &) { return mlir::success(); });
  return plans.size() == 1 && succeeded(checkShape(plans.front())) &&
         all_of(plans.front().getStages(), [](pipe::StageOp stage) {
           return !stage.getRecomputeAttr() &&
                  (stage.getRanks().size() == 1 || stage.getShardedAttr());
         });
}

/// Comma-separated whole numbers without duplicates. False if `text` is not
/// such a list.
template <typename Number>
static bool readNumbers(StringRef text, std::vector<Number> &numbers) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    Number number = 0;
    if (part.getAsInteger(10, number) || number < 1 || number > maxMicrobatches)
      return false;
    if (!is_contained(numbers, number))
      numbers.push_back(number);
  }
  return true;
}

static constexpr StringRef placingNames[] = {"linear", "interleaved", "v",
                                             "wave"};
/// In the order of their names.
static constexpr Placing namedPlacings[] = {
    Placing::Linear, Placing::Interleaved, Placing::V, Placing::Wave};

/// Without duplicates. False if `text` contains another name, `unknown`.
static bool readPlacings(StringRef text, std::vector<Placing> &placings,
                         StringRef &unknown) {
  SmallVector<StringRef> wanted;
  text.split(wanted, ',');
  for (StringRef name : wanted)
    if (!is_contained(placingNames, name)) {
      unknown = name;
      return false;
    }
  for (auto [name, placing] : zip_equal(placingNames, namedPlacings))
    if (is_contained(wanted, name))
      placings.push_back(placing);
  return true;
}

int chooseShapes(const ShapeRequest &request, pipe::PlanOp base,
                 std::vector<PlanShape> &shapes) {
  ShapeChoice choice;
  choice.onlyAsWritten = request.placements.empty() && request.chunks.empty();
  StringRef unknown;
  if (!request.placements.empty() && request.placements != "auto" &&
      !readPlacings(request.placements, choice.placings, unknown))
    return reportUsage(
        "--placement names '" + unknown + "'" +
        didYouMean(unknown, placingNames) +
        (didYouMean(unknown, placingNames).empty() ? "; " : " ") +
        "it takes auto, or some of linear, interleaved, v and "
        "wave");
  if (!request.chunks.empty() && request.chunks != "auto" &&
      !readNumbers(request.chunks, choice.chunks))
    return reportUsage("--chunks is '" + request.chunks +
                       "'; it takes auto, or numbers from 1 to " +
                       Twine(maxMicrobatches) + " such as 1,2,4");
  if (!request.microbatches.empty() &&
      !readNumbers(request.microbatches, choice.microbatches))
    return reportUsage("--microbatches is '" + request.microbatches +
                       "'; it takes numbers from 1 to " +
                       Twine(maxMicrobatches) + " such as 8,16,32");
  shapes = shapesOf(choice, pipe::shapeGroups(base)->groups.size(),
                    base.getMicrobatches());
  if (request.mayRecompute)
    appendRecomputed(shapes, pipe::shapeGroups(base)->groups.size(),
                     base.getStages().size());
  if (shapes.empty())
    return reportUsage(
        "no placement has these chunks: linear has 1, v 2, wave an even "
        "number, interleaved 2 or more, and a single rank 1");
  return Success;
}

std::string reasonOf(const PlanCandidate &candidate,
                     ArrayRef<PlanCandidate> candidates) {
  using State = PlanCandidate::State;
  switch (candidate.state) {
  case State::Open:
    return "";
  case State::NoPlan:
    return "no plan: " + describe(*candidate.fault);
  case State::NoMemory:
    return describeBriefly(*candidate.fault);
  case State::NoSchedule:
    return describe(*candidate.fault);
  case State::SameStages:
    return "same stages as '" + candidates[candidate.twin].shape.text() + "'";
  case State::NotBetter:
    return "no better: its bound is not below the best";
  case State::NoTime:
    return "no time";
  }
  return "";
}

MapVector<const PlanCandidate *, std::string>
planless(ArrayRef<PlanCandidate> candidates) {
  std::vector<std::string> reasons;
  for (const PlanCandidate &candidate : candidates)
    reasons.push_back(reasonOf(candidate, candidates));
  MapVector<StringRef, SmallVector<const PlanCandidate *>> byReason;
  for (auto [candidate, reason] : zip(candidates, reasons))
    if (!candidate.plan)
      byReason[reason].push_back(&candidate);
  MapVector<const PlanCandidate *, std::string> result;
  for (const auto &[reason, shared] : byReason) {
    const bool isOften = shared.size() > 2;
    for (const PlanCandidate *candidate : shared)
      result[candidate] = candidate->shape.text();
    if (!isOften)
      continue;
    result[shared.front()] +=
        " and " + std::to_string(shared.size() - 1) + " more";
    for (const PlanCandidate *candidate : drop_begin(shared))
      result.erase(candidate);
  }
  return result;
}

} // namespace rondo::driver
