//===- Bridge.h - Between ops and the core's values -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where rolled IR becomes compact values and back. Both ways are
// lossless. Errors are emitted where they are found; failure() means that a
// diagnostic was emitted.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_BRIDGE_H
#define RONDO_DIALECT_BRIDGE_H

#include "dialect/Pipe.h"
#include "schedule/families/Family.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/program/Program.h"
#include "schedule/rules/Legality.h"

#include "mlir/IR/Builders.h"

#include <map>
#include <string>
#include <vector>

namespace rondo::pipe {

/// A schedule or program with more actions than this is refused, so that a
/// mistyped loop bound ends in an error and not in lack of memory.
inline constexpr int64_t maxActions = int64_t(1) << 27;

/// The problem to schedule: costs of the plan's stages, the cluster's devices,
/// links and channels. Every stage must have `costs`; the problem has passed
/// check(). Caps are what stateBytes() leaves of the devices where the plan
/// declares weights, else the devices' memory: then activations are all that
/// is known of.
mlir::FailureOr<Problem> buildProblem(PlanOp plan);
/// The same without diagnostics, for a plan that may be no part of a file: the
/// fault of the problem that it states. Its model, its cluster and the costs of
/// its stages are known.
Result<Problem> problemOf(PlanOp plan);

/// The problem in which a schedule of the plan is judged. Where its iterations
/// overlap it is a window with the schedule's policies: long enough to prove
/// all runs of what it repeats (schedule/order/Repeating.h), or, without a
/// body, for a family to write an order that repeats.
mlir::FailureOr<Problem> buildProblem(ScheduleOp op);
/// A problem of its plan, with the schedule's policies where it has any.
mlir::FailureOr<Problem> withPoliciesOf(ScheduleOp op, const Problem &problem);
/// The policies of a window's stages, as a schedule states them: one if all
/// stages have the same, as families have. Null for a single iteration.
mlir::ArrayAttr versionsOf(mlir::Builder &builder, const Problem &window);
/// Iterations that are under way at once in a schedule's order.
mlir::FailureOr<int64_t> iterationsUnderWay(ScheduleOp op);

/// The options of `rondo search` under which it can lay out the plan in another
/// way, such as ` --placement auto --microbatches LIST`; empty if there are
/// none. Only chains can be cut again, and only micro-batches of several
/// samples whose layers scale with them can be made smaller.
std::string optionsForOtherPlans(PlanOp plan);

/// Memory of the plan's devices, by rank.
std::vector<int64_t> deviceBytes(PlanOp plan);

/// Whether a stage has weights. The layers of a timed model may have none;
/// what a program holds in addition to activations is then unknown.
bool declaresWeights(PlanOp plan);

/// The stages that share a weight, ascending; empty if none do.
std::vector<int32_t> tiedStages(PlanOp plan);

/// The collectives of an iteration, without times; empty if no stage has
/// weights.
std::vector<Collective> planCollectives(PlanOp plan);

/// The bytes that collectives stage on each rank of the plan's target
/// (kinds/Sums.h); 0 if buffers are not known.
std::vector<int64_t> stagingOfRanks(PlanOp plan, bool hasNorm = true);

/// Bytes that each rank's arena holds throughout: weights, gradients, moments,
/// control, data, workspace and staging; 0 where buffers are not known.
std::vector<int64_t> stateBytes(PlanOp plan);

/// Makes the caps of the plan's problem what stateBytes() leaves, or less if
/// the plan limits the tokens in flight.
void takeState(PlanOp plan, Problem &problem);

/// Bytes of the tokens in flight of a plan that states limits of batches, by
/// those of its longest row.
int64_t bytesInFlight(PlanOp plan, int64_t bytesOfRow);
/// Lowers the caps of such a plan's problem to the activations of the tokens in
/// flight: of each stage of a rank, what a row holds at once.
void limitToTokens(PlanOp plan, Problem &problem);

/// Bytes of each buffer of each stage, all 0 for a stage without `buffers`. If
/// micro-batches differ, the most of any.
std::vector<ReplicaBuffers> replicaBuffers(PlanOp plan);
/// The same by micro-batch; empty if all have equal buffers.
std::vector<std::vector<ReplicaBuffers>> buffersByMicrobatch(PlanOp plan);

struct ExpandedSchedule {
  Schedule schedule;
  /// The op that wrote each action, by position in the schedule's array.
  std::vector<mlir::Operation *> opOf;
  /// The same of the schedule's linkOrders.
  std::map<std::pair<int32_t, int32_t>, std::vector<mlir::Operation *>>
      opOfMessage;
  /// The same of its copyOrders.
  std::map<int32_t, std::vector<mlir::Operation *>> opOfCopy;
};

/// Unrolls all ranks, link orders and copy orders. A rank without a body is
/// empty. Over several iterations, an order of one is repeated in each, and one
/// that goes on runs for that many. Micro-batches and rank numbers are checked
/// against the problem; completeness and the like are Legality's affair.
mlir::FailureOr<ExpandedSchedule> expandSchedule(ScheduleOp op,
                                                 const Problem &problem);

/// The family that `op` names, with its arguments and defaults; fails where
/// there is no such family or it takes no such arguments. `op` names one.
mlir::FailureOr<FamilyChoice> chooseFamily(ScheduleOp op);

/// A choice as an attribute.
FamilyAttr familyAttrOf(const FamilyChoice &choice, mlir::MLIRContext *context);

/// The origin of a schedule: `kfkb:k=2`, or the part of a search that found it;
/// empty if it was written by hand.
mlir::FailureOr<std::string> familyText(ScheduleOp op);

/// Replaces the body of `op` by the schedule, rolled into loops. Stages are
/// those of its plan, in order. Where iterations overlap the schedule is a
/// window's; fails where its order does not repeat.
///
/// With `before`, the schedule is that of the body that is replaced, perhaps
/// with more actions: ops keep their locations, fused where several roll into
/// one, and their attributes. Loops have no attributes that could be kept, see
/// checkLoopsHaveNoAttributes(). Without it, all ops have the location of `op`.
mlir::LogicalResult foldSchedule(const Schedule &schedule, ScheduleOp op,
                                 const ExpandedSchedule *before = nullptr);

/// Refuses attributes of the loops in a schedule or a program: loops are
/// written again from what is in them.
mlir::LogicalResult checkLoopsHaveNoAttributes(mlir::Operation *order);

struct ExpandedProgram {
  Program program;
  /// The action of each op of its ranks, apart from the index.
  llvm::DenseMap<mlir::Operation *, Action> actions;
};

/// Unrolls all ranks; reads collectives, pools and places. `problem` is the
/// one that the program executes: of one rank for a sequential program. Its
/// edges give sends and receives their numbers. A program without `arena` has
/// no places and no arenaBytes.
mlir::FailureOr<ExpandedProgram> expandProgram(ProgramOp op,
                                               const Problem &problem);
/// The op that writes each action, by position in the order's array, of a
/// program that can be expanded. Only errors need it, and it takes as much
/// memory as the order.
std::vector<mlir::Operation *> writersOf(ProgramOp op, const Problem &problem);

/// Makes a program of `schedule` without a body, which foldProgram() then has
/// to write, at the builder's insertion point.
ProgramOp createProgram(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::StringRef name, ScheduleOp schedule,
                        ProgramKind kind);
/// Replaces the body of `op` and its arena by the program. All other attributes
/// stay. Ops have the locations and attributes of the ops that are replaced or,
/// if `op` has no body yet, of the tasks of its schedule. Several threads may
/// write programs of a module at once.
void foldProgram(const Program &program, const Problem &problem, ProgramOp op);
/// Replaces the sizes of the arenas of `op` by the program's.
void setArenas(const Program &program, ProgramOp op);
/// Replaces the arena of `op`, its pools and its places by the program's. The
/// order and the collectives are those that it has.
void placeProgram(const Program &program, const Problem &problem, ProgramOp op);

/// Reports a broken rule at the op that breaks it, with notes at the other
/// parties.
mlir::InFlightDiagnostic emitFault(const Fault &fault,
                                   const ExpandedSchedule &expanded,
                                   const Problem &problem, ScheduleOp op);
/// `problem` is the one that was checked: it executes the program, which `op`
/// has been expanded to.
mlir::InFlightDiagnostic emitFault(const Fault &fault, const Program &program,
                                   const Problem &problem, ProgramOp op);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_BRIDGE_H
