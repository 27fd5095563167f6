//===- AdaptiveTest.cpp - Measured links, estimates and switches ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AdaptiveFixture.h"

#include "runtime/adaptive/found_program.h"
#include "runtime/adaptive/program_values.h"
#include "runtime/adaptive/tuner.h"
#include "runtime/base/error.h"
#include "schedule/program/ProgramSimulator.h"

#include "gtest/gtest.h"

#include <memory>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Transfers that a link with these figures makes of messages that begin at
/// these times.
std::vector<Transfer> carry(const std::vector<int64_t> &begins, int64_t bytes,
                            int64_t occupancyNs, int64_t latencyNs) {
  std::vector<Transfer> transfers;
  int64_t freeNs = 0;
  for (int64_t begin : begins) {
    freeNs = std::max(freeNs, begin) + occupancyNs;
    transfers.push_back({bytes, begin, freeNs + latencyNs});
  }
  return transfers;
}

TEST(LinkEstimate, TellsLatencyFromOccupancyWhereMessagesWait) {
  // Two alone, three in a row.
  const LinkEstimate link =
      estimateLink(carry({0, 10000, 20000, 20100, 20200}, 1000, 500, 2000), 0);
  EXPECT_EQ(link.messages, 5);
  EXPECT_EQ(link.bytes, 1000);
  EXPECT_EQ(link.medianNs, 2500);
  EXPECT_EQ(link.spreadNs, 0);
  EXPECT_EQ(link.latencyNs, 2000);
  EXPECT_EQ(link.bytesPerUs, 2000);
}

TEST(LinkEstimate, AssumesTheLatencyWhereNoneWait) {
  const std::vector<Transfer> alone = carry({0, 10000, 20000}, 1000, 500, 2000);
  EXPECT_EQ(estimateLink(alone, 1500).latencyNs, 1500);
  EXPECT_EQ(estimateLink(alone, 1500).bytesPerUs, 1000);
  // No more than there is.
  EXPECT_EQ(estimateLink(alone, 9000).latencyNs, 2500);
  EXPECT_EQ(estimateLink(alone, 9000).bytesPerUs, 0);
}

TEST(LinkEstimate, SeesLatencyWhereMessagesFollowWithoutWaiting) {
  // Each leaves the link before the next one comes, and none has arrived then.
  const std::vector<Transfer> burst =
      carry({0, 600, 1200, 1800}, 1000, 500, 20000);
  EXPECT_EQ(estimateLink(burst, 100).medianNs, 20500);
  // At most 600 ns, the time between two messages, can be occupancy.
  EXPECT_EQ(estimateLink(burst, 100).latencyNs, 19901);
  EXPECT_EQ(estimateLink(burst, 100).bytesPerUs, 1667);
  // The assumed latency may be larger.
  EXPECT_EQ(estimateLink(burst, 20300).latencyNs, 20300);
}

TEST(LinkEstimate, RoundsTheRateAndKeepsTheSum) {
  // 600 ns for 1,000 bytes: 1,667 bytes per us are nearer than 1,666.
  const LinkEstimate link = estimateLink(carry({0, 9000}, 1000, 600, 400), 400);
  EXPECT_EQ(link.bytesPerUs, 1667);
  EXPECT_EQ(link.latencyNs, 401);
  // Slower than one byte per us.
  const LinkEstimate slow =
      estimateLink(carry({0, 90000}, 10, 40000, 400), 400);
  EXPECT_EQ(slow.bytesPerUs, 1);
  EXPECT_EQ(slow.latencyNs, 30400);
}

TEST(LinkEstimate, TakesTheMedianOfNoisyMessages) {
  std::vector<Transfer> transfers;
  for (int64_t n = 0; n < 9; ++n)
    transfers.push_back({64, 1000 * n, 1000 * n + 100 + 10 * (n % 3)});
  transfers.push_back({64, 20000, 29999});
  const LinkEstimate link = estimateLink(transfers, 0);
  EXPECT_EQ(link.medianNs, 110);
  EXPECT_EQ(link.spreadNs, 10);
}

TEST(LinkEstimate, CountsOnlyTheLargestMessages) {
  std::vector<Transfer> transfers = carry({0, 10000}, 1000, 500, 0);
  transfers.push_back({10, 20000, 20005});
  const LinkEstimate link = estimateLink(transfers, 0);
  EXPECT_EQ(link.messages, 2);
  EXPECT_EQ(link.medianNs, 500);
  EXPECT_EQ(estimateLink({}, 5).messages, 0);
}

TEST(Tuner, AsksForAGainAndADwell) {
  TunerOptions options;
  options.leastGain = 0.02;
  options.dwell = 5;
  const Tuner tuner(options);
  // 100 runs since iteration 1.
  EXPECT_EQ(tuner.choose({100, 97}, 0, 1, 5), 1u);
  EXPECT_EQ(tuner.choose({100, 98}, 0, 1, 5), 1u);
  EXPECT_EQ(tuner.choose({1000, 981}, 0, 1, 5), 0u);
  EXPECT_EQ(tuner.choose({100, 50}, 0, 1, 4), 0u);
  EXPECT_EQ(tuner.choose({100, 90, 80, 80}, 0, 1, 9), 2u);
  // Schedules without an estimate are not considered, and without an estimate
  // of the running one nothing is chosen.
  EXPECT_EQ(tuner.choose({100, -1, 0}, 0, 1, 9), 0u);
  EXPECT_EQ(tuner.choose({-1, 50}, 0, 1, 9), 0u);
}

/// The spec's tuner: ../shared/specs/ada-grouper.md, section 8. Estimates in
/// units of 10 us, by k = 1, 2, 4.
TEST(Tuner, SwitchesWhereAdaGrouperDoes) {
  const Tuner tuner({/*every=*/1, /*leastGain=*/0, /*dwell=*/1});
  EXPECT_EQ(tuner.choose({16072, 16812, 20106}, 0, 1, 1), 0u);
  EXPECT_EQ(tuner.choose({17360, 16950, 20175}, 0, 1, 2), 1u);
  EXPECT_EQ(tuner.choose({27160, 18040, 20700}, 1, 1, 3), 1u);
  EXPECT_EQ(tuner.choose({16072, 16812, 20106}, 1, 1, 4), 0u);
}

TEST(Estimator, ReadsTheOrderOfAProgram) {
  const Candidates candidates;
  const ProgramValues values =
      valuesOf(candidates.program->exe, *candidates.pipelines.front());
  EXPECT_EQ(values.program.order.numRanks(), 3);
  EXPECT_EQ(values.problem.numReplicas(), 3);
  EXPECT_EQ(values.problem.edges.size(), 4u);
  // F0, send; what the rank's list holds.
  const ActionRange first = values.program.order.rank(0);
  EXPECT_EQ(first[0], Action(ActionKind::Forward, 0, 0));
  EXPECT_EQ(first[1].kind(), ActionKind::Send);
  EXPECT_EQ(values.problem.edges[first[1].subject].to, 1);
  EXPECT_TRUE(simulateProgram(values.problem, values.program).complete);
}

TEST(Estimator, TakesPredictionsUntilThereAreMeasurements) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  // (M + S - 1) (F + I + W), where messages take no time.
  EXPECT_EQ(estimator.estimate(), (std::vector<int64_t>{24000, 24000}));
  estimator.take(candidates.like(2000, 1));
  for (int64_t ns : estimator.estimate())
    EXPECT_NEAR(double(ns), 48000, 100);
}

TEST(Estimator, FollowsTheLinks) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  estimator.take(candidates.like(1000, 800));
  const std::vector<int64_t> slow = estimator.estimate();
  // Receives are posted just in time, so one after another waits for 800 ns.
  for (int64_t ns : slow)
    EXPECT_GT(ns, 24000 + 4 * 800);
  EXPECT_NE(slow[0], slow[1]);
  // The network recovers.
  estimator.take(candidates.like(1000, 1));
  for (int64_t ns : estimator.estimate())
    EXPECT_NEAR(double(ns), 24000, 100);
}

TEST(Estimator, IgnoresAbsurdTimes) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  const std::vector<int64_t> before = estimator.estimate();
  for (int64_t ns : {int64_t(0), int64_t(-5), INT64_MIN, INT64_MAX}) {
    Measurements measured = candidates.like(1000, 1);
    for (int64_t &each : measured.workNs)
      each = ns;
    for (LinkEstimate &link : measured.links)
      link.medianNs = ns;
    estimator.take(measured);
    EXPECT_EQ(estimator.estimate(), before);
  }
  // At most the number of replicas.
  Measurements few;
  few.microbatches = 6;
  few.workNs = {3000};
  estimator.take(few);
  EXPECT_GE(estimator.estimate().front(), before.front());
}

TEST(Estimator, ScalesCostsOfASizeThatHasNotRun) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  std::vector<int64_t> half = candidates.work;
  for (int64_t &ns : half)
    ns /= 2;
  // The other program has half as large micro-batches, twice as many.
  ProgramDesc other = *candidates.pipelines[1];
  other.samples = candidates.pipelines[0]->samples + 1;
  other.workNs = half.data();
  Estimator mixed(candidates.program->exe, {candidates.pipelines[0], &other});
  EXPECT_EQ(mixed.estimate(), (std::vector<int64_t>{24000, 12000}));
  Measurements measured = candidates.like(3000, 1);
  measured.links.clear();
  mixed.take(measured);
  EXPECT_EQ(mixed.estimate(), (std::vector<int64_t>{72000, 36000}));
  // Once it has run, its own figures count.
  measured.samples = other.samples;
  for (int64_t &ns : measured.workNs)
    ns = ns > 0 ? 2000 : 0;
  mixed.take(measured);
  EXPECT_EQ(mixed.estimate(), (std::vector<int64_t>{72000, 48000}));
  measured.samples = candidates.pipelines[0]->samples;
  mixed.take(measured);
  EXPECT_EQ(mixed.estimate(), (std::vector<int64_t>{48000, 48000}));
}

/// The actions of all ranks.
std::vector<std::vector<Action>> actionsOf(const rondo::Program &program) {
  std::vector<std::vector<Action>> all;
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    const ActionRange order = program.order.rank(r);
    all.emplace_back(order.begin(), order.end());
  }
  return all;
}

TEST(FoundProgram, CallsWhatItsOrderSays) {
  const Candidates candidates;
  const Executable &exe = candidates.program->exe;
  const ProgramDesc &like = *candidates.pipelines.front();
  const ProgramValues values = valuesOf(exe, like);
  const FoundProgram own(like, "found_1", values.program, values.problem);
  const std::shared_ptr<const FoundProgram> found = decode(encode(own), exe);
  EXPECT_STREQ(found->desc().name, "found_1");
  EXPECT_EQ(found->desc().id, like.id);
  EXPECT_EQ(found->desc().numPools, like.numPools);
  EXPECT_NE(found->desc().ranks, like.ranks);
  const ProgramValues again = valuesOf(exe, found->desc());
  EXPECT_EQ(actionsOf(again.program), actionsOf(values.program));
  for (size_t p = 0; p < values.program.places.size(); ++p) {
    EXPECT_EQ(again.program.places[p].pool, values.program.places[p].pool);
    if (values.program.places[p].pool < 0)
      continue;
    EXPECT_EQ(again.program.places[p].slotOf, values.program.places[p].slotOf);
  }
}

TEST(FoundProgram, HasCopiesAndTheirWaits) {
  Candidates candidates;
  Executable &exe = candidates.program->exe;
  // Stage 0 may copy, over a half-duplex link.
  std::vector<ShareDesc> shares(exe.programs[0].shares,
                                exe.programs[0].shares + exe.numReplicas);
  shares[0].bytes[static_cast<int>(Buffer::OnHost)] = 64;
  const std::vector<RankCopiesDesc> none(exe.numRanks,
                                         {0, nullptr, 0, nullptr, true});
  for (ProgramDesc &desc : candidates.program->programs) {
    desc.shares = shares.data();
    desc.copies = desc.kind == ProgramKind::Pipeline ? none.data() : nullptr;
  }
  const std::vector<int64_t> hostArenas(exe.numRanks, 64);
  const std::vector<HostLinkDesc> links(exe.numRanks, {500, 0, -1, false});
  exe.hostArenaBytes = hostArenas.data();
  exe.hostLinks = links.data();

  const ProgramDesc &like = *candidates.pipelines.front();
  ProgramValues values = valuesOf(exe, like);
  EXPECT_TRUE(values.problem.hostMemory.mayCopy(0));
  EXPECT_FALSE(values.problem.hostMemory.mayCopy(1));
  const FoundProgram plain(like, "found_1", values.program, values.problem);
  EXPECT_EQ(plain.desc().copies, nullptr);

  const Action forward(ActionKind::Forward, 0, 0),
      inputGrad(ActionKind::InputGrad, 0, 0);
  Schedule order;
  for (int32_t r = 0; r < exe.numRanks; ++r) {
    for (Action action : values.program.order.rank(r)) {
      if (action == inputGrad)
        order.append(Action(ActionKind::Load, 0, 0));
      order.append(action);
      if (action == forward)
        order.append(Action(ActionKind::Save, 0, 0));
    }
    order.endRank();
  }
  values.program.order = std::move(order);
  const FoundProgram own(like, "found_2", values.program, values.problem);
  const std::shared_ptr<const FoundProgram> found = decode(encode(own), exe);
  EXPECT_EQ(actionsOf(valuesOf(exe, found->desc()).program),
            actionsOf(values.program));
  EXPECT_EQ(found->desc().copies[1].numCopies, 0);
  const RankCopiesDesc &copies = found->desc().copies[0];
  EXPECT_TRUE(copies.isHalf);
  ASSERT_EQ(copies.numCopies, 2);
  EXPECT_EQ(copies.copies[0].kind, ActionKind::Save);
  EXPECT_EQ(copies.copies[1].kind, ActionKind::Load);
  // LOAD follows SAVE on its lane.
  ASSERT_EQ(copies.numWaits, 2);
  EXPECT_EQ(copies.waits[0].kind, ActionKind::Save);
  EXPECT_EQ(copies.waits[0].awaitedKind, ActionKind::Forward);
  EXPECT_EQ(copies.waits[1].kind, ActionKind::InputGrad);
  EXPECT_EQ(copies.waits[1].awaitedKind, ActionKind::Load);
}

TEST(FoundProgram, RefusesTextThatIsNone) {
  const Candidates candidates;
  const Executable &exe = candidates.program->exe;
  const ProgramDesc &like = *candidates.pipelines.front();
  const ProgramValues values = valuesOf(exe, like);
  const std::string text =
      encode(FoundProgram(like, "found_1", values.program, values.problem));
  for (size_t length = 0; length + 4 < text.size(); length += 7)
    EXPECT_THROW(decode(text.substr(0, length), exe), Error);
  EXPECT_THROW(decode("found_1 -1", exe), Error);
  EXPECT_THROW(decode("found_1 99 3 0 0 0 0 0 0", exe), Error);
  EXPECT_THROW(decode("found_1 1 1 1 99 0 0 0 0 0", exe), Error);
  // No places.
  EXPECT_THROW(decode("found_1 1 3 0 0 0 0 0 0", exe), Error);
}

} // namespace
