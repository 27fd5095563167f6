//===- BridgeProgram.cpp - Programs to values and back --------------------===//

#include "dialect/Bridge.h"
#include "dialect/Loops.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

/// Numbers of edges by the message that they carry.
class MessageNumbers {
public:
  explicit MessageNumbers(const Problem &problem) {
    for (auto [number, edge] : llvm::enumerate(problem.edges))
      numbers.try_emplace({edge.from, messageOf(edge)},
                          static_cast<int32_t>(number));
  }
  static Message messageOf(const Edge &edge) {
    return static_cast<Message>(edge.message());
  }
  /// -1 where no other stage needs such a message.
  int32_t lookup(int32_t stage, Message message) const {
    auto it = numbers.find({stage, message});
    return it == numbers.end() ? -1 : it->second;
  }

private:
  std::map<std::pair<int32_t, Message>, int32_t> numbers;
};

class Expander {
public:
  Expander(ProgramOp op, const Problem &problem)
      : op(op), problem(problem), plan(op.lookupPlan()),
        numbers(stageNumbers(plan)), messages(problem) {}

  FailureOr<ExpandedProgram> run();

private:
  FailureOr<Action> prototype(Operation *inner);
  void readCollectives(Program &program);
  void readMemory(Program &program);

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
    return Action(ActionKind::Step,
                  numbers.lookup(step.getStageAttr().getAttr()), 0);
  auto task = cast<TaskOpInterface>(inner);
  int32_t stage = numbers.lookup(task.getStageAttr().getAttr());
  if (traitsOf(task.getActionKind()).subject != Subject::Edge)
    return Action(task.getActionKind(), stage, 0);
  auto send = dyn_cast<SendOp>(inner);
  Message message = send ? send.getMessage() : cast<RecvOp>(inner).getMessage();
  int32_t edge = messages.lookup(stage, message);
  if (edge < 0)
    return inner->emitError()
               .append("no other stage needs the ", stringifyMessage(message),
                       " of stage ", task.getStageAttr())
               .attachNote(plan.getLoc())
           << "plan @" << plan.getSymName() << " is a chain of its stages";
  return Action(task.getActionKind(), edge, 0);
}

void Expander::readCollectives(Program &program) {
  for (CollectiveOp inner : op.getCollectives()) {
    Collective collective;
    collective.kind = static_cast<rondo::CollectiveKind>(inner.getKind());
    collective.ns = inner.getNs();
    collective.tensor = inner.getTensor().value_or("").str();
    for (auto stage : inner.getStages().getAsRange<FlatSymbolRefAttr>())
      collective.stages.push_back(numbers.lookup(stage.getAttr()));
    program.collectives.push_back(std::move(collective));
  }
}

void Expander::readMemory(Program &program) {
  for (PoolOp inner : op.getPools()) {
    PoolAttr layout = inner.getLayout();
    program.pools.push_back({static_cast<int32_t>(inner.getRank()),
                             layout.getOffset(), layout.getSlotBytes(),
                             static_cast<int32_t>(layout.getSlots())});
  }
  auto arena = op.getArena();
  if (!arena)
    return;
  program.arenaBytes.assign(arena->begin(), arena->end());
  program.placements.resize(problem.homes.size() * numBufferKinds);
  for (PlaceOp inner : op.getPlaces()) {
    Placement &place = program.placement(
        problem.homes.numberOf(numbers.lookup(inner.getStageAttr().getAttr())),
        static_cast<BufferKind>(inner.getBuffer()));
    place.pool = static_cast<int32_t>(inner.getPool());
    place.slotOf.assign(inner.getSlots().begin(), inner.getSlots().end());
  }
}

FailureOr<ExpandedProgram> Expander::run() {
  ExpandedProgram result;
  readCollectives(result.program);
  readMemory(result.program);
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
        names(stageNames(schedule.lookupPlan())) {}

  void write(ProgramOp op);

private:
  void writeMemory();
  void writeAction(OpBuilder &inner, Location at, Action action,
                   AffineMapAttr map, ValueRange indices);

  OpBuilder &builder;
  Location loc;
  const Program &program;
  const Problem &problem;
  std::vector<FlatSymbolRefAttr> names;
};

void Folder::writeAction(OpBuilder &inner, Location at, Action action,
                         AffineMapAttr map, ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const Edge &edge = problem.edges[action.stage];
    Message message = MessageNumbers::messageOf(edge);
    if (action.kind() == ActionKind::Send)
      SendOp::create(inner, at, message, names[edge.from], map, indices);
    else
      RecvOp::create(inner, at, message, names[edge.from], map, indices);
    return;
  }
  case ActionKind::AllReduce:
    AllReduceOp::create(inner, at, action.stage);
    return;
  case ActionKind::Await:
    AwaitOp::create(inner, at, action.stage);
    return;
  case ActionKind::Step:
    StepOp::create(inner, at, names[action.stage]);
    return;
  default:
    writeTask(inner, at, action, names[action.stage], map, indices);
  }
}

void Folder::writeMemory() {
  for (auto [number, pool] : llvm::enumerate(program.pools))
    PoolOp::create(builder, loc, number, pool.rank,
                   PoolAttr::get(builder.getContext(), pool.offset,
                                 pool.slotBytes, pool.slots));
  for (size_t i = 0; i < program.placements.size(); ++i) {
    const Placement &place = program.placements[i];
    if (place.pool >= 0)
      PlaceOp::create(builder, loc, static_cast<Buffer>(i % numBufferKinds),
                      names[problem.homes[i / numBufferKinds].stage],
                      place.pool, builder.getDenseI32ArrayAttr(place.slotOf));
  }
}

void Folder::write(ProgramOp op) {
  Block *body = &op.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [number, collective] : llvm::enumerate(program.collectives)) {
    SmallVector<Attribute> stages;
    for (int32_t stage : collective.stages)
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
