// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which iterations are enqueued, recorded and repeated.

#include "DeviceTest.h"

#include "runtime/device/cuda/graph.h"

#include <string>

namespace rondo::runtime::cuda {
namespace {

class IterationGraphs : public DeviceTest {
protected:
  /// Runs an iteration of a variant, which writes its number, and returns how:
  /// e, R or r for enqueued, recorded or repeated.
  char run(int64_t variant, bool mayRecord = true) {
    auto enqueue = [&] {
      RONDO_CUDA(cudaMemsetAsync(place.get(), static_cast<int>(variant), 1,
                                 stream.handle));
    };
    char how = 'e';
    switch (graph.next(mayRecord, variant)) {
    case IterationGraph::Step::Enqueue:
      enqueue();
      break;
    case IterationGraph::Step::Record:
      how = 'R';
      graph.begin(stream.handle, cudaStreamCaptureModeRelaxed);
      enqueue();
      graph.end(stream.handle);
      break;
    case IterationGraph::Step::Replay:
      how = 'r';
      graph.replay(stream.handle);
      break;
    }
    wait();
    graph.setHasRun();
    EXPECT_EQ(place.read()[0], variant);
    return how;
  }
  std::string run(std::initializer_list<int64_t> variants) {
    std::string steps;
    for (int64_t variant : variants)
      steps += run(variant);
    return steps;
  }

  IterationGraph graph;
  DeviceArray<unsigned char> place{1};
};

TEST_F(IterationGraphs, TheSecondIsRecordedAndLaterOnesRepeatIt) {
  EXPECT_FALSE(graph.hasRun());
  EXPECT_EQ(run({0, 0, 0, 0}), "eRrr");
  EXPECT_TRUE(graph.hasRun());
}

TEST_F(IterationGraphs, EachVariantHasARecordingOfItsOwn) {
  EXPECT_EQ(run({4, 4, 2, 4, 2, 2, 4}), "eRerRrr");
}

TEST_F(IterationGraphs, OthersAreEnqueued) {
  EXPECT_EQ(run({1, 1}), "eR");
  EXPECT_EQ(run(1, /*mayRecord=*/false), 'e');
  EXPECT_EQ(run({1}), "r");
}

// Of seven variants, the recording that was used longest ago is dropped, and
// made again.
TEST_F(IterationGraphs, FewRecordingsAreKept) {
  EXPECT_EQ(run({1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}), "eReReReReReR");
  EXPECT_EQ(run({1, 2, 3, 4, 5, 6}), "rrrrrr");
  EXPECT_EQ(run({1, 7, 7}), "reR");
  EXPECT_EQ(run({1, 3, 4, 5, 6, 7, 2}), "rrrrrrR");
}

// 64 batches that do not repeat are remembered.
TEST_F(IterationGraphs, VariantsThatDoNotRepeatAreForgotten) {
  for (int64_t variant = 1; variant <= 64; ++variant)
    EXPECT_EQ(run(variant), 'e');
  EXPECT_EQ(run({1, 65, 2}), "Ree");
}

TEST_F(IterationGraphs, DroppedRecordingsAreMadeAgain) {
  EXPECT_EQ(run({1, 1}), "eR");
  graph.drop();
  EXPECT_EQ(run({1, 1}), "Rr");
}

} // namespace
} // namespace rondo::runtime::cuda
