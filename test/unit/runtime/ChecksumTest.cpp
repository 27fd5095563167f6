//===- ChecksumTest.cpp - Messages that change on their way ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/crc32c.h"
#include "test/unit/ErrorThrownBy.h"
#include "test/unit/conformance/MemoryEndpoint.h"

#include "gtest/gtest.h"

#include <string>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST(Checksum, IsCrc32c) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
}

TEST(Checksum, IsTheSameByTableAndByInstruction) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(text.data(), text.size()),
              crc32cByTable(text.data(), text.size()));
    text += static_cast<char>(7 * i + 3);
  }
}

/// Changes a bit of every part of a sum that it sends.
class WrongSums : public MemoryEndpoint {
public:
  using MemoryEndpoint::MemoryEndpoint;
  int32_t send(int32_t to, Purpose purpose, int32_t tag, const void *data,
               int64_t bytes) override {
    if (purpose == Collectives && bytes > int64_t(sizeof(uint32_t))) {
      const char *first = static_cast<const char *>(data);
      kept.emplace_back(first, first + bytes);
      kept.back()[0] ^= 1;
      data = kept.back().data();
    }
    return MemoryEndpoint::send(to, purpose, tag, data, bytes);
  }

private:
  std::deque<std::vector<char>> kept;
};

testing::AssertionResult has(const std::string &error,
                             const std::string &part) {
  if (error.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << error << "'";
}

TransportParams paramsOf(bool checks) {
  TransportParams params;
  params.ranks = 2;
  params.channels = {{0, 1, 4}};
  params.edges = {{Message::Activation, 2, 3}};
  params.measures = false;
  params.checks = checks;
  return params;
}

TEST(Checksum, NamesAMessageBetweenThreads) {
  const std::vector<char> sent(100, 'x');
  std::vector<char> received(100);
  for (bool checks : {true, false}) {
    auto transport = makeInprocTransport(paramsOf(checks), 2);
    for (bool spoils : {false, true}) {
      if (spoils)
        transport->spoilNext(0);
      const auto ticket =
          transport->receive(0, {0, 7, 0, 1}, received.data(), 100);
      transport->send(0, {0, 7, 0, 1}, sent.data(), 100);
      const std::string error =
          errorThrownBy([&] { transport->waitReceived(0, ticket); });
      EXPECT_EQ(received == sent, !spoils);
      if (checks && spoils)
        EXPECT_TRUE(has(error, "message 2F7 from rank 0 to rank "
                               "1 has changed on its way"));
      else
        EXPECT_EQ(error, "");
    }
  }
}

/// Runs both processes; by process, the error.
template <typename MakeEndpoint>
std::vector<std::string>
runProcesses(const TransportParams &params, MakeEndpoint makeEndpoint,
             void (*act)(Transport &transport, int32_t rank)) {
  auto network = std::make_shared<Network>();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int32_t p : {0, 1})
    threads.emplace_back([&, p] {
      World world;
      world.process = p;
      world.processes = world.localProcesses = 2;
      auto transport =
          makeProcessTransport(params, world, makeEndpoint(network, p), {2});
      errors[p] = errorThrownBy(
          [&] { transport->iterate(p, false, [&] { act(*transport, p); }); });
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

std::unique_ptr<Endpoint> plain(const std::shared_ptr<Network> &network,
                                int32_t p) {
  return std::make_unique<MemoryEndpoint>(network, p);
}

template <bool spoils> void passMessages(Transport &transport, int32_t rank) {
  std::vector<char> data(100, rank == 0 ? 'x' : 0);
  for (int32_t m = 0; m < 4; ++m) {
    if (rank == 0) {
      if (spoils && m == 2)
        transport.spoilNext(0);
      transport.waitSent(0, transport.send(0, {0, m, 0, 1}, data.data(), 100));
    } else {
      transport.waitReceived(
          0, transport.receive(0, {0, m, 0, 1}, data.data(), 100));
    }
    if (spoils && m == 2)
      return;
  }
}

TEST(Checksum, NamesAMessageBetweenProcesses) {
  std::vector<std::string> errors =
      runProcesses(paramsOf(true), plain, passMessages<true>);
  EXPECT_EQ(errors[0], "");
  EXPECT_TRUE(has(errors[1], "message 2F2 from rank 0 to rank 1 "
                             "has changed on its way"));
  for (bool checks : {true, false}) {
    errors = runProcesses(paramsOf(checks), plain, passMessages<false>);
    EXPECT_EQ(errors[0] + errors[1], "");
  }
}

double parts[2][3] = {{1, 2, 3}, {4, 5, 6}};

void addAll(Transport &transport, int32_t rank) {
  double sum = 0;
  transport.startAddAll(0, rank, &sum);
  transport.waitCollective(0, rank);
  if (sum != 21)
    throw Error("the sum is " + std::to_string(sum));
}

TEST(Checksum, NamesAPartOfASumBetweenProcesses) {
  TransportParams params = paramsOf(true);
  params.collectives = {{{0, parts[0], 3}, {1, parts[1], 3}}};
  const std::vector<std::string> right = runProcesses(params, plain, addAll);
  EXPECT_EQ(right[0] + right[1], "");
  // Rank 0 adds; rank 1 would wait for a sum that does not come.
  auto network = std::make_shared<Network>();
  WrongSums sender(network, 1);
  sender.send(0, Endpoint::Collectives, 0, parts[1], sizeof parts[1]);
  const uint32_t checksum = crc32c(parts[1], sizeof parts[1]);
  sender.send(0, Endpoint::Collectives, 0, &checksum, sizeof checksum);
  World world;
  world.processes = world.localProcesses = 2;
  auto transport = makeProcessTransport(
      params, world, std::make_unique<MemoryEndpoint>(network, 0), {2});
  EXPECT_TRUE(has(errorThrownBy([&] { addAll(*transport, 0); }),
                  "a part of collective 0 from rank 1 to rank 0 "
                  "has changed on its way"));
}

} // namespace
