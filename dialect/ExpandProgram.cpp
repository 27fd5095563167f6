//===- ExpandProgram.cpp - Programs to values -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/CollectiveOps.h"
#include "dialect/Loops.h"
#include "dialect/MessageEnds.h"
#include "dialect/OverlapRules.h"
#include "schedule/model/BufferNumbers.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

class Expander {
public:
  Expander(ProgramOp op, const Problem &problem)
      : op(op), problem(problem), plan(op.lookupPlan()),
        names(plan, problem.replicas), messages(problem) {
    for (auto [number, inner] : llvm::enumerate(op.getCollectives()))
      collectives[inner.getSymNameAttr()] = static_cast<int32_t>(number);
    for (auto [number, inner] : llvm::enumerate(op.getPools()))
      pools[inner.getSymNameAttr()] = static_cast<int32_t>(number);
  }

  FailureOr<ExpandedProgram> run();
  /// Calls `run` with the body of each rank, and `end` with its number.
  LogicalResult unroll(function_ref<LogicalResult(Unroller &, Region &)> run,
                       function_ref<void(int32_t)> end);

private:
  FailureOr<Action> prototype(Operation *inner);
  FailureOr<int32_t> edgeOf(Operation *inner, FlatSymbolRefAttr stage);
  FailureOr<int32_t> bufferOf(PlaceOp place, int32_t rank,
                              const BufferNumbers &buffers);
  LogicalResult readCollectives(Program &program);
  LogicalResult readMemory(Program &program);
  LogicalResult readCopyOrders(Schedule &order);

  ProgramOp op;
  const Problem &problem;
  PlanOp plan;
  ReplicaNames names;
  MessageNumbers messages;
  /// Numbers by name. The verifier has refused other names.
  llvm::DenseMap<StringAttr, int32_t> collectives, pools;
  llvm::DenseMap<Operation *, Action> actions;
};

FailureOr<Action> Expander::prototype(Operation *inner) {
  if (auto issue = dyn_cast<IssueOp>(inner))
    return Action(ActionKind::AllReduce,
                  collectives.lookup(issue.getCollectiveAttr().getAttr()), 0);
  if (auto await = dyn_cast<AwaitOp>(inner))
    return Action(ActionKind::Await,
                  collectives.lookup(await.getCollectiveAttr().getAttr()), 0);
  auto task = cast<ReplicaOpInterface>(inner);
  if (traitsOf(task.getActionKind()).subject != Subject::Edge)
    return actionOf(inner, names);
  FailureOr<int32_t> edge = edgeOf(inner, task.getStageAttr());
  if (failed(edge))
    return failure();
  return Action(task.getActionKind(), *edge, 0);
}

/// The edge that a send's or receive's message goes along.
FailureOr<int32_t> Expander::edgeOf(Operation *inner, FlatSymbolRefAttr stage) {
  auto send = dyn_cast<SendOp>(inner);
  auto recv = dyn_cast<RecvOp>(inner);
  MessageEnds words;
  words.kind = send ? ActionKind::Send : ActionKind::Recv;
  words.rank = executingRank(inner);
  words.message = send ? send.getMessage() : recv.getMessage();
  words.stage = std::max(0, names.stage(stage));
  words.replicaIndex = send ? send.getReplicaAttr() : recv.getReplicaAttr();
  const FlatSymbolRefAttr receiver =
      send ? send.getReceiverAttr() : recv.getReceiverAttr();
  const Message message = words.message;
  const size_t numReceivers = messages.numReceivers(words.stage, message);
  SmallVector<int32_t, 2> edges;
  if (receiver) {
    words.receiver = names.stage(receiver);
    words.receiverReplica =
        send ? send.getReceiverReplicaAttr() : recv.getReceiverReplicaAttr();
  }
  if (receiver ? words.receiver >= 0 : numReceivers == 1)
    edges = messages.find(words);
  if (edges.size() == 1)
    return edges.front();
  // Errors about messages need replicas that exist.
  if (failed(names.replica(inner, stage, words.replicaIndex, words.rank)))
    return failure();
  if (words.receiver >= 0 &&
      failed(names.replica(inner, receiver, words.receiverReplica, words.rank)))
    return failure();
  // Two replicas are named, and without them there would be a message.
  auto needs = [&](MessageEnds words) {
    words.replicaIndex = words.receiverReplica = nullptr;
    return words.receiver >= 0 && !messages.find(words).empty();
  };
  InFlightDiagnostic error = inner->emitError();
  if (edges.size() > 1) {
    const Edge &edge = problem.edges[edges.front()];
    const int32_t replica = send ? edge.to : edge.from;
    error << edges.size() << " replicas " << (send ? "take" : "send")
          << " a part of the " << stringifyMessage(message) << " of stage "
          << stage << "; name the one that this is "
          << (send ? "for, as in `to " : "from, as in `")
          << names.stageOf(replica) << ":" << problem.replicas[replica].index
          << "`";
  } else if (receiver && needs(words))
    error << "replica " << words.replicaIndex.getInt() << " of stage " << stage
          << " and replica " << words.receiverReplica.getInt() << " of stage "
          << receiver << " have no samples in common, so no "
          << stringifyMessage(message) << " goes from one to the other";
  else if (!receiver && numReceivers > 1)
    error << numReceivers << " stages need the " << stringifyMessage(message)
          << " of stage " << stage << "; add `to` to name the one this is for";
  else if (receiver)
    error << "stage " << receiver << " does not need the "
          << stringifyMessage(message) << " of stage " << stage;
  else
    error << "no other stage needs the " << stringifyMessage(message)
          << " of stage " << stage;
  error.attachNote(plan.getLoc())
      << "plan @" << plan.getSymName()
      << (plan.isChain() ? " is a chain of its stages"
                         : " says where each stage gets its input");
  return error;
}

LogicalResult Expander::readCollectives(Program &program) {
  for (CollectiveOp inner : op.getCollectives()) {
    FailureOr<Collective> collective = readCollective(inner, names);
    if (failed(collective))
      return failure();
    program.collectives.push_back(std::move(*collective));
  }
  return success();
}

LogicalResult Expander::readMemory(Program &program) {
  for (PoolOp inner : op.getPools()) {
    PoolAttr layout = inner.getLayout();
    program.pools.push_back({static_cast<int32_t>(inner.getRank()),
                             layout.getOffset(), layout.getSlotBytes(),
                             static_cast<int32_t>(layout.getSlots()),
                             inner.getOnHost()});
  }
  auto arena = op.getArena();
  if (!arena)
    return success();
  program.arenaBytes.assign(arena->begin(), arena->end());
  if (auto hostArena = op.getHostArena())
    program.hostArenaBytes.assign(hostArena->begin(), hostArena->end());
  program.staging.assign(program.arenaBytes.size(), -1);
  for (auto [number, inner] : llvm::enumerate(op.getPools())) {
    if (!inner.getStaging())
      continue;
    const auto rank = static_cast<size_t>(inner.getRank());
    if (rank >= program.staging.size())
      return inner.emitError()
             << "pool @" << inner.getSymName() << " lies on rank " << rank
             << "; there are " << program.staging.size() << " arenas";
    program.staging[rank] = static_cast<int32_t>(number);
  }
  const BufferNumbers buffers(problem);
  program.places.resize(buffers.count());
  for (PlaceOp inner : op.getPlaces()) {
    const int32_t pool = pools.lookup(inner.getPoolAttr().getAttr()),
                  rank = program.pools[pool].rank;
    FailureOr<int32_t> number = bufferOf(inner, rank, buffers);
    if (failed(number))
      return failure();
    Place &place = program.places[*number];
    if (place.pool >= 0)
      return inner.emitError()
             << "the place of " << stringifyBuffer(inner.getBuffer())
             << " of stage " << inner.getStageAttr() << " is given twice";
    place.pool = pool;
    place.slotOf.assign(inner.getSlots().begin(), inner.getSlots().end());
    if (auto spans = inner.getSpans())
      place.spans.assign(spans->begin(), spans->end());
  }
  return success();
}

FailureOr<int32_t> Expander::bufferOf(PlaceOp inner, int32_t rank,
                                      const BufferNumbers &buffers) {
  const auto kind = static_cast<BufferKind>(inner.getBuffer());
  const FailureOr<int32_t> replica =
      names.replica(inner, inner.getStageAttr(), inner.getReplicaAttr(), rank);
  if (failed(replica))
    return failure();
  const int32_t number = buffers.of(*replica, kind);
  FlatSymbolRefAttr peer = inner.getPeerAttr();
  if (!peer && buffers[number].isOneOfSeveral)
    return inner.emitError()
           << "stage " << inner.getStageAttr() << " has several buffers of "
           << stringifyBuffer(inner.getBuffer())
           << "; add `with` to name the stage at the other end of the edge";
  if (!peer)
    return number;
  const int32_t other = names.stage(peer);
  for (int32_t candidate = 0; candidate < buffers.count(); ++candidate) {
    const BufferNumbers::Buffer &buffer = buffers[candidate];
    if (buffer.edge < 0 || buffer.kind != kind || buffer.replica != *replica)
      continue;
    const Edge &edge = problem.edges[buffer.edge];
    if (problem.replicas[edge.from == *replica ? edge.to : edge.from].stage ==
        other)
      return candidate;
  }
  return inner.emitError() << "stage " << inner.getStageAttr() << " has no "
                           << stringifyBuffer(inner.getBuffer())
                           << " with stage " << peer;
}

LogicalResult
Expander::unroll(function_ref<LogicalResult(Unroller &, Region &)> run,
                 function_ref<void(int32_t)> end) {
  FailureOr<std::vector<RankOp>> ranks =
      ranksByNumber(op.getRanks(), problem.numRanks(), op);
  if (failed(ranks))
    return failure();
  auto read = [&](Operation *inner) {
    FailureOr<Action> action = prototype(inner);
    if (succeeded(action))
      actions[inner] = *action;
    return action;
  };
  Unroller unroller(plan, read);
  if (overlaps(op))
    unroller.setIterations(problem.iterations);
  for (auto [number, rank] : llvm::enumerate(*ranks)) {
    if (rank && failed(run(unroller, rank.getBody())))
      return failure();
    end(static_cast<int32_t>(number));
  }
  return success();
}

/// A pipeline keeps its schedule's orders of copies over shared host links.
LogicalResult Expander::readCopyOrders(Schedule &order) {
  if (op.getKind() != pipe::ProgramKind::Pipeline)
    return success();
  auto read = [&](Operation *inner) { return prototype(inner); };
  Unroller unroller(plan, read);
  for (CopyOrderOp copies : op.lookupSchedule().getCopyOrders()) {
    std::vector<Action> &listed =
        order.copyOrders[static_cast<int32_t>(copies.getLink())];
    if (failed(unroller.run(copies.getBody(), [&](Operation *, Action action) {
          listed.push_back(action);
        })))
      return failure();
  }
  return success();
}

FailureOr<ExpandedProgram> Expander::run() {
  ExpandedProgram result;
  result.program.resident = plan.getResident();
  if (failed(readCollectives(result.program)) ||
      failed(readMemory(result.program)))
    return failure();
  Schedule &order = result.program.order;
  // A sound program has tasks and both ends of messages.
  const int64_t most =
      problem.microbatches *
      (3 * int64_t(problem.numReplicas()) + 2 * int64_t(problem.edges.size()));
  auto end = [&](int32_t rank) {
    order.endRank();
    if (rank == 0)
      reserveLikeFirst(order, problem.numRanks(), most);
  };
  auto append = [&](Unroller &unroller, Region &body) {
    return unroller.run(body, order);
  };
  if (failed(unroll(append, end)) || failed(readCopyOrders(order)))
    return failure();
  result.actions = std::move(actions);
  return result;
}

} // namespace

FailureOr<ExpandedProgram> rondo::pipe::expandProgram(ProgramOp op,
                                                      const Problem &problem) {
  return Expander(op, problem).run();
}

std::vector<Operation *> rondo::pipe::writersOf(ProgramOp op,
                                                const Problem &problem) {
  std::vector<Operation *> writers;
  forEachAction(op, problem, [&](int32_t, Operation *inner, Action) {
    writers.push_back(inner);
  });
  return writers;
}

void rondo::pipe::forEachAction(
    ProgramOp op, const Problem &problem,
    function_ref<void(int32_t, Operation *, Action)> visit) {
  int32_t rank = 0;
  auto visitBody = [&](Unroller &unroller, Region &body) {
    return unroller.run(body, [&](Operation *inner, Action action) {
      visit(rank, inner, action);
    });
  };
  const LogicalResult unrolled =
      Expander(op, problem).unroll(visitBody, [&](int32_t done) {
        rank = done + 1;
      });
  assert(succeeded(unrolled) && "it has been expanded");
  (void)unrolled;
}
