//===- BridgeProgram.cpp - Programs to values and back --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/Loops.h"
#include "schedule/BufferNumbers.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

Message messageOf(const Edge &edge) {
  return static_cast<Message>(edge.message());
}

/// Numbers of edges by the messages that they carry.
class MessageNumbers {
public:
  explicit MessageNumbers(const Problem &problem) : problem(problem) {
    for (auto [number, edge] : llvm::enumerate(problem.edges))
      numbers[{edge.from, messageOf(edge)}].push_back(
          static_cast<int32_t>(number));
  }
  /// All edges with such a message of a stage.
  ArrayRef<int32_t> of(int32_t stage, Message message) const {
    auto it = numbers.find({stage, message});
    return it == numbers.end() ? ArrayRef<int32_t>() : it->second;
  }
  bool isOneOfSeveral(const Edge &edge) const {
    return of(edge.from, messageOf(edge)).size() > 1;
  }

private:
  const Problem &problem;
  std::map<std::pair<int32_t, Message>, SmallVector<int32_t, 2>> numbers;
};

class Expander {
public:
  Expander(ProgramOp op, const Problem &problem)
      : op(op), problem(problem), plan(op.lookupPlan()),
        numbers(stageNumbers(plan)), messages(problem) {}

  FailureOr<ExpandedProgram> run();

private:
  FailureOr<Action> prototype(Operation *inner);
  FailureOr<int32_t> edgeOf(Operation *inner, FlatSymbolRefAttr stage);
  void readCollectives(Program &program);
  LogicalResult readMemory(Program &program);

  /// -1 where the plan has no such stage.
  int32_t numberOf(FlatSymbolRefAttr stage) const {
    auto it = numbers.find(stage.getAttr());
    return it == numbers.end() ? -1 : it->second;
  }

  ProgramOp op;
  const Problem &problem;
  PlanOp plan;
  DenseMap<StringAttr, int32_t> numbers;
  MessageNumbers messages;
};

FailureOr<Action> Expander::prototype(Operation *inner) {
  if (auto reduce = dyn_cast<AllReduceOp>(inner))
    return Action(ActionKind::AllReduce, reduce.getCollective(), 0);
  if (auto await = dyn_cast<AwaitOp>(inner))
    return Action(ActionKind::Await, await.getCollective(), 0);
  if (auto step = dyn_cast<StepOp>(inner))
    return stepOf(step, numbers);
  auto task = cast<TaskOpInterface>(inner);
  int32_t stage = numbers.lookup(task.getStageAttr().getAttr());
  if (traitsOf(task.getActionKind()).subject != Subject::Edge)
    return Action(task.getActionKind(), stage, 0);
  FailureOr<int32_t> edge = edgeOf(inner, task.getStageAttr());
  if (failed(edge))
    return failure();
  return Action(task.getActionKind(), *edge, 0);
}

/// The edge that a send's or receive's message goes along.
FailureOr<int32_t> Expander::edgeOf(Operation *inner, FlatSymbolRefAttr stage) {
  auto send = dyn_cast<SendOp>(inner);
  auto recv = dyn_cast<RecvOp>(inner);
  const Message message = send ? send.getMessage() : recv.getMessage();
  const FlatSymbolRefAttr receiver =
      send ? send.getReceiverAttr() : recv.getReceiverAttr();
  const ArrayRef<int32_t> edges =
      messages.of(numbers.lookup(stage.getAttr()), message);
  if (!receiver && edges.size() == 1)
    return edges.front();
  for (int32_t edge : edges)
    if (receiver && problem.edges[edge].to == numberOf(receiver))
      return edge;
  InFlightDiagnostic error = inner->emitError();
  if (!receiver && edges.size() > 1)
    error << edges.size() << " stages need the " << stringifyMessage(message)
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

void Expander::readCollectives(Program &program) {
  for (CollectiveOp inner : op.getCollectives()) {
    Collective collective;
    collective.kind = static_cast<rondo::CollectiveKind>(inner.getKind());
    collective.ns = inner.getNs();
    collective.tensor = inner.getTensor().value_or("").str();
    for (auto stage : inner.getStages().getAsRange<FlatSymbolRefAttr>())
      collective.homes.push_back(numbers.lookup(stage.getAttr()));
    program.collectives.push_back(std::move(collective));
  }
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
  const BufferNumbers buffers(problem);
  program.places.resize(buffers.count());
  for (PlaceOp inner : op.getPlaces()) {
    const int32_t stage = numbers.lookup(inner.getStageAttr().getAttr());
    int32_t number = buffers.of(problem.homes.numberOf(stage),
                                static_cast<BufferKind>(inner.getBuffer()));
    if (FlatSymbolRefAttr peer = inner.getPeerAttr()) {
      const int32_t other = numberOf(peer);
      auto isMeant = [&](int32_t candidate) {
        const BufferNumbers::Buffer &buffer = buffers[candidate];
        if (buffer.edge < 0 ||
            buffer.kind != static_cast<BufferKind>(inner.getBuffer()))
          return false;
        const Edge &edge = problem.edges[buffer.edge];
        return problem.homes[buffer.home].stage == stage &&
               (edge.from == stage ? edge.to : edge.from) == other;
      };
      auto all = llvm::seq<int32_t>(0, buffers.count());
      auto found = llvm::find_if(all, isMeant);
      if (found == all.end())
        return inner.emitError()
               << "stage " << inner.getStageAttr() << " has no "
               << stringifyBuffer(inner.getBuffer()) << " with stage " << peer;
      number = *found;
    } else if (buffers[number].isOneOfSeveral) {
      return inner.emitError()
             << "stage " << inner.getStageAttr() << " has several buffers of "
             << stringifyBuffer(inner.getBuffer())
             << "; add `with` to name the stage at the other end of the edge";
    }
    Place &place = program.places[number];
    place.pool = static_cast<int32_t>(inner.getPool());
    place.slotOf.assign(inner.getSlots().begin(), inner.getSlots().end());
  }
  return success();
}

FailureOr<ExpandedProgram> Expander::run() {
  ExpandedProgram result;
  readCollectives(result.program);
  if (failed(readMemory(result.program)))
    return failure();
  FailureOr<std::vector<RankOp>> ranks =
      ranksByNumber(op.getRanks(), problem.numRanks(), op);
  if (failed(ranks))
    return failure();
  auto read = [&](Operation *inner) { return prototype(inner); };
  Unroller unroller(plan, read);
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
        messages(problem), names(stageNames(schedule.lookupPlan())) {}

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
  std::vector<FlatSymbolRefAttr> names;
};

void Folder::writeAction(OpBuilder &inner, Location at, Action action,
                         AffineMapAttr map, ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const Edge &edge = problem.edges[action.subject];
    const Message message = messageOf(edge);
    const FlatSymbolRefAttr receiver =
        messages.isOneOfSeveral(edge) ? names[edge.to] : FlatSymbolRefAttr();
    if (action.kind() == ActionKind::Send)
      SendOp::create(inner, at, message, names[edge.from], map, indices,
                     receiver);
    else
      RecvOp::create(inner, at, message, names[edge.from], map, indices,
                     receiver);
    return;
  }
  case ActionKind::AllReduce:
    AllReduceOp::create(inner, at, action.subject);
    return;
  case ActionKind::Await:
    AwaitOp::create(inner, at, action.subject);
    return;
  default:
    writeTask(inner, at, action, names[action.subject], map, indices);
  }
}

void Folder::writeMemory() {
  for (auto [number, pool] : llvm::enumerate(program.pools))
    PoolOp::create(builder, loc, number, pool.rank,
                   PoolAttr::get(builder.getContext(), pool.offset,
                                 pool.slotBytes, pool.slots));
  const BufferNumbers buffers(problem);
  for (int32_t number = 0; number < int32_t(program.places.size()); ++number) {
    const Place &place = program.places[number];
    if (place.pool < 0)
      continue;
    const BufferNumbers::Buffer &buffer = buffers[number];
    const int32_t stage = problem.homes[buffer.home].stage;
    FlatSymbolRefAttr peer;
    if (buffer.isOneOfSeveral) {
      const Edge &edge = problem.edges[buffer.edge];
      peer = names[edge.from == stage ? edge.to : edge.from];
    }
    PlaceOp::create(builder, loc, static_cast<Buffer>(buffer.kind),
                    names[stage], peer, place.pool,
                    builder.getDenseI32ArrayAttr(place.slotOf));
  }
}

void Folder::write(ProgramOp op) {
  Block *body = &op.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [number, collective] : llvm::enumerate(program.collectives)) {
    SmallVector<Attribute> stages;
    for (int32_t stage : collective.homes)
      stages.push_back(names[stage]);
    CollectiveOp::create(builder, loc, number,
                         static_cast<pipe::CollectiveKind>(collective.kind),
                         collective.tensor.empty()
                             ? StringAttr()
                             : builder.getStringAttr(collective.tensor),
                         builder.getArrayAttr(stages), collective.ns);
  }
  writeMemory();
  auto write = [&](OpBuilder &inner, Location at, Action action,
                   AffineMapAttr map, ValueRange indices) {
    writeAction(inner, at, action, map, indices);
  };
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank) {
    builder.setInsertionPointToEnd(body);
    enterBody(builder, RankOp::create(builder, loc, rank));
    writeRolled(builder, loc, program.order.rank(rank), write);
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
