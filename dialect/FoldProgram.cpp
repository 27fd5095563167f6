//===- FoldProgram.cpp - Values to programs -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/CollectiveOps.h"
#include "dialect/Loops.h"
#include "dialect/MessageEnds.h"
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

  void write(ProgramOp op);
  void writeMemory();

private:
  void writeAction(OpBuilder &inner, Location at, int32_t rank, Action action,
                   AffineMapAttr map, ValueRange indices) const;

  OpBuilder &builder;
  Location loc;
  const Program &program;
  const Problem &problem;
  const MessageNumbers messages;
  const ReplicaNames names;
};

void Folder::writeAction(OpBuilder &inner, Location at, int32_t rank,
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
              names.indexOf(action.subject, rank), map, indices);
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
      peer = names.stageOf(edge.from == buffer.replica ? edge.to : edge.from);
    }
    PlaceOp::create(
        builder, loc, static_cast<Buffer>(buffer.kind),
        names.stageOf(buffer.replica),
        names.indexOf(buffer.replica, program.pools[place.pool].rank), peer,
        place.pool, builder.getDenseI32ArrayAttr(place.slotOf));
  }
}

void Folder::write(ProgramOp op) {
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  for (auto [number, collective] : llvm::enumerate(program.collectives))
    writeCollective(builder, loc, number, collective, names);
  writeMemory();
  auto write = [&](OpBuilder &inner, Location at, int32_t rank, Action action,
                   AffineMapAttr map, ValueRange indices) {
    writeAction(inner, at, rank, action, map, indices);
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
    writeRepeatingRanks(builder, loc, *repeating, problem.microbatchesEach(),
                        write);
  else
    writeRanks(builder, loc, program.order, write);
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
    if (isa<PoolOp, StagingOp, PlaceOp>(inner))
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
  setArena(program, op);
  op.getBody().getBlocks().clear();
  Folder(builder, op.getLoc(), op.lookupSchedule(), program, problem).write(op);
}
