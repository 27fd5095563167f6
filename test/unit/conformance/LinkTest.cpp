//===- LinkTest.cpp - Measurements of channels, on every pair -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

#include "runtime/transport/links.h"

#include <cmath>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class Links : public Conformance {
protected:
  /// GPUs measure the first message of each size in an iteration, and no empty
  /// ones.
  bool areGpus() const { return targetOf(GetParam()) != Target::Cpu; }
};

/// Messages of `sizes` from each rank to the next.
std::string passAlong(Ranks &ranks, const std::vector<int64_t> &sizes) {
  return ranks.iterate(
      [&](int rank) {
        Transport &t = *ranks.transport;
        for (size_t i = 0; i < sizes.size(); ++i) {
          const MessageName name = activation(static_cast<int32_t>(i));
          if (rank > 0)
            t.waitReceived(rank - 1, t.receive(rank - 1, name,
                                               ranks.at(rank, 0), sizes[i]));
          if (rank + 1 < ranks.params.ranks)
            t.waitSent(rank, t.send(rank, name, ranks.at(rank, 0), sizes[i]));
        }
      },
      /*mayReplay=*/true);
}

void expectFinite(const LinkFigures &link) {
  for (double figure : {link.latencyNs, link.bytesPerUs, link.clockErrorNs}) {
    EXPECT_TRUE(std::isfinite(figure));
    EXPECT_GE(figure, 0);
  }
}

TEST_P(Links, EachChannelCountsWhatItMeasures) {
  constexpr int count = 3;
  inAllOrders([&] {
    Ranks ranks(GetParam(), count, 8192);
    ranks.params.channels = {{0, 1, 4}, {1, 2, 4}, {2, 0, 1}};
    ranks.connect();
    // The last one is measured on every pair: nothing else ends after it.
    const std::vector<int64_t> sizes = {0, 64, 64, 4096};
    const int64_t measured = areGpus() ? 2 : 4;
    for (int64_t iteration = 1; iteration <= 5; ++iteration) {
      ASSERT_EQ(passAlong(ranks, sizes), "");
      if (iteration % 2 == 0)
        continue;
      const std::vector<LinkFigures> links = ranks.transport->links();
      ASSERT_EQ(links.size(), 3u);
      for (int c = 0; c < count; ++c) {
        EXPECT_EQ(links[c].messages, c < 2 ? measured * iteration : 0);
        EXPECT_EQ(links[c].from, c);
        EXPECT_EQ(links[c].to, (c + 1) % count);
        expectFinite(links[c]);
      }
    }
  });
}

/// More messages than a channel keeps stamps of.
TEST_P(Links, ReadingsDoNotHaveToBeOften) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = {{0, 1, 4}};
  ranks.connect();
  // GPUs keep a quarter as many stamps, of a quarter of the messages.
  static_assert(StampRing::most / 4 == 256);
  for (int i = 0; i < 256 + 5; ++i)
    ASSERT_EQ(passAlong(ranks, {8, 8, 8, 8}), "");
  const LinkFigures link = ranks.transport->links().at(0);
  const int64_t each = areGpus() ? 1 : 4;
  EXPECT_GE(link.messages, 256 * each);
  EXPECT_LE(link.messages, 261 * each);
  expectFinite(link);
}

TEST_P(Links, WithoutMeasuringThereAreNoFigures) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = {{0, 1, 1}};
  ranks.params.measures = false;
  ranks.connect();
  EXPECT_EQ(passAlong(ranks, {8}), "");
  EXPECT_TRUE(ranks.transport->links().empty());
}

INSTANTIATE_TEST_SUITE_P(, Links, testing::ValuesIn(allPairs()), nameOfPair);

} // namespace
