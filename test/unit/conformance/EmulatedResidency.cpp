//===- EmulatedResidency.cpp - Few launches in flight on a GPU ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 receives from three ranks, which all send to it at the end. In
// emulation a receive that has begun keeps its place until the message comes.
//
//===----------------------------------------------------------------------===//

#include "Conformance.h"
#include "EmulatedBackend.h"

#include "test/cuda_emulation/emulation.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

constexpr int64_t bytes = 64;

const Pair &nccl() {
  for (const Pair &pair : allPairs())
    if (pair.backend == &emulatedNccl)
      return pair;
  throw Error("no NCCL");
}

class EmulatedResidency : public testing::Test {
protected:
  void SetUp() override { nccl().begin(0); }
  void TearDown() override {
    emulation::setResident(0);
    nccl().end();
  }
};

/// Four ranks; rank 0 has four channels and may have `resident` launches in
/// flight, 0: any number.
struct Example : Ranks {
  explicit Example(int resident) : Ranks(nccl(), 4, 4096) {
    params.channels = {{1, 0, 1}, {2, 0, 1}, {3, 0, 1}, {0, 1, 1}};
    params.ranksOfProgram = {4};
    params.residentOfProgram = {{resident, 0, 0, 0}};
    connect();
    emulation::maxResident();
  }

  Transport::Ticket receiveFrom(int rank) {
    return transport->receive(rank - 1, activation(rank), at(0, 1024 * rank),
                              bytes);
  }
  void sendToZero(int rank) {
    fill(rank, 0, 16 * rank, bytes);
    const Transport::Ticket ticket =
        transport->send(rank - 1, activation(rank), at(rank, 0), bytes);
    transport->waitSent(rank - 1, ticket);
  }
  /// Rank 1 sends once rank 0 has sent to it, the others at once.
  std::string run(bool mayReplay) {
    const std::string failure = iterate(
        [&](int rank) {
          Transport &t = *transport;
          if (rank == 0) {
            fill(0, 0, 7, bytes);
            const Transport::Ticket sent =
                t.send(3, gradient(0), at(0, 0), bytes);
            std::vector<Transport::Ticket> tickets;
            for (int from = 1; from < 4; ++from)
              tickets.push_back(receiveFrom(from));
            for (int from = 1; from < 4; ++from)
              t.waitReceived(from - 1, tickets[from - 1]);
            t.waitSent(3, sent);
            return;
          }
          if (rank == 1) {
            const Transport::Ticket ticket =
                t.receive(3, gradient(0), at(1, 2048), bytes);
            t.waitReceived(3, ticket);
          }
          sendToZero(rank);
        },
        mayReplay);
    for (int from = 1; from < 4; ++from)
      EXPECT_EQ(read<char>(0, 1024 * from, 1),
                std::vector<char>{static_cast<char>(16 * from)});
    return failure;
  }
};

/// Each rank sends once `begun` receives have begun on rank 0.
std::string sendBehind(Example &ranks, int begun) {
  std::atomic<int> most{0};
  return ranks.iterate([&](int rank) {
    if (rank == 0) {
      std::vector<Transport::Ticket> tickets;
      for (int from = 1; from < 4; ++from)
        tickets.push_back(ranks.receiveFrom(from));
      for (int from = 1; from < 4; ++from)
        ranks.transport->waitReceived(from - 1, tickets[from - 1]);
      return;
    }
    while (most < begun) {
      most = std::max(most.load(), emulation::maxResident());
      std::this_thread::yield();
    }
    ranks.sendToZero(rank);
  });
}

/// Receives in flight that the emulation must be able to see.
TEST_F(EmulatedResidency, WithoutALimitAllReceivesAreInFlight) {
  Example ranks(0);
  EXPECT_EQ(sendBehind(ranks, 3), "");
}

TEST_F(EmulatedResidency, ALimitHoldsOthersBack) {
  Example ranks(2);
  // Two have begun, and the third cannot before one of them ends.
  EXPECT_EQ(sendBehind(ranks, 2), "");
  EXPECT_LE(emulation::maxResident(), 2);
}

/// The first iterations are not recorded, the last ones are repeated.
TEST_F(EmulatedResidency, IterationsKeepToTheLimit) {
  for (int round = 0; round < 3; ++round) {
    nccl().begin(round);
    for (int resident : {1, 2, 3}) {
      Example ranks(resident);
      for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(ranks.run(/*mayReplay=*/true), "");
        EXPECT_LE(emulation::maxResident(), resident);
      }
    }
  }
}

/// A device with room for two, which would otherwise fill with receives of
/// ranks 2 and 3 or with those of 1 and another, and never send.
TEST_F(EmulatedResidency, ADeviceWithLittleRoomRuns) {
  for (int round = 0; round < 8; ++round) {
    nccl().begin(round);
    Example ranks(2);
    emulation::setResident(2);
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(ranks.run(/*mayReplay=*/true), "");
    emulation::setResident(0);
  }
}

} // namespace
