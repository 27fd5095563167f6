//===- VerifyScheduled.cpp - Rules S1 to S12 ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "passes/Passes.h"
#include "plans/CheckedSchedule.h"
#include "plans/PlanFigures.h"
#include "plans/VersionedWindow.h"
#include "schedule/bounds/Shortfall.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYSCHEDULED
#include "passes/Passes.h.inc"

namespace {

/// Rule S8.
constexpr const char *advice = "; claim what is, or change the order [S8]";

/// Compares what a schedule claims of itself with what follows from its order.
class Claims {
public:
  Claims(ScheduleOp schedule, const VersionedWindow &window)
      : schedule(schedule), claims(schedule.getClaimsAttr()), window(window),
        stages(schedule.lookupPlan().getStages()),
        found(stageVersions(window.problem, window.versions)) {}

  LogicalResult check() {
    auto copies = [](const StageVersions &stage) { return stage.copies; };
    auto forward = [](const StageVersions &stage) {
      return stage.forwardDelay;
    };
    auto backward = [](const StageVersions &stage) {
      return stage.backwardDelay;
    };
    auto recompute = [](const StageVersions &stage) {
      return stage.recomputeDelay;
    };
    if (failed(checkList("copies", claims.getCopies(), copies, "keeps at most ",
                         "version", " of its weights", nullptr)) ||
        failed(checkList("forward_delay", claims.getForwardDelay(), forward,
                         "runs forwards at most ", "update", " late",
                         "runs no forward late")) ||
        failed(checkList("backward_delay", claims.getBackwardDelay(), backward,
                         "runs backwards at most ", "update", " late",
                         "runs no backward late")) ||
        failed(checkList("recompute_delay", claims.getRecomputeDelay(),
                         recompute, "recomputes at most ", "update", " late",
                         "recomputes nothing late")))
      return failure();
    if (!claims.getNormDelay() || claims.getNormDelay() == window.normDelay)
      return success();
    InFlightDiagnostic error =
        schedule.emitError()
        << "the schedule claims that the norm of all gradients is there "
        << countOf(*claims.getNormDelay(), "iteration") << " later; ";
    if (window.normDelay)
      return error << "it is " << *window.normDelay << advice;
    return error << "it is more than those under way at once" << advice;
  }

private:
  /// `ifNone` replaces `does` and `end` in the message about a claim of 0;
  /// null: they stay.
  template <typename Of>
  LogicalResult checkList(const char *key, ArrayRef<int64_t> claimed, Of of,
                          const char *does, const char *what, const char *end,
                          const char *ifNone) {
    if (claimed.empty())
      return success();
    if (claimed.size() != stages.size())
      return schedule.emitError()
                 .append("the schedule claims ", key, " of ",
                         countOf(static_cast<int64_t>(claimed.size()), "stage"),
                         "; its plan has ", stages.size())
                 .attachNote(schedule.lookupPlan().getLoc())
             << "this is the plan";
    for (auto [stage, number, versions] :
         llvm::zip_equal(stages, claimed, found))
      if (number != of(versions))
        return schedule.emitError()
                   .append("the schedule claims that stage @",
                           stage.getSymName(), " ",
                           number == 0 && ifNone
                               ? std::string(ifNone)
                               : does + countOf(number, what) + end,
                           "; it is ", countOf(of(versions), what), advice)
                   .attachNote(stage.getLoc())
               << "this is the stage";
    return success();
  }

  ScheduleOp schedule;
  ClaimsAttr claims;
  const VersionedWindow &window;
  SmallVector<StageOp, 0> stages;
  const std::vector<StageVersions> found;
};

/// Checks that the claims of a schedule whose iterations overlap follow from
/// its order, and that the norm that it asks for can be computed. The schedule
/// keeps the rules.
LogicalResult verifyClaims(ScheduleOp schedule) {
  const bool clips = schedule.getClip() == Clip::Global;
  if (!schedule.overlaps() || (!clips && !schedule.getClaims()))
    return success();
  FailureOr<VersionedWindow> window = analyzeWindow(schedule);
  if (failed(window))
    return failure();
  if (!clips && schedule.getClaims()->getNormDelay())
    timeOrder(*window);
  if (clips && !window->normDelay)
    return schedule.emitError()
           << "clip(global): the norm of all gradients is there more than "
           << countOf(window->underWay, "iteration")
           << " later, and the order has no more under way at once; shorter "
              "latencies or clip(stage) help";
  return schedule.getClaims() ? Claims(schedule, *window).check() : success();
}

struct VerifyScheduled : impl::VerifyScheduledBase<VerifyScheduled> {
  explicit VerifyScheduled(RunControl *control = nullptr) : control(control) {}

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(verify(schedule)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(ScheduleOp schedule) {
    const auto &checked = getChildAnalysis<CheckedSchedule>(schedule);
    if (!checked.isReadable())
      return failure();
    if (!checked.fault())
      return verifyClaims(schedule);
    if (control && checked.fault()->rule == Rule::Memory &&
        findShortfall(checked.problem()))
      control->noOrderFits = true;
    return checked.emitFault();
  }

  RunControl *control;
};

} // namespace

std::unique_ptr<Pass> createVerifyScheduled(RunControl *control) {
  return std::make_unique<VerifyScheduled>(control);
}

} // namespace rondo::pipe
