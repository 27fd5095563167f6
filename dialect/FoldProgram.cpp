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

/// Writes the body of a program.
class Folder {
public:
  Folder(OpBuilder &builder, Location loc, ScheduleOp schedule,
         const Program &program, const Problem &problem)
      : builder(builder), loc(loc), program(program), problem(problem),
        messages(problem), names(schedule.lookupPlan(), problem.replicas) {}

  void write(ProgramOp op, const Origins &origins);
  void writeMemory();

private:
  Operation *writeAction(OpBuilder &inner, Location at, int32_t rank,
                         Action action, AffineMapAttr map,
                         ValueRange indices) const;

  /// `@c0` is the first collective, `@p0` the first pool.
  FlatSymbolRefAttr nameOfCollective(int64_t number) const {
    return FlatSymbolRefAttr::get(loc.getContext(),
                                  ("c" + Twine(number)).str());
  }
  FlatSymbolRefAttr nameOfPool(int64_t number) const {
    return FlatSymbolRefAttr::get(loc.getContext(),
                                  ("p" + Twine(number)).str());
  }

  OpBuilder &builder;
  Location loc;
  const Program &program;
  const Problem &problem;
  const MessageNumbers messages;
  const ReplicaNames names;
};

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
    PoolOp::create(builder, loc, nameOfPool(number).getAttr(), pool.rank,
                   isStaging ? builder.getUnitAttr() : UnitAttr(),
                   PoolAttr::get(builder.getContext(), pool.offset,
                                 pool.slotBytes, pool.slots));
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
    PlaceOp::create(
        builder, loc, static_cast<Buffer>(buffer.kind),
        names.stageOf(buffer.replica),
        names.indexOf(buffer.replica, program.pools[place.pool].rank), peer,
        nameOfPool(place.pool), builder.getDenseI32ArrayAttr(place.slotOf));
  }
}

void Folder::write(ProgramOp op, const Origins &origins) {
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  for (auto [number, collective] : llvm::enumerate(program.collectives))
    writeCollective(builder, loc, nameOfCollective(number).getAttr(),
                    collective, names);
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
                           kind, DenseI64ArrayAttr());
}

static void setArena(const Program &program, ProgramOp op) {
  op.setArenaAttr(
      program.arenaBytes.empty()
          ? DenseI64ArrayAttr()
          : DenseI64ArrayAttr::get(op.getContext(), program.arenaBytes));
}

void rondo::pipe::placeProgram(const Program &program, const Problem &problem,
                               ProgramOp op) {
  OpBuilder builder(op.getContext());
  setArena(program, op);
  Block &body = op.getBody().front();
  for (Operation &inner : llvm::make_early_inc_range(body))
    if (isa<PoolOp, PlaceOp>(inner))
      inner.erase();
  builder.setInsertionPoint(&body, llvm::find_if(body, [](Operation &inner) {
    return !isa<CollectiveOp>(inner);
  }));
  Folder(builder, op.getLoc(), op.lookupSchedule(), program, problem)
      .writeMemory();
}

void rondo::pipe::foldProgram(const Program &program, const Problem &problem,
                              ProgramOp op) {
  OpBuilder builder(op.getContext());
  const Origins origins = originsOf(op, problem);
  // The ops in it are origins.
  Region before;
  before.takeBody(op.getBody());
  setArena(program, op);
  Folder(builder, op.getLoc(), op.lookupSchedule(), program, problem)
      .write(op, origins);
}
