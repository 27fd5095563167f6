//===- BridgeTest.cpp - Values to ops and back ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding and expanding lose nothing, whatever the order.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bridge.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

using namespace rondo;
using namespace rondo::pipe;

namespace {

constexpr const char *planText = R"(
pipe.cluster @lab channels<eager, receive_slots = 3> link<latency_ns = 7> {
  pipe.device @d0 <memory_bytes = 1000>
  pipe.device @d1
  pipe.link @d1 -> @d0 <latency_ns = 1, bytes_per_us = 2>
  pipe.nic @nic0 [@d1] <bytes_per_us = 9>
  pipe.nic @nic1 [@d0] <bytes_per_us = 8, server = 3>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(16) {
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2,
    activation_bytes = 9, input_grad_frees_bytes = 5, output_bytes = 6> buffers<data = 11>
  pipe.stage @s1 [@l0] on 1 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
    activation_bytes = 1, input_grad_frees_bytes = 1, output_bytes = 1>
  pipe.stage @s2 [@l0] on 1 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
    activation_bytes = 1, input_grad_frees_bytes = 1, output_bytes = 1>
}
pipe.schedule @main of @step family<"1f1b">
)";

class Bridge : public ::testing::Test {
protected:
  Bridge() {
    context.loadDialect<PipeDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(planText, &context);
    schedule = *module->getOps<ScheduleOp>().begin();
    mlir::FailureOr<Problem> built = buildProblem(schedule.lookupPlan());
    EXPECT_TRUE(mlir::succeeded(built));
    problem = *built;
  }

  Schedule randomSchedule() {
    constexpr ActionKind tasks[] = {ActionKind::Forward, ActionKind::InputGrad,
                                    ActionKind::WeightGrad,
                                    ActionKind::Backward};
    Schedule result;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
      for (int64_t i = random() % 200; i > 0; --i)
        result.append(Action(tasks[random() % 4], random() % 3, random() % 16));
      result.endRank();
    }
    return result;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ScheduleOp schedule;
  Problem problem;
  std::mt19937 random{11};
};

void expectEqual(const Schedule &left, const Schedule &right) {
  ASSERT_EQ(left.numRanks(), right.numRanks());
  for (int32_t rank = 0; rank < left.numRanks(); ++rank) {
    ASSERT_EQ(left.rank(rank).size(), right.rank(rank).size());
    for (int64_t i = 0; i < left.rank(rank).size(); ++i)
      ASSERT_TRUE(left.rank(rank)[i] == right.rank(rank)[i])
          << "rank " << rank << " at " << i;
  }
  EXPECT_TRUE(left.linkOrders == right.linkOrders);
}

TEST_F(Bridge, PlanBecomesProblem) {
  EXPECT_EQ(problem.name, "step");
  EXPECT_EQ(problem.microbatches, 16);
  EXPECT_EQ(problem.memoryCaps, (std::vector<int64_t>{1000, noMemoryCap}));
  EXPECT_EQ(problem.rankOf(2), 1);
  EXPECT_EQ(problem.cost(0, ActionKind::Backward).ns, 6);
  EXPECT_EQ(problem.cost(0, ActionKind::InputGrad).releaseBytes, 5);
  EXPECT_EQ(problem.edges.size(), 4u);
  EXPECT_EQ(problem.edges[0].bytes, 6);
  EXPECT_EQ(problem.linkBetween(0, 1).latencyNs, 7);
  EXPECT_EQ(problem.linkBetween(1, 0).bytesPerUs, 2);
  EXPECT_EQ(problem.linkBetween(0, 1).bytesPerUs, 8);
  EXPECT_EQ(problem.nics.bytesPerUs, (std::vector<int64_t>{9, 8}));
  EXPECT_EQ(problem.nics.ofRank, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(problem.nics.servers, (std::vector<int32_t>{-1, 3}));
  EXPECT_EQ(problem.channels.protocol, rondo::Protocol::Eager);
  EXPECT_EQ(problem.channels.receiveSlots, 3);
  std::vector<ReplicaBuffers> buffers = replicaBuffers(schedule.lookupPlan());
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_EQ(buffers[0][static_cast<int>(BufferKind::Data)], 11);
  EXPECT_EQ(buffers[1], ReplicaBuffers{});
}

TEST_F(Bridge, SchedulesAreLossless) {
  for (int round = 0; round < 50; ++round) {
    Schedule value = randomSchedule();
    for (int64_t i = random() % 30; i > 0; --i)
      value.linkOrders[{0, 1}].push_back(
          Action(ActionKind::Forward, random() % 3, random() % 16));
    ASSERT_TRUE(mlir::succeeded(foldSchedule(value, schedule)));
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    mlir::FailureOr<ExpandedSchedule> again = expandSchedule(schedule, problem);
    ASSERT_TRUE(mlir::succeeded(again));
    expectEqual(value, again->schedule);
    ASSERT_EQ(static_cast<int64_t>(again->opOf.size()), value.numActions());
  }
}

TEST_F(Bridge, ProgramsAreLossless) {
  Program value;
  value.collectives = {{rondo::CollectiveKind::TiedGradients, "wte", {0, 2}},
                       {rondo::CollectiveKind::GradientNorm, "", {0, 1, 2}}};
  value.pools = {{0, 0, 64, 3}, {1, 128, 8, 1}};
  value.arenaBytes = {192, 136};
  value.places.resize(3 * numBufferKinds);
  value.place(0, BufferKind::Output) = {0, {2, 0, 1}};
  value.place(2, BufferKind::Weights) = {1, {0}};
  constexpr ActionKind kinds[] = {ActionKind::Forward, ActionKind::Backward,
                                  ActionKind::Send, ActionKind::Recv};
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    for (int64_t i = 0; i < 150; ++i)
      value.order.append(
          Action(kinds[random() % 4], random() % 3, random() % 16));
    value.order.append(Action(ActionKind::AllReduce, 1, 0));
    value.order.append(Action(ActionKind::Step, 2, 0));
    value.order.endRank();
  }
  mlir::OpBuilder builder(&context);
  builder.setInsertionPointToEnd(module->getBody());
  ProgramOp op = createProgram(builder, schedule.getLoc(), "lowered", schedule,
                               ProgramKind::Pipeline);
  foldProgram(value, problem, op);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  mlir::FailureOr<ExpandedProgram> again = expandProgram(op, problem);
  ASSERT_TRUE(mlir::succeeded(again));
  expectEqual(value.order, again->program.order);
  EXPECT_EQ(again->program.arenaBytes, value.arenaBytes);
  ASSERT_EQ(again->program.collectives.size(), 2u);
  EXPECT_EQ(again->program.collectives[0].tensor, "wte");
  EXPECT_EQ(again->program.collectives[0].replicas,
            (std::vector<int32_t>{0, 2}));
  ASSERT_EQ(again->program.pools.size(), 2u);
  EXPECT_EQ(again->program.pools[1].offset, 128);
  ASSERT_EQ(again->program.places.size(), value.places.size());
  for (size_t i = 0; i < value.places.size(); ++i) {
    EXPECT_EQ(again->program.places[i].pool, value.places[i].pool);
    EXPECT_EQ(again->program.places[i].slotOf, value.places[i].slotOf);
  }

  // Each action's op writes that action, whatever its index.
  const std::vector<mlir::Operation *> writers = writersOf(op, problem);
  ASSERT_EQ(int64_t(writers.size()), value.order.numActions());
  for (int64_t i = 0; i < value.order.numActions(); ++i) {
    const Action action = value.order.all()[i],
                 written = again->actions.lookup(writers[i]);
    EXPECT_EQ(written.kind(), action.kind());
    EXPECT_EQ(written.subject, action.subject);
  }

  // Other places leave the ops of the order as they are.
  value.pools = {value.pools[1]};
  value.places.assign(value.places.size(), Place());
  value.place(1, BufferKind::Output) = {0, {0}};
  value.arenaBytes = {8, 16};
  value.staging = {-1, 0};
  placeProgram(value, problem, op);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  EXPECT_EQ(writersOf(op, problem), writers);
  again = expandProgram(op, problem);
  ASSERT_TRUE(mlir::succeeded(again));
  expectEqual(value.order, again->program.order);
  EXPECT_EQ(again->program.collectives.size(), 2u);
  EXPECT_EQ(again->program.arenaBytes, value.arenaBytes);
  EXPECT_EQ(again->program.staging, value.staging);
  ASSERT_EQ(again->program.pools.size(), 1u);
  EXPECT_EQ(again->program.place(1, BufferKind::Output).pool, 0);
  EXPECT_EQ(again->program.place(0, BufferKind::Output).pool, -1);
}

} // namespace
