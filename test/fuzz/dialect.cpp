//===- dialect.cpp - Fuzzes the pipe dialect ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser, the verifiers, printing, and the bridge to the core's values:
// rolled loops are expanded, judged, folded and expanded again.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bridge.h"
#include "dialect/Nesting.h"
#include "test/fuzz/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;
using rondo::fuzz::require;

/// More actions or tasks than this take too long here.
static constexpr int64_t maxFuzzedActions = 1 << 12;

/// The number of actions that a body unrolls to, at most maxFuzzedActions + 1.
static int64_t countActions(Region &body) {
  int64_t total = 0;
  for (Operation &op : body.getOps()) {
    int64_t count = 1;
    if (auto loop = dyn_cast<ForOp>(op)) {
      const int64_t inside = countActions(loop.getBody());
      count = inside == 0 ? 0
              : loop.getTripCount() > maxFuzzedActions
                  ? maxFuzzedActions + 1
                  : loop.getTripCount() * inside;
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      count = countActions(repeat.getBody());
    }
    total = std::min(total + count, maxFuzzedActions + 1);
  }
  return total;
}

template <typename Bodies> static bool isSmall(Bodies bodies) {
  int64_t total = 0;
  for (auto op : bodies)
    total += countActions(op.getBody());
  return total <= maxFuzzedActions;
}

static std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

static bool hasCosts(PlanOp plan) {
  for (StageOp stage : plan.getStages())
    if (!stage.getCosts())
      return false;
  return true;
}

static void checkSchedule(ScheduleOp op, const Problem &problem) {
  if (!isSmall(op.getRanks()) || !isSmall(op.getLinkOrders()) ||
      !isSmall(op.getCopyOrders()))
    return;
  FailureOr<ExpandedSchedule> expanded = expandSchedule(op, problem);
  if (failed(expanded) || op.getRanks().empty())
    return;
  const Schedule &schedule = expanded->schedule;
  std::optional<Fault> fault = rondo::checkSchedule(problem, schedule);
  if (!fault)
    fault = checkAccumulation(problem, schedule);
  if (fault)
    emitFault(*fault, *expanded, problem, op);
  const LogicalResult folded = foldSchedule(schedule, op);
  // An order that goes on need not repeat.
  if (failed(folded) && op.overlaps())
    return;
  require(succeeded(folded), "a schedule can be folded");
  FailureOr<ExpandedSchedule> again = expandSchedule(op, problem);
  require(succeeded(again), "a schedule that was folded can be expanded");
  bool isSame = schedule.linkOrders == again->schedule.linkOrders;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    ActionRange one = schedule.rank(rank), other = again->schedule.rank(rank);
    isSame &= std::equal(one.begin(), one.end(), other.begin(), other.end());
  }
  require(isSame, "folding and expanding give the same schedule");
}

static void checkProgram(ProgramOp op, const Problem &problem) {
  if (op.getKind() != ProgramKind::Sequential && isSmall(op.getRanks()))
    (void)expandProgram(op, problem);
}

static void check(ModuleOp module) {
  require(succeeded(verify(module)), "what was parsed is verified");
  const std::string printed = textOf(module);
  OwningOpRef<ModuleOp> again =
      parseSourceString<ModuleOp>(printed, module.getContext());
  require(again && textOf(*again) == printed,
          "what is printed reads as the same");
  for (ScheduleOp schedule : module.getOps<ScheduleOp>()) {
    PlanOp plan = schedule.lookupPlan();
    if (!hasCosts(plan))
      continue;
    if (!isSmall(schedule.getRanks()))
      continue;
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem) ||
        problem->numStages() * int64_t(problem->microbatches) >
            maxFuzzedActions)
      continue;
    for (ProgramOp program : module.getOps<ProgramOp>())
      if (program.lookupSchedule() == schedule &&
          (program.getKind() == ProgramKind::Pipeline ||
           problem->iterations == 1))
        checkProgram(program, *problem);
    checkSchedule(schedule, *problem);
  }
  require(succeeded(verify(module)), "what was folded is verified");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  if (text.find('\0') != std::string::npos || !llvm::json::isUTF8(text) ||
      findTooDeep(text))
    return 0;
  // Everything created in a context stays in it.
  static std::unique_ptr<MLIRContext> context;
  static int uses = 0;
  if (!context || ++uses % 1000 == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    context->loadDialect<PipeDialect>();
  }
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  if (OwningOpRef<ModuleOp> module =
          parseSourceString<ModuleOp>(text, context.get()))
    check(*module);
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
// LLVM's headers poison memory that the library, built without the sanitizer,
// never unpoisons.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
#endif
