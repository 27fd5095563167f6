// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which algorithm is chosen, by times that the emulation gives.

#include "DeviceTest.h"

#include "runtime/bodies/cuda/gemm_choices.h"
#include "test/cuda_emulation/emulation.h"
#include "test/unit/ErrorThrownBy.h"

#include <thread>

namespace rondo::runtime::cuda {
namespace {

class TuningTest : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    product.rows = rows;
    product.columns = product.stride = columns;
    product.inner = inner;
    product.type = product.resultType = DType::Fp32;
    product.a = {a.get(), inner};
    product.b = {b.get(), columns};
    product.c = product.d = d.get();
  }
  void TearDown() override {
    emulation::setAlgorithms({{}});
    emulation::failCall(nullptr, 0, 0);
    DeviceTest::TearDown();
  }
  std::shared_ptr<GemmChoices> make(const std::string &text = "",
                                    bool mayMeasure = true) {
    return std::make_shared<GemmChoices>(
        text, GemmChoices::Options{
                  "--tune 'file'", mayMeasure,
                  [this](const std::string &now) { written.push_back(now); }});
  }
  /// The algorithm that a product now takes, after measuring.
  size_t chosen(Gemms &tuned) {
    tuned.multiply(stream, product, scratch.get());
    wait();
    const size_t most = 8;
    std::vector<int64_t> before;
    for (size_t n = 0; n < most; ++n)
      before.push_back(emulation::productsWith(n));
    d.clear();
    tuned.multiply(stream, product, scratch.get());
    wait();
    size_t found = most;
    for (size_t n = 0; n < most; ++n)
      if (emulation::productsWith(n) != before[n]) {
        EXPECT_EQ(emulation::productsWith(n), before[n] + 1);
        EXPECT_EQ(found, most) << "several";
        found = n;
      }
    for (float value : d.read())
      EXPECT_EQ(value, inner) << "the result";
    return found;
  }
  size_t chosenBy(const std::shared_ptr<GemmChoices> &choices) {
    Gemms tuned(Gemms::GeluFusion::ByDevice, choices);
    return chosen(tuned);
  }
  const int64_t rows = 4, columns = 8, inner = 3;
  DeviceArray<float> a{std::vector<float>(size_t(rows * inner), 1)},
      b{std::vector<float>(size_t(inner * columns), 1)}, d{rows * columns};
  const Workspace scratch;
  Product product{};
  std::vector<std::string> written;
};

// Virtual times of seconds, next to which the host's are nothing.
TEST_F(TuningTest, TakesTheFastestAndWritesItOnce) {
  emulation::setAlgorithms({{5000}, {9000}, {2000}, {4000}});
  auto choices = make();
  EXPECT_EQ(chosenBy(choices), 2u);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].rfind("Emulated GPU\t120805\t4 8 3 3 8 8 0 0 0 0 65536 "
                             "1\t",
                             0),
            0u)
      << written[0];
  EXPECT_EQ(std::count(written[0].begin(), written[0].end(), '\n'), 1);
  // Another rank of the process, and then another run.
  emulation::setAlgorithms({{1000}, {9000}, {2000}, {4000}});
  EXPECT_EQ(chosenBy(choices), 2u);
  auto again = make(written[0]);
  EXPECT_EQ(chosenBy(again), 2u);
  EXPECT_EQ(written.size(), 1u);
  // A shape that the text lacks is measured and added.
  product.columns = product.stride = 4;
  product.b.stride = 4;
  EXPECT_EQ(errorThrownBy([&] {
              Gemms tuned(Gemms::GeluFusion::ByDevice, again);
              tuned.multiply(stream, product, scratch.get());
              wait();
            }),
            "");
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(std::count(written[1].begin(), written[1].end(), '\n'), 2);
  EXPECT_NE(written[1].find(written[0]), std::string::npos);
}

TEST_F(TuningTest, WithoutChoicesTheFirstIsTaken) {
  emulation::setAlgorithms({{5000}, {1000}});
  EXPECT_EQ(chosen(*gemms), 0u);
}

TEST_F(TuningTest, ReplacesTheFirstOnlyForMoreThanTwoPercent) {
  emulation::setAlgorithms({{100000}, {99000}});
  EXPECT_EQ(chosenBy(make()), 0u);
  emulation::setAlgorithms({{100000}, {97000}});
  EXPECT_EQ(chosenBy(make()), 1u);
}

TEST_F(TuningTest, LeavesOutWhatMustNotRun) {
  emulation::Algorithm inPlace{1000, 1}, large{1000, 0, 1},
      refused{1000, 0, 0, true};
  emulation::setAlgorithms({{5000}, inPlace, large, refused, {3000, 2}});
  EXPECT_EQ(chosenBy(make()), 4u);
}

TEST_F(TuningTest, NothingIsMeasuredWhileAStreamRecords) {
  emulation::setAlgorithms({{5000}, {1000}});
  auto choices = make();
  Gemms tuned(Gemms::GeluFusion::ByDevice, choices);
  RONDO_CUDA(
      cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal));
  tuned.multiply(stream, product, scratch.get());
  cudaGraph_t graph = nullptr;
  RONDO_CUDA(cudaStreamEndCapture(stream.handle, &graph));
  RONDO_CUDA(cudaGraphDestroy(graph));
  EXPECT_EQ(chosen(tuned), 0u);
  EXPECT_EQ(chosenBy(choices), 0u);
  EXPECT_EQ(choices->text(), "");
  EXPECT_TRUE(written.empty());
}

TEST_F(TuningTest, WithoutMemoryTheFirstIsTaken) {
  emulation::setAlgorithms({{5000}, {1000}});
  auto choices = make();
  Gemms tuned(Gemms::GeluFusion::ByDevice, choices);
  emulation::failCall("cudaMalloc", 0, cudaErrorMemoryAllocation);
  EXPECT_EQ(chosen(tuned), 0u);
  EXPECT_EQ(choices->text(), "");
}

TEST_F(TuningTest, MeasuresNothingThatItMayNot) {
  emulation::setAlgorithms({{5000}, {1000}});
  EXPECT_EQ(chosenBy(make("", false)), 0u);
  auto choices = make();
  choices->stopMeasuring();
  EXPECT_EQ(chosenBy(choices), 0u);
}

// Ranks that are threads: one measures, all take its choice.
TEST_F(TuningTest, RanksOfAProcessChooseTheSame) {
  emulation::setAlgorithms({{5000}, {9000}, {2000}});
  auto choices = make();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&] {
      Gemms tuned(Gemms::GeluFusion::ByDevice, choices);
      DeviceArray<float> own{rows * columns};
      own.clear();
      Stream mine;
      RONDO_CUDA(
          cudaStreamCreateWithFlags(&mine.handle, cudaStreamNonBlocking));
      Product ofRank = product;
      ofRank.c = ofRank.d = own.get();
      const Workspace workspace;
      tuned.multiply(mine, ofRank, workspace.get());
      RONDO_CUDA(cudaStreamSynchronize(mine.handle));
      for (float value : own.read())
        EXPECT_EQ(value, inner);
      RONDO_CUDA(cudaStreamDestroy(mine.handle));
    });
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(written.size(), 1u);
  EXPECT_EQ(chosenBy(choices), 2u);
}

TEST_F(TuningTest, RefusesTextsOfOthers) {
  emulation::setAlgorithms({{5000}, {1000}});
  auto choices = make();
  chosenBy(choices);
  const std::string text = choices->text();
  auto with = [&](const std::string &old, const std::string &now) {
    std::string changed = text;
    changed.replace(changed.find(old), old.size(), now);
    return changed;
  };
  EXPECT_EQ(errorThrownBy([&] {
              Gemms tuned(Gemms::GeluFusion::ByDevice,
                          make(with("Emulated", "Other")));
            }),
            "--tune 'file' was written for Other GPU with cuBLASLt 120805, "
            "this is Emulated GPU with cuBLASLt 120805: delete it or give "
            "another name");
  EXPECT_EQ(errorThrownBy([&] {
              Gemms tuned(Gemms::GeluFusion::ByDevice,
                          make(with("120805", "120900")));
            }),
            "--tune 'file' was written for Emulated GPU with cuBLASLt 120900, "
            "this is Emulated GPU with cuBLASLt 120805: delete it or give "
            "another name");
  EXPECT_EQ(errorThrownBy([&] { make(text + with("Emulated", "Other")); }),
            "--tune 'file' has products of Emulated GPU with cuBLASLt 120805 "
            "and of Other GPU with cuBLASLt 120805: delete it or give another "
            "name");
  for (const std::string &broken :
       {text + "\n", with("65536 1", "65536"), with("\t4 8", "\t4 x"),
        with("\t120805", ""), text.substr(0, text.rfind('\t')) + "\tsoon\n"})
    EXPECT_NE(errorThrownBy([&] {
                make(broken);
              }).find("of --tune 'file' is not a GPU, a version, 12 numbers"),
              std::string::npos)
        << broken;
  // The library no longer has the second algorithm.
  emulation::setAlgorithms({{5000}});
  EXPECT_EQ(errorThrownBy([&] { chosenBy(make(text)); }),
            "cuBLASLt refuses the algorithm that --tune 'file' has for a "
            "product of 4 x 8 x 3: delete it or give another name");
}

// Measurements of several processes become one text.
TEST_F(TuningTest, AddsWhatOthersHave) {
  emulation::setAlgorithms({{5000}, {1000}});
  auto first = make(), second = make();
  chosenBy(first);
  product.rows = 2;
  emulation::setAlgorithms({{1000}, {5000}});
  Gemms(Gemms::GeluFusion::ByDevice, second)
      .multiply(stream, product, scratch.get());
  wait();
  product.rows = 4;
  chosenBy(second);
  const std::string own = first->text();
  first->add(second->text());
  const std::string both = first->text();
  EXPECT_NE(both.find(own), std::string::npos);
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 2);
}

} // namespace
} // namespace rondo::runtime::cuda
