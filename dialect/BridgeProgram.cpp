//===- BridgeProgram.cpp - Programs to values and back --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/CollectiveOps.h"
#include "dialect/Loops.h"
#include "dialect/MessageWords.h"
#include "schedule/BufferNumbers.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Whether the program runs iterations that overlap.
static bool overlaps(ProgramOp op) {
  return op.getKind() == pipe::ProgramKind::Pipeline &&
         op.lookupSchedule().overlaps();
}

namespace {

class Expander {
public:
  Expander(ProgramOp op, const Problem &problem)
      : op(op), problem(problem), plan(op.lookupPlan()),
        names(plan, problem.homes), messages(problem) {}

  FailureOr<ExpandedProgram> run();

private:
  FailureOr<Action> prototype(Operation *inner);
  FailureOr<int32_t> edgeOf(Operation *inner, FlatSymbolRefAttr stage);
  FailureOr<int32_t> bufferOf(PlaceOp place, int32_t rank,
                              const BufferNumbers &buffers);
  LogicalResult readCollectives(Program &program);
  LogicalResult readMemory(Program &program);

  ProgramOp op;
  const Problem &problem;
  PlanOp plan;
  HomeNames names;
  MessageNumbers messages;
};

FailureOr<Action> Expander::prototype(Operation *inner) {
  if (auto reduce = dyn_cast<AllReduceOp>(inner))
    return Action(ActionKind::AllReduce, reduce.getCollective(), 0);
  if (auto await = dyn_cast<AwaitOp>(inner))
    return Action(ActionKind::Await, await.getCollective(), 0);
  auto task = dyn_cast<TaskOpInterface>(inner);
  if (!task || traitsOf(task.getActionKind()).subject != Subject::Edge)
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
  MessageWords words;
  words.kind = send ? ActionKind::Send : ActionKind::Recv;
  words.rank = executingRank(inner);
  words.message = send ? send.getMessage() : recv.getMessage();
  words.stage = std::max(0, names.stage(stage));
  words.replica = send ? send.getReplicaAttr() : recv.getReplicaAttr();
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
  // The homes must exist before anything is said of their messages.
  if (failed(names.home(inner, stage, words.replica, words.rank)))
    return failure();
  if (words.receiver >= 0 &&
      failed(names.home(inner, receiver, words.receiverReplica, words.rank)))
    return failure();
  // Two homes are named, and without them there would be a message.
  auto needs = [&](MessageWords words) {
    words.replica = words.receiverReplica = nullptr;
    return words.receiver >= 0 && !messages.find(words).empty();
  };
  InFlightDiagnostic error = inner->emitError();
  if (edges.size() > 1) {
    const Edge &edge = problem.edges[edges.front()];
    const int32_t home = send ? edge.to : edge.from;
    error << edges.size() << " homes " << (send ? "take" : "send")
          << " a part of the " << stringifyMessage(message) << " of stage "
          << stage << "; name the one that this is "
          << (send ? "for, as in `to " : "from, as in `") << names.stageOf(home)
          << ":" << problem.homes[home].replica << "`";
  } else if (receiver && needs(words))
    error << "home " << words.replica.getInt() << " of stage " << stage
          << " and home " << words.receiverReplica.getInt() << " of stage "
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
                             static_cast<int32_t>(layout.getSlots())});
  }
  auto arena = op.getArena();
  if (!arena)
    return success();
  program.arenaBytes.assign(arena->begin(), arena->end());
  program.staging.assign(program.arenaBytes.size(), -1);
  for (StagingOp inner : op.getStagings()) {
    const size_t rank = program.pools[inner.getPool()].rank;
    if (rank >= program.staging.size())
      return inner.emitError()
             << "pool " << inner.getPool() << " lies on rank " << rank
             << "; there are " << program.staging.size() << " arenas";
    program.staging[rank] = static_cast<int32_t>(inner.getPool());
  }
  const BufferNumbers buffers(problem);
  program.places.resize(buffers.count());
  for (PlaceOp inner : op.getPlaces()) {
    const int32_t rank = program.pools[inner.getPool()].rank;
    FailureOr<int32_t> number = bufferOf(inner, rank, buffers);
    if (failed(number))
      return failure();
    Place &place = program.places[*number];
    if (place.pool >= 0)
      return inner.emitError()
             << "the place of " << stringifyBuffer(inner.getBuffer())
             << " of stage " << inner.getStageAttr() << " is given twice";
    place.pool = static_cast<int32_t>(inner.getPool());
    place.slotOf.assign(inner.getSlots().begin(), inner.getSlots().end());
  }
  return success();
}

FailureOr<int32_t> Expander::bufferOf(PlaceOp inner, int32_t rank,
                                      const BufferNumbers &buffers) {
  const auto kind = static_cast<BufferKind>(inner.getBuffer());
  const FailureOr<int32_t> home =
      names.home(inner, inner.getStageAttr(), inner.getReplicaAttr(), rank);
  if (failed(home))
    return failure();
  const int32_t number = buffers.of(*home, kind);
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
    if (buffer.edge < 0 || buffer.kind != kind || buffer.home != *home)
      continue;
    const Edge &edge = problem.edges[buffer.edge];
    if (problem.homes[edge.from == *home ? edge.to : edge.from].stage == other)
      return candidate;
  }
  return inner.emitError() << "stage " << inner.getStageAttr() << " has no "
                           << stringifyBuffer(inner.getBuffer())
                           << " with stage " << peer;
}

FailureOr<ExpandedProgram> Expander::run() {
  ExpandedProgram result;
  result.program.resident = plan.getResident();
  if (failed(readCollectives(result.program)) ||
      failed(readMemory(result.program)))
    return failure();
  FailureOr<std::vector<RankOp>> ranks =
      ranksByNumber(op.getRanks(), problem.numRanks(), op);
  if (failed(ranks))
    return failure();
  auto read = [&](Operation *inner) { return prototype(inner); };
  Unroller unroller(plan, read);
  if (overlaps(op))
    unroller.setIterations(problem.iterations);
  auto take = [&](Operation *inner, Action action) {
    result.program.order.append(action);
    result.opOf.push_back(inner);
  };
  for (RankOp rank : *ranks) {
    if (rank && failed(unroller.run(rank.getBody(), take)))
      return failure();
    result.program.order.endRank();
  }
  return result;
}

/// Writes the body of a program.
class Folder {
public:
  Folder(OpBuilder &builder, Location loc, ScheduleOp schedule,
         const Program &program, const Problem &problem)
      : builder(builder), loc(loc), program(program), problem(problem),
        messages(problem), names(schedule.lookupPlan(), problem.homes) {}

  void write(ProgramOp op);

private:
  void writeMemory();
  void writeAction(OpBuilder &inner, Location at, Action action,
                   AffineMapAttr map, ValueRange indices);

  OpBuilder &builder;
  Location loc;
  const Program &program;
  const Problem &problem;
  const MessageNumbers messages;
  const HomeNames names;
  /// Whose order is being written.
  int32_t rank = 0;
};

void Folder::writeAction(OpBuilder &inner, Location at, Action action,
                         AffineMapAttr map, ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const Edge &edge = problem.edges[action.subject];
    MessageWords words;
    words.kind = action.kind();
    words.rank = rank;
    words.message = messageOf(edge);
    words.stage = problem.homes[edge.from].stage;
    FlatSymbolRefAttr receiver;
    if (messages.numReceivers(words.stage, words.message) > 1) {
      receiver = names.stageOf(edge.to);
      words.receiver = problem.homes[edge.to].stage;
    }
    const bool isOneOfSeveral = messages.find(words).size() > 1;
    if (action.kind() == ActionKind::Send) {
      if (isOneOfSeveral)
        receiver = names.stageOf(edge.to);
      SendOp::create(inner, at, words.message, names.stageOf(edge.from), map,
                     indices, IntegerAttr(), receiver,
                     isOneOfSeveral ? names.number(edge.to) : IntegerAttr());
    } else {
      RecvOp::create(inner, at, words.message, names.stageOf(edge.from), map,
                     indices,
                     isOneOfSeveral ? names.number(edge.from) : IntegerAttr(),
                     receiver, IntegerAttr());
    }
    return;
  }
  case ActionKind::AllReduce:
    AllReduceOp::create(inner, at, int64_t(action.subject), map, indices);
    return;
  case ActionKind::Await:
    AwaitOp::create(inner, at, int64_t(action.subject), map, indices);
    return;
  default:
    writeTask(inner, at, action, names.stageOf(action.subject),
              names.replicaOf(action.subject, rank), map, indices);
  }
}

void Folder::writeMemory() {
  for (auto [number, pool] : llvm::enumerate(program.pools))
    PoolOp::create(builder, loc, number, pool.rank,
                   PoolAttr::get(builder.getContext(), pool.offset,
                                 pool.slotBytes, pool.slots));
  for (int32_t pool : program.staging)
    if (pool >= 0)
      StagingOp::create(builder, loc, pool);
  const BufferNumbers buffers(problem);
  for (int32_t number = 0; number < int32_t(program.places.size()); ++number) {
    const Place &place = program.places[number];
    if (place.pool < 0)
      continue;
    const BufferNumbers::Buffer &buffer = buffers[number];
    FlatSymbolRefAttr peer;
    if (buffer.isOneOfSeveral) {
      const Edge &edge = problem.edges[buffer.edge];
      peer = names.stageOf(edge.from == buffer.home ? edge.to : edge.from);
    }
    PlaceOp::create(
        builder, loc, static_cast<Buffer>(buffer.kind),
        names.stageOf(buffer.home),
        names.replicaOf(buffer.home, program.pools[place.pool].rank), peer,
        place.pool, builder.getDenseI32ArrayAttr(place.slotOf));
  }
}

void Folder::write(ProgramOp op) {
  Block *body = &op.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [number, collective] : llvm::enumerate(program.collectives))
    writeCollective(builder, loc, number, collective, names);
  writeMemory();
  auto write = [&](OpBuilder &inner, Location at, Action action,
                   AffineMapAttr map, ValueRange indices) {
    writeAction(inner, at, action, map, indices);
  };
  std::optional<Repeating> repeating;
  if (overlaps(op)) {
    auto found = findRepetition(program.order, problem.iterations,
                                problem.microbatchesEach());
    // Without a repetition, verifying says what is wrong.
    if (auto *there = std::get_if<Repeating>(&found))
      repeating = std::move(*there);
  }
  auto enter = [&](int32_t number) {
    rank = number;
    builder.setInsertionPointToEnd(body);
    enterBody(builder, RankOp::create(builder, loc, rank));
  };
  if (!repeating)
    return writeRolledRanks(builder, loc, program.order, write,
                            [&](int32_t number, function_ref<void()> writeAll) {
                              enter(number);
                              writeAll();
                            });
  for (int32_t number = 0; number < program.order.numRanks(); ++number) {
    enter(number);
    writeRepeating(builder, loc, *repeating, number, problem.microbatchesEach(),
                   write);
  }
}

} // namespace

FailureOr<ExpandedProgram> rondo::pipe::expandProgram(ProgramOp op,
                                                      const Problem &problem) {
  return Expander(op, problem).run();
}

ProgramOp rondo::pipe::foldProgram(OpBuilder &builder, Location loc,
                                   StringRef name, ScheduleOp schedule,
                                   ProgramKind kind, const Program &program,
                                   const Problem &problem) {
  auto op = ProgramOp::create(builder, loc, builder.getStringAttr(name),
                              FlatSymbolRefAttr::get(schedule.getSymNameAttr()),
                              kind, DenseI64ArrayAttr());
  foldProgram(program, problem, op);
  return op;
}

void rondo::pipe::foldProgram(const Program &program, const Problem &problem,
                              ProgramOp op) {
  OpBuilder builder(op.getContext());
  op.setArenaAttr(program.arenaBytes.empty()
                      ? DenseI64ArrayAttr()
                      : builder.getDenseI64ArrayAttr(program.arenaBytes));
  op.getBody().getBlocks().clear();
  Folder(builder, op.getLoc(), op.lookupSchedule(), program, problem).write(op);
}
