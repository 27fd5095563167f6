//===- SizeTest.cpp - Messages of every size ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transports treat small and large messages differently: MPI sends a few KiB at
// once, and asks the receiver before it sends more. The limit differs between
// networks.
//
//===----------------------------------------------------------------------===//

#include "Conformance.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

constexpr int forth = 0;

class Sizes : public Conformance {};

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

/// Large ones between small ones, on both sides of 256 bytes, 4 KiB and 64 KiB.
const std::vector<int64_t> sizes = {
    8 << 20, 1,    64 << 10, 0,        4097,          4096, 1 << 20,  4000,
    255,     8192, 257,      65 << 10, (1 << 20) + 1, 3,    32 << 10, 7};

int64_t offsetOf(size_t message) {
  int64_t offset = 0;
  for (size_t m = 0; m < message; ++m)
    offset += sizes[m] + bufferAlignment - sizes[m] % bufferAlignment;
  return offset;
}

/// No two messages and no two parts of one have the same bytes.
std::vector<char> bytesOf(size_t message, int iteration) {
  std::vector<char> bytes(static_cast<size_t>(sizes[message]));
  uint32_t state = static_cast<uint32_t>(100 * iteration + message + 1);
  for (char &byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// In the first iteration the receives come first, in the second the sends; a
/// message is overwritten once it has been sent.
TEST_P(Sizes, LargeMessagesAreNotOvertakenBySmallOnes) {
  const int64_t all = offsetOf(sizes.size());
  Ranks ranks(GetParam(), 2, all);
  ranks.params.channels = {{0, 1, static_cast<int64_t>(sizes.size())}};
  ranks.connect();
  for (int iteration : {0, 1}) {
    for (size_t m = 0; m < sizes.size(); ++m)
      ranks.write(0, offsetOf(m), bytesOf(m, iteration));
    ASSERT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      std::vector<Transport::Ticket> tickets;
      if (rank == iteration)
        pause();
      for (size_t m = 0; m < sizes.size(); ++m) {
        const MessageName name = activation(static_cast<int32_t>(m));
        char *data = ranks.at(rank, offsetOf(m));
        tickets.push_back(rank == 0 ? t.send(forth, name, data, sizes[m])
                                    : t.receive(forth, name, data, sizes[m]));
      }
      for (size_t m = 0; m < sizes.size(); ++m)
        if (rank == 0) {
          t.waitSent(forth, tickets[m]);
          ranks.fill(0, offsetOf(m), 0xff, sizes[m]);
        } else {
          t.waitReceived(forth, tickets[m]);
        }
    }),
              "");
    for (size_t m = 0; m < sizes.size(); ++m)
      ASSERT_TRUE(ranks.read<char>(1, offsetOf(m), bytesOf(m, 0).size()) ==
                  bytesOf(m, iteration))
          << "message " << m << " of " << sizes[m] << " bytes";
  }
}

/// The arena has room: MPI may write the whole message.
TEST_P(Sizes, MessagesThatDoNotFitAreErrors) {
  if (!GetParam().comparesSizes)
    GTEST_SKIP() << "what follows is not defined";
  for (int64_t sent : {9, 4096, 64 << 10, 1 << 20})
    for (int first : {0, 1}) {
      Ranks ranks(GetParam(), 2, sent);
      ranks.params.channels = {{0, 1, 1}};
      ranks.connect();
      const std::string said = ranks.iterate([&](int rank) {
        Transport &t = *ranks.transport;
        if (rank != first)
          pause();
        if (rank == 0)
          t.waitSent(forth, t.send(forth, activation(0), ranks.at(0, 0), sent));
        else
          t.waitReceived(forth,
                         t.receive(forth, activation(0), ranks.at(1, 0), 8));
      });
      const std::string begin = "message 0F0 of rank 0 has ",
                        end = " bytes, rank 1 expects 8";
      // Between processes the receiver may not know by how much.
      EXPECT_TRUE(said == begin + std::to_string(sent) + end ||
                  said == begin + "more" + end)
          << said;
    }
}

INSTANTIATE_TEST_SUITE_P(, Sizes, testing::ValuesIn(allPairs()), nameOfPair);

} // namespace
