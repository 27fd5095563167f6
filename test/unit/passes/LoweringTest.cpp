//===- LoweringTest.cpp - Messages and memory of programs -----------------===//

#include "passes/Communication.h"
#include "passes/ExposedCommunication.h"
#include "passes/MemoryPlan.h"
#include "schedule/Family.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace rondo;

namespace {

Problem linearProblem(int32_t ranks, int32_t microbatches, int64_t latencyNs,
                      int64_t outputBytes, int64_t bytesPerUs) {
  Problem problem;
  problem.name = "linear";
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t s = 0; s < ranks; ++s)
    problem.stageRanks.push_back({s});
  problem.costs.resize(ranks * numTaskKinds);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setStageCost(s, 1000, 1100, 800, 100, 0);
  problem.makeChain(std::vector<int64_t>(ranks, outputBytes));
  problem.link = {latencyNs, bytesPerUs};
  return problem;
}

std::vector<int32_t> homes(const Problem &problem) {
  std::vector<int32_t> ranks;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    ranks.push_back(problem.rankOf(s));
  return ranks;
}

std::vector<StageBuffers> stageBuffers(const Problem &problem) {
  std::vector<StageBuffers> buffers;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    bool isFirst = s == 0, isLast = s + 1 == problem.numStages();
    StageBuffers b{};
    auto set = [&](BufferKind kind, int64_t bytes) {
      b[static_cast<int>(kind)] = bytes;
    };
    set(BufferKind::Weights, 512);
    set(BufferKind::Gradients, 512);
    set(BufferKind::Moments, 1024);
    set(BufferKind::Control, 64);
    set(BufferKind::Data, isFirst || isLast ? 64 : 0);
    set(BufferKind::Workspace, 256);
    set(BufferKind::Input, isFirst ? 0 : 128);
    set(BufferKind::InputGrad, isFirst ? 0 : 128);
    set(BufferKind::Output, isLast ? 0 : 128);
    set(BufferKind::OutputGrad, isLast ? 0 : 128);
    set(BufferKind::SavedForInputGrad, 192);
    set(BufferKind::SavedForWeightGrad, 640 + 64 * (s % 2));
    buffers.push_back(b);
  }
  return buffers;
}

Schedule familySchedule(const std::string &name, const Problem &problem) {
  auto choice = parseFamily(name);
  EXPECT_TRUE(std::holds_alternative<FamilyChoice>(choice)) << name;
  FamilyResult result = generate(std::get<FamilyChoice>(choice), problem);
  EXPECT_TRUE(std::holds_alternative<Schedule>(result)) << name;
  return std::get<Schedule>(std::move(result));
}

Collective norm(const Problem &problem) {
  Collective collective;
  collective.stages.resize(problem.numStages());
  std::iota(collective.stages.begin(), collective.stages.end(), 0);
  return collective;
}

/// All rules of lowered programs; the first broken one, or nothing.
std::string broken(const Problem &problem, const Schedule &schedule,
                   const Program &program, const std::vector<int64_t> &caps) {
  for (auto found :
       {checkChannels(problem, program), checkWaitCycle(problem, program),
        checkBuffers(problem, program), checkArena(program, caps),
        checkTasks(problem, schedule, program)})
    if (found)
      return found->message;
  return "";
}

Program lower(const Problem &problem, const Schedule &schedule) {
  Simulation simulation = simulate(problem, schedule, true);
  EXPECT_TRUE(simulation.complete);
  Program program =
      insertCommunication(problem, schedule, simulation, {norm(problem)});
  EXPECT_EQ(planMemory(problem, homes(problem), problem.numRanks(),
                       stageBuffers(problem), program),
            std::nullopt);
  return program;
}

class LoweringOfFamilies : public testing::TestWithParam<const char *> {};

TEST_P(LoweringOfFamilies, IsLegalAndAsFastAsFreeCommunication) {
  for (int32_t ranks : {1, 2, 4, 7})
    for (int32_t microbatches : {1, 3, 8, 33})
      for (int64_t latency : {0, 50, 900})
        for (int64_t bytesPerUs : {0, 700})
          for (Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
            Problem problem =
                linearProblem(ranks, microbatches, latency, 128, bytesPerUs);
            problem.channels.protocol = protocol;
            Schedule schedule = familySchedule(GetParam(), problem);
            Program program = lower(problem, schedule);
            ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps),
                      "");
            ProgramSimulation lowered = simulateProgram(problem, program);
            ASSERT_TRUE(lowered.complete);
            int64_t free = simulate(problem, schedule).makespanNs;
            EXPECT_LE(lowered.makespanNs, free + free / 100)
                << ranks << " ranks, " << microbatches << " micro-batches, "
                << latency << " ns, " << bytesPerUs << " bytes/us";
          }
}

INSTANTIATE_TEST_SUITE_P(Families, LoweringOfFamilies,
                         testing::Values("gpipe", "1f1b", "kfkb:k=2",
                                         "kfkb:k=3", "zb-h1"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return name;
                         });

/// F = I = W = 1 a rank and a latency of 0.1, in 4000 ns; a chunk takes 1/v.
struct Placed {
  const char *family;
  int32_t chunks;
  bool isWave;
};

class LoweringOfPlacements : public testing::TestWithParam<Placed> {};

TEST_P(LoweringOfPlacements, IsLegalAndAsFastAsFreeCommunication) {
  const Placed &placed = GetParam();
  for (int32_t ranks : {4, 8})
    for (Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
      Problem problem =
          linearProblem(ranks * placed.chunks, 2 * ranks, 400, 128, 0);
      problem.memoryCaps.assign(ranks, noMemoryCap);
      problem.channels.protocol = protocol;
      for (int32_t s = 0; s < problem.numStages(); ++s) {
        const int32_t chunk = s / ranks, i = s % ranks;
        const bool isUp = placed.isWave && chunk % 2 == 1;
        problem.stageRanks[s] = {isUp ? ranks - 1 - i : i};
        const int64_t ns = 4000 / placed.chunks;
        problem.setStageCost(s, ns, ns, ns, 100, 0);
      }
      Schedule schedule = familySchedule(placed.family, problem);
      Program program = lower(problem, schedule);
      ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
      ProgramSimulation lowered = simulateProgram(problem, program);
      ASSERT_TRUE(lowered.complete);
      int64_t free = simulate(problem, schedule).makespanNs;
      EXPECT_LE(lowered.makespanNs, free + free / 100) << ranks << " ranks";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families, LoweringOfPlacements,
    testing::Values(Placed{"eager-1f1b", 1, false}, Placed{"zb-h2", 1, false},
                    Placed{"interleaved-1f1b", 2, false},
                    Placed{"interleaved-1f1b", 4, false},
                    Placed{"interleaved-zb", 2, false},
                    Placed{"interleaved-zb", 4, false},
                    Placed{"looped-bfs", 2, false},
                    Placed{"blockwise", 1, false},
                    Placed{"blockwise", 2, false}, Placed{"zbv", 2, true},
                    Placed{"v-half", 2, true}, Placed{"v-min", 2, true},
                    Placed{"dualpipe-v", 2, true}, Placed{"wave", 2, true},
                    Placed{"wave", 4, true}),
    [](const auto &info) {
      std::string name = info.param.family;
      for (char &c : name)
        c = std::isalnum(c) ? c : '_';
      return "f_" + name + "_" + std::to_string(info.param.chunks);
    });

TEST(Lowering, BoundedSlotsAreKept) {
  Problem problem = linearProblem(3, 12, 0, 128, 0);
  for (int32_t slots : {1, 2}) {
    problem.channels.receiveSlots = slots;
    Schedule schedule = familySchedule("gpipe", problem);
    Program program = lower(problem, schedule);
    EXPECT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
    // Never more receives of a channel posted and not consumed than slots.
    ActionRange actions = program.order.rank(1);
    int outstanding = 0;
    for (Action a : actions) {
      bool receivesActivation =
          a.kind() == ActionKind::Recv &&
          problem.edges[a.stage].producer == ActionKind::Forward;
      if (receivesActivation)
        ++outstanding;
      EXPECT_LE(outstanding, slots);
      if (a.kind() == ActionKind::Forward)
        --outstanding;
    }
  }
}

TEST(Lowering, LinkOrderDecidesSendsAndReceives) {
  Problem problem = linearProblem(2, 3, 0, 128, 1);
  Schedule schedule = familySchedule("gpipe", problem);
  schedule.linkOrders[{0, 1}] = {Action(ActionKind::Forward, 0, 1),
                                 Action(ActionKind::Forward, 0, 0),
                                 Action(ActionKind::Forward, 0, 2)};
  Program program = lower(problem, schedule);
  EXPECT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
  std::vector<int64_t> sent;
  for (Action a : program.order.rank(0))
    if (a.kind() == ActionKind::Send)
      sent.push_back(a.index);
  EXPECT_EQ(sent, (std::vector<int64_t>{1, 0, 2}));
}

TEST(Lowering, SequentialReferenceNeedsOneSlotABuffer) {
  Problem problem = linearProblem(4, 6, 100, 128, 0);
  Problem sequential = sequentialProblem(problem);
  Schedule schedule = sequentialSchedule(sequential);
  Simulation simulation = simulate(sequential, schedule, true);
  ASSERT_TRUE(simulation.complete);
  Program program =
      insertCommunication(sequential, schedule, simulation, {norm(problem)});
  ASSERT_EQ(
      planMemory(sequential, homes(problem), 4, stageBuffers(problem), program),
      std::nullopt);
  EXPECT_EQ(broken(sequential, schedule, program, problem.memoryCaps), "");
  for (int32_t s = 0; s < 4; ++s) {
    const Placement &saved =
        program.placement(s, BufferKind::SavedForWeightGrad);
    EXPECT_EQ(saved.slotOf, std::vector<int32_t>{0});
    EXPECT_EQ(program.pools[saved.pool].rank, s);
  }
  // No messages on one rank.
  for (Action a : program.order.rank(0)) {
    EXPECT_NE(a.kind(), ActionKind::Send);
    EXPECT_NE(a.kind(), ActionKind::Recv);
  }
}

TEST(Lowering, EvaluationRunsForwardOnly) {
  Problem problem = linearProblem(4, 6, 100, 128, 0);
  Schedule schedule = evaluationSchedule(problem);
  Simulation simulation = simulate(problem, schedule, true);
  ASSERT_TRUE(simulation.complete);
  Program program = insertCommunication(problem, schedule, simulation, {});
  ASSERT_EQ(
      planMemory(problem, homes(problem), 4, stageBuffers(problem), program),
      std::nullopt);
  EXPECT_EQ(checkChannels(problem, program), std::nullopt);
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
}

TEST(Lowering, ActivationSlotsAreThePeakOfTheSchedule) {
  Problem problem = linearProblem(4, 16, 0, 128, 0);
  for (const char *family : {"gpipe", "1f1b", "kfkb:k=2", "zb-h1"}) {
    Schedule schedule = familySchedule(family, problem);
    Simulation simulation = simulate(problem, schedule);
    Program program = lower(problem, schedule);
    for (int32_t r = 0; r < 4; ++r) {
      const Placement &saved =
          program.placement(r, BufferKind::SavedForWeightGrad);
      // The problem counts 100 bytes for an activation.
      EXPECT_EQ(program.pools[saved.pool].slots, simulation.peakBytes[r] / 100)
          << family << " rank " << r;
    }
  }
}

TEST(Lowering, AbsurdSizesAreAnError) {
  Problem problem = linearProblem(2, 4, 0, 128, 0);
  std::vector<StageBuffers> buffers = stageBuffers(problem);
  buffers[1][static_cast<int>(BufferKind::Weights)] = int64_t(1) << 60;
  Schedule schedule = familySchedule("1f1b", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  std::optional<std::string> wrong =
      planMemory(problem, homes(problem), 2, buffers, program);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(wrong->find("weights"), std::string::npos) << *wrong;
}

TEST(Lowering, MoreDataSlotsThanATableNamesAreAnError) {
  Problem problem = linearProblem(1, maxSlots + 1, 0, 0, 0);
  Schedule schedule = familySchedule("1f1b", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  std::vector<StageBuffers> buffers = stageBuffers(problem);
  std::optional<std::string> wrong =
      planMemory(problem, homes(problem), 1, buffers, program);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(wrong->find("65536 slots at most"), std::string::npos) << *wrong;
}

/// Tasks in random order, as far as their own rank can tell, of a chain whose
/// stages lie on random ranks.
TEST(Lowering, RandomOrdersAreLegal) {
  std::mt19937 random(7);
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  int lowered = 0;
  for (int round = 0; round < 400; ++round) {
    Problem problem =
        linearProblem(2 + upTo(3), 1 + upTo(6), upTo(400), 128, upTo(1) * 500);
    int32_t ranks = 1 + upTo(problem.numStages() - 1);
    problem.memoryCaps.assign(ranks, noMemoryCap);
    for (std::vector<int32_t> &on : problem.stageRanks)
      on = {int32_t(upTo(ranks - 1))};
    problem.channels.receiveSlots = upTo(2);
    problem.channels.protocol =
        upTo(1) ? Protocol::Eager : Protocol::Rendezvous;
    // Runs whatever is ready, at random, over all ranks: never a wait cycle.
    int32_t stages = problem.numStages(), m = problem.microbatches;
    std::vector<std::vector<Action>> orders(ranks);
    std::vector<int> forward(stages, 0), inputGrad(stages, 0),
        weightGrad(stages, 0);
    for (int64_t left = int64_t(3) * stages * m; left > 0;) {
      int32_t s = upTo(stages - 1);
      int64_t kind = upTo(2);
      if (kind == 0 && forward[s] < (s == 0 ? m : forward[s - 1]))
        orders[problem.rankOf(s)].push_back(
            Action(ActionKind::Forward, s, forward[s]++));
      else if (kind == 1 && inputGrad[s] < forward[s] &&
               (s + 1 == stages || inputGrad[s] < inputGrad[s + 1]))
        orders[problem.rankOf(s)].push_back(
            Action(ActionKind::InputGrad, s, inputGrad[s]++));
      else if (kind == 2 && weightGrad[s] < inputGrad[s])
        orders[problem.rankOf(s)].push_back(
            Action(ActionKind::WeightGrad, s, weightGrad[s]++));
      else
        continue;
      --left;
    }
    Schedule schedule;
    for (const std::vector<Action> &order : orders) {
      for (Action a : order)
        schedule.append(a);
      schedule.endRank();
    }
    ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
    Program program = lower(problem, schedule);
    std::string wrong = broken(problem, schedule, program, problem.memoryCaps);
    // Slots that are too few for an order are found, and nothing else is.
    if (problem.channels.receiveSlots == 0) {
      ASSERT_EQ(wrong, "") << "round " << round;
      int64_t free = simulate(problem, schedule).makespanNs;
      EXPECT_LE(simulateProgram(problem, program).makespanNs, free + free / 100)
          << "round " << round;
      ++lowered;
    } else if (!wrong.empty()) {
      ASSERT_NE(wrong.find("[L2]"), std::string::npos) << wrong;
    }
  }
  EXPECT_GT(lowered, 50);
}

/// A family's makespan with free communication but for its latency, and what
/// PyTorch's order of messages makes of it with one queue a rank. F, I and W
/// take 40 of a whole rank, a message `latency`.
struct OneQueueRow {
  const char *family;
  int32_t chunks;
  bool isWave;
  int64_t latency;
  /// At 4 ranks and 8 micro-batches, 8 and 16, 8 and 32, 16 and 32.
  std::array<int64_t, 4> simulated, inOneQueue;
};

Problem chunkedProblem(int32_t ranks, int32_t microbatches,
                       const OneQueueRow &row) {
  const int32_t stages = ranks * row.chunks;
  Problem problem = linearProblem(stages, microbatches, row.latency, 0, 0);
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t s = 0; s < stages; ++s) {
    bool isUp = row.isWave && s / ranks % 2 == 1;
    problem.stageRanks[s] = {isUp ? ranks - 1 - s % ranks : s % ranks};
    problem.setStageCost(s, 40 / row.chunks, 40 / row.chunks, 40 / row.chunks,
                         1, 0);
  }
  return problem;
}

TEST(ExposedCommunication, OneQueueCostsWhatIsKnownOfPyTorch) {
  const OneQueueRow rows[] = {
      {"1f1b", 1, false, 0, {1320, 2760, 4680, 5640}, {1320, 2760, 4680, 5640}},
      {"1f1b", 1, false, 4, {1384, 2920, 4952, 5992}, {1392, 2928, 4976, 6000}},
      {"interleaved-1f1b",
       2,
       false,
       0,
       {1140, 2340, 4260, 4740},
       {1340, 3360, 5280, 9340}},
      {"interleaved-1f1b",
       2,
       false,
       4,
       {1196, 2460, 4380, 4988},
       {1500, 3796, 5716, 11180}},
      {"interleaved-1f1b",
       4,
       false,
       0,
       {1050, 2130, 4050, 4290},
       {1310, 3600, 5520, 11070}},
      {"interleaved-1f1b",
       4,
       false,
       4,
       {1170, 2378, 4298, 4794},
       {1662, 5096, 7704, 18268}},
      {"interleaved-zb",
       2,
       false,
       0,
       {1020, 2060, 3980, 4140},
       {1180, 3020, 4940, 8620}},
      {"interleaved-zb",
       2,
       false,
       4,
       {1084, 2204, 4124, 4444},
       {1292, 3400, 5320, 9960}},
      {"zbv", 2, true, 0, {1020, 2060, 3980, 4140}, {1100, 2300, 4220, 4700}},
      {"zbv", 2, true, 4, {1072, 2192, 4112, 4432}, {1172, 2504, 4424, 5160}},
      {"dualpipe-v",
       2,
       true,
       0,
       {1020, 2060, 3980, 4140},
       {1100, 2380, 4300, 4940}},
      {"dualpipe-v",
       2,
       true,
       4,
       {1072, 2208, 4128, 4480},
       {1196, 2604, 4524, 5420}},
      {"zb-h2",
       1,
       false,
       4,
       {1092, 2228, 4148, 4500},
       {1108, 2276, 4196, 4632}},
  };
  const std::pair<int32_t, int32_t> sizes[] = {
      {4, 8}, {8, 16}, {8, 32}, {16, 32}};
  for (const OneQueueRow &row : rows)
    for (size_t k = 0; k < 4; ++k) {
      SCOPED_TRACE(std::string(row.family) + " " + std::to_string(row.chunks) +
                   " latency " + std::to_string(row.latency) + " ranks " +
                   std::to_string(sizes[k].first) + " micro-batches " +
                   std::to_string(sizes[k].second));
      Problem problem = chunkedProblem(sizes[k].first, sizes[k].second, row);
      FamilyResult made =
          generate(std::get<FamilyChoice>(parseFamily(row.family)), problem);
      ASSERT_TRUE(std::holds_alternative<Schedule>(made));
      const Schedule &schedule = std::get<Schedule>(made);
      Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
      EXPECT_EQ(simulation.makespanNs, row.simulated[k]);
      ExposedCommunication found =
          measureCommunication(problem, schedule, simulation);
      EXPECT_EQ(found.perRankNs, row.inOneQueue[k]);
      EXPECT_LE(found.freeNs, row.simulated[k]);
      ASSERT_TRUE(found.perPairNs);
      EXPECT_GE(*found.perPairNs, row.simulated[k]);
      EXPECT_LE(*found.perPairNs * 100, row.simulated[k] * 101);
      if (row.latency == 0) {
        EXPECT_EQ(*found.perPairNs, found.freeNs);
      }
    }
}

} // namespace
