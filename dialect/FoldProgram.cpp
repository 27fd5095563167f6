//===- FoldProgram.cpp - Values to programs -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/CollectiveOps.h"
#include "dialect/Loops.h"
#include "dialect/MessageEnds.h"
#include "dialect/Origins.h"
#include "dialect/OverlapRules.h"
#include "schedule/model/BufferNumbers.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

/// Ops of a body that is written again. Those that are written for the same
/// collectives, pools and places keep their names, locations and attributes.
class Before {
public:
  explicit Before(ProgramOp op)
      : collectives(op.getCollectives()), pools(op.getPools()) {
    for (PlaceOp place : op.getPlaces())
      places.try_emplace(keyOf(place), place);
  }

  CollectiveOp collective(size_t number) const {
    return number < collectives.size() ? collectives[number] : CollectiveOp();
  }
  PoolOp pool(size_t number, const Pool &value) const {
    if (number >= pools.size())
      return PoolOp();
    PoolOp op = pools[number];
    const PoolAttr figures = op.getLayout();
    return op.getRank() == value.rank && figures.getOffset() == value.offset &&
                   figures.getSlotBytes() == value.slotBytes &&
                   figures.getSlots() == value.slots &&
                   op.getOnHost() == value.isOnHost
               ? op
               : PoolOp();
  }
  PlaceOp place(PlaceOp written) const { return places.lookup(keyOf(written)); }

private:
  /// The buffer of a place.
  using Key = std::tuple<int64_t, Attribute, Attribute, Attribute>;
  static Key keyOf(PlaceOp place) {
    return {static_cast<int64_t>(place.getBuffer()), place.getStageAttr(),
            place.getReplicaAttr(), place.getPeerAttr()};
  }

  SmallVector<CollectiveOp, 0> collectives;
  SmallVector<PoolOp, 0> pools;
  llvm::DenseMap<Key, PlaceOp> places;
};

/// Writes the body of a program.
class Folder {
public:
  Folder(OpBuilder &builder, Location loc, ScheduleOp schedule,
         const Program &program, const Problem &problem, const Before &before)
      : builder(builder), loc(loc), program(program), problem(problem),
        messages(problem), names(schedule.lookupPlan(), problem.replicas),
        before(before) {
    nameSymbols();
  }

  void write(ProgramOp op, const Origins &origins);
  void writeMemory();

private:
  Operation *writeAction(OpBuilder &inner, Location at, int32_t rank,
                         Action action, AffineMapAttr map,
                         ValueRange indices) const;

  void nameSymbols();
  FlatSymbolRefAttr nameOfCollective(int64_t number) const {
    return FlatSymbolRefAttr::get(collectiveNames[number]);
  }
  FlatSymbolRefAttr nameOfPool(int64_t number) const {
    return FlatSymbolRefAttr::get(poolNames[number]);
  }

  OpBuilder &builder;
  Location loc;
  const Program &program;
  const Problem &problem;
  const MessageNumbers messages;
  const ReplicaNames names;
  const Before &before;
  /// Indexed by number.
  std::vector<StringAttr> collectiveNames, poolNames;
};

/// Without a name of its own, the first collective is `@c0`, the first pool
/// `@p0`, or the next number that is free.
void Folder::nameSymbols() {
  collectiveNames.resize(program.collectives.size());
  poolNames.resize(program.pools.size());
  llvm::DenseSet<StringAttr> used;
  for (auto [number, name] : llvm::enumerate(collectiveNames))
    if (CollectiveOp op = before.collective(number))
      used.insert(name = op.getSymNameAttr());
  for (auto [number, name] : llvm::enumerate(poolNames))
    if (PoolOp op = before.pool(number, program.pools[number]))
      used.insert(name = op.getSymNameAttr());
  auto nameRest = [&](std::vector<StringAttr> &all, char letter) {
    for (auto [number, name] : llvm::enumerate(all))
      for (size_t free = number; !name; ++free) {
        auto next = builder.getStringAttr(Twine(letter) + Twine(free));
        if (used.insert(next).second)
          name = next;
      }
  };
  nameRest(collectiveNames, 'c');
  nameRest(poolNames, 'p');
}

Operation *Folder::writeAction(OpBuilder &inner, Location at, int32_t rank,
                               Action action, AffineMapAttr map,
                               ValueRange indices) const {
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const Edge &edge = problem.edges[action.subject];
    MessageEnds words;
    words.kind = action.kind();
    words.rank = rank;
    words.message = messageOf(edge);
    words.stage = problem.replicas[edge.from].stage;
    FlatSymbolRefAttr receiver;
    if (messages.numReceivers(words.stage, words.message) > 1) {
      receiver = names.stageOf(edge.to);
      words.receiver = problem.replicas[edge.to].stage;
    }
    const bool isOneOfSeveral = messages.find(words).size() > 1;
    if (action.kind() == ActionKind::Send) {
      if (isOneOfSeveral)
        receiver = names.stageOf(edge.to);
      return SendOp::create(inner, at, words.message, names.stageOf(edge.from),
                            map, indices, IntegerAttr(), receiver,
                            isOneOfSeveral ? names.number(edge.to)
                                           : IntegerAttr());
    }
    return RecvOp::create(
        inner, at, words.message, names.stageOf(edge.from), map, indices,
        isOneOfSeveral ? names.number(edge.from) : IntegerAttr(), receiver,
        IntegerAttr());
  }
  case ActionKind::AllReduce:
    return IssueOp::create(inner, at, nameOfCollective(action.subject), map,
                           indices);
  case ActionKind::Await:
    return AwaitOp::create(inner, at, nameOfCollective(action.subject), map,
                           indices);
  default:
    return writeTask(inner, at, action, names.stageOf(action.subject),
                     names.indexOf(action.subject, rank), map, indices);
  }
}

void Folder::writeMemory() {
  for (auto [number, pool] : llvm::enumerate(program.pools)) {
    const bool isStaging =
        llvm::is_contained(program.staging, static_cast<int32_t>(number));
    auto written =
        PoolOp::create(builder, loc, poolNames[number], pool.rank,
                       isStaging ? builder.getUnitAttr() : UnitAttr(),
                       pool.isOnHost ? builder.getUnitAttr() : UnitAttr(),
                       PoolAttr::get(builder.getContext(), pool.offset,
                                     pool.slotBytes, pool.slots));
    if (PoolOp replaced = before.pool(number, pool))
      keepPlace(replaced, written);
  }
  const BufferNumbers buffers(problem);
  for (int32_t number = 0; number < int32_t(program.places.size()); ++number) {
    const Place &place = program.places[number];
    if (place.pool < 0)
      continue;
    const BufferNumbers::Buffer &buffer = buffers[number];
    FlatSymbolRefAttr peer;
    if (buffer.isOneOfSeveral) {
      const Edge &edge = problem.edges[buffer.edge];
      peer = names.stageOf(edge.from == buffer.replica ? edge.to : edge.from);
    }
    auto written = PlaceOp::create(
        builder, loc, static_cast<Buffer>(buffer.kind),
        names.stageOf(buffer.replica),
        names.indexOf(buffer.replica, program.pools[place.pool].rank), peer,
        nameOfPool(place.pool), builder.getDenseI32ArrayAttr(place.slotOf),
        place.spans.empty() ? DenseI32ArrayAttr()
                            : builder.getDenseI32ArrayAttr(place.spans));
    if (PlaceOp replaced = before.place(written))
      keepPlace(replaced, written);
  }
}

void Folder::write(ProgramOp op, const Origins &origins) {
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  for (auto [number, collective] : llvm::enumerate(program.collectives)) {
    CollectiveOp written = writeCollective(
        builder, loc, collectiveNames[number], collective, names);
    if (CollectiveOp replaced = before.collective(number))
      keepPlace(replaced, written);
  }
  writeMemory();
  auto write = [&](OpBuilder &inner, Location at, int32_t rank, Action action,
                   AffineMapAttr map, ValueRange indices) {
    return writeAction(inner, at, rank, action, map, indices);
  };
  std::optional<Repeating> repeating;
  if (overlaps(op)) {
    auto found = findRepetition(program.order, problem.iterations,
                                problem.microbatchesEach());
    // Without a repetition, verifying says what is wrong.
    if (found)
      repeating = std::move(*found);
  }
  if (repeating)
    writeRepeatingRanks(builder, origins, *repeating,
                        problem.microbatchesEach(), write);
  else
    writeRanks(builder, origins, program.order, write);
}

} // namespace

ProgramOp rondo::pipe::createProgram(OpBuilder &builder, Location loc,
                                     StringRef name, ScheduleOp schedule,
                                     ProgramKind kind) {
  return ProgramOp::create(builder, loc, builder.getStringAttr(name),
                           FlatSymbolRefAttr::get(schedule.getSymNameAttr()),
                           kind, DenseI64ArrayAttr(), DenseI64ArrayAttr());
}

void rondo::pipe::setArenas(const Program &program, ProgramOp op) {
  auto attr = [&](const std::vector<int64_t> &bytes) {
    return bytes.empty() ? DenseI64ArrayAttr()
                         : DenseI64ArrayAttr::get(op.getContext(), bytes);
  };
  op.setArenaAttr(attr(program.arenaBytes));
  op.setHostArenaAttr(attr(program.hostArenaBytes));
}

void rondo::pipe::placeProgram(const Program &program, const Problem &problem,
                               ProgramOp op) {
  OpBuilder builder(op.getContext());
  setArenas(program, op);
  Block &body = op.getBody().front();
  const Before before(op);
  Folder folder(builder, op.getLoc(), op.lookupSchedule(), program, problem,
                before);
  SmallVector<Operation *> replaced;
  for (Operation &inner : llvm::make_early_inc_range(body))
    if (isa<PoolOp, PlaceOp>(inner)) {
      inner.remove();
      replaced.push_back(&inner);
    }
  builder.setInsertionPoint(&body, llvm::find_if(body, [](Operation &inner) {
    return !isa<CollectiveOp>(inner);
  }));
  folder.writeMemory();
  for (Operation *inner : replaced)
    inner->destroy();
}

void rondo::pipe::foldProgram(const Program &program, const Problem &problem,
                              ProgramOp op) {
  OpBuilder builder(op.getContext());
  const Origins origins = originsOf(op, problem);
  const Before before(op);
  // The ops in it are origins.
  Region body;
  body.takeBody(op.getBody());
  setArenas(program, op);
  Folder(builder, op.getLoc(), op.lookupSchedule(), program, problem, before)
      .write(op, origins);
}
