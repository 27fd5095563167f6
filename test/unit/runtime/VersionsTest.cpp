//===- VersionsTest.cpp - Weights in the slots of their versions ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"
#include "Training.h"

#include "runtime/execution/state.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Two stages on two ranks; version v is in slot v modulo `slots`.
Spec withSlots(int slots) {
  Spec spec;
  spec.layers = gptLayers(2, true);
  spec.layersOfStage = {2, 2};
  spec.rankOfStage = {0, 1};
  spec.weightSlots = slots;
  return spec;
}

class Trained : public Training {
protected:
  /// The checkpoint after some iterations of training.
  std::string after(const char *iterations, int slots) {
    Program program(withSlots(slots));
    train(program, {"--iterations", iterations, "--save", first.path});
    return first.read();
  }
};

// Step t reads slot t mod 2 and writes slot (t + 1) mod 2.
TEST_F(Trained, TwoSlotsTrainToTheSameBits) {
  for (const char *iterations : {"1", "2", "3"}) {
    const std::string one = after(iterations, 1);
    ASSERT_GT(one.size(), 1000u);
    EXPECT_EQ(one, after(iterations, 2));
    EXPECT_EQ(one, after(iterations, 3));
  }
}

TEST(Versions, TheReferenceAndThePipelineReadTheSame) {
  Program program(withSlots(2));
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 0);
}

TEST(Versions, TensorsLieInTheSlotOfTheNewest) {
  Program program(withSlots(2));
  State state(program.exe);
  state.initialise(1);
  const Tensor &tensor = state.tensors().front();
  const ReplicaBinding &replica = state.replicas()[0];
  ASSERT_EQ(replica.weights.size(), 2u);
  float *const first = tensor.weights;
  const int64_t apart = replica.weights[1] - replica.weights[0];
  EXPECT_EQ(apart, replica.share->bytes[static_cast<int>(Buffer::Weights)]);
  const std::vector<float> before(first, first + tensor.layout.count);

  state.nextVersion(0, state.device(0));
  EXPECT_EQ(replica.version, 1);
  EXPECT_EQ(reinterpret_cast<char *>(tensor.weights),
            reinterpret_cast<char *>(first) + apart);
  EXPECT_EQ(std::memcmp(tensor.weights, before.data(), 4 * before.size()), 0);
  // Writing there leaves the older version as it is.
  tensor.weights[0] += 1;
  EXPECT_EQ(first[0], before[0]);

  state.nextVersion(0, state.device(0));
  EXPECT_EQ(tensor.weights, first);
  EXPECT_EQ(first[0], before[0] + 1);
  // The other stage has not stepped.
  EXPECT_EQ(state.replicas()[1].version, 0);
  state.initialise(1);
  EXPECT_EQ(replica.version, 0);
  EXPECT_EQ(tensor.weights[0], before[0]);
}

TEST(Versions, TheNewestReturnsToTheFirstSlot) {
  Program program(withSlots(3));
  State state(program.exe);
  state.initialise(1);
  const Tensor &tensor = state.tensors().front();
  const ReplicaBinding &replica = state.replicas()[0];
  float *const first = tensor.weights;
  for (int64_t version = 0; version < 4; ++version) {
    for (int64_t step = 0; step < version; ++step) {
      state.nextVersion(0, state.device(0));
      tensor.weights[0] += 1;
    }
    const std::vector<float> newest(tensor.weights,
                                    tensor.weights + tensor.layout.count);
    state.returnToFirstSlot(0, state.device(0));
    EXPECT_EQ(replica.version, 0);
    EXPECT_EQ(tensor.weights, first);
    EXPECT_EQ(std::memcmp(first, newest.data(), 4 * newest.size()), 0)
        << version << " steps";
  }
}

// Collectives that come before other tasks.

/// Four stages on two ranks, in turn: rank 0 has the embedding, rank 1 the
/// head. The gradients of the tied weight are complete before rank 1 has run
/// its first stage's last backward.
Spec looped() {
  Spec spec;
  spec.layers = gptLayers(2, true);
  spec.layersOfStage = {1, 1, 1, 1};
  spec.rankOfStage = {0, 1, 0, 1};
  spec.pipeline = forwardThenBackward(spec);
  return spec;
}

/// Moves an action to another place of a list.
void move(std::vector<Act> &list, size_t from, size_t to) {
  const Act act = list[from];
  list.erase(list.begin() + static_cast<long>(from));
  list.insert(list.begin() + static_cast<long>(to), act);
}

size_t placeOf(const std::vector<Act> &list, Act::Kind kind, int64_t stage) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].kind == kind && list[i].stage == stage)
      return i;
  ADD_FAILURE() << "not there";
  return 0;
}

TEST(Collectives, AreIssuedBeforeOtherTasksAndAwaitedBehindThem) {
  Spec spec = looped();
  std::vector<Act> &list = spec.pipeline[1];
  // Rank 1's head is done before its other stage begins its backward.
  size_t head = 0;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].kind == Act::B && list[i].stage == 3)
      head = i;
  const size_t both = placeOf(list, Act::AllReduce, 0);
  ASSERT_LT(head + 2, both);
  list[both].kind = Act::Await;
  list.insert(list.begin() + static_cast<long>(head) + 1, {Act::Issue, 0});
  Program program(spec);
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 0);
}

TEST(Collectives, StepsStandBetweenOtherSteps) {
  Spec spec = looped();
  std::vector<Act> &list = spec.pipeline[0];
  move(list, placeOf(list, Act::Step, 2), placeOf(list, Act::Step, 0));
  Program program(spec);
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 0);
}

TEST(Collectives, AnAwaitNeedsAnIssueAndAnIssueAnAwait) {
  auto failure = [](Act::Kind instead) {
    Spec spec = timedOnRanks(1, 0);
    std::vector<Act> &list = spec.pipeline[0];
    list[placeOf(list, Act::AllReduce, 0)].kind = instead;
    Program program(spec);
    testing::internal::CaptureStderr();
    EXPECT_NE(runProgram(program, {"--quiet", "--iterations", "1"}), 0);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(failure(Act::Await)
                .find("the program of rank 0 awaits collective 0, which it has "
                      "not issued"),
            std::string::npos);
  EXPECT_NE(failure(Act::Issue)
                .find("the program of rank 0 does not await collective 0"),
            std::string::npos);
}

} // namespace
