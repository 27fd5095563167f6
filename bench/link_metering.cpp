//===- link_metering.cpp - The cost of measuring a message ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread plays both ends of a channel, alternating blocks with and without
// metering. Messages have 8 bytes, so that a block contains little else; the
// shortest blocks are compared, which other work on the machine does not
// affect. Processes send through memory instead of a network.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/clock.h"
#include "runtime/transport/transport.h"
#include "test/unit/conformance/MemoryEndpoint.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

static constexpr int blocks = 20'000, messages = 64;

/// Both ends of channel 0, of ranks 0 and 1.
struct Ends {
  std::vector<std::unique_ptr<Transport>> owned;
  Transport *sender, *receiver;
};

static TransportParams paramsOf(bool measures) {
  TransportParams params;
  params.ranks = 2;
  params.channels = {{0, 1, messages}};
  params.measures = measures;
  return params;
}

static Ends makeThreads(bool measures) {
  Ends ends;
  ends.owned.push_back(makeInprocTransport(paramsOf(measures), 2));
  ends.sender = ends.receiver = ends.owned[0].get();
  return ends;
}

static Ends makeProcesses(bool measures) {
  Ends ends;
  ends.owned.resize(2);
  auto network = std::make_shared<Network>();
  std::vector<std::thread> threads;
  for (int32_t p : {0, 1})
    threads.emplace_back([&ends, network, measures, p] {
      World world;
      world.process = p;
      world.processes = world.localProcesses = 2;
      ends.owned[p] = makeProcessTransport(
          paramsOf(measures), world,
          std::make_unique<MemoryEndpoint>(network, p), {2});
    });
  for (std::thread &thread : threads)
    thread.join();
  ends.sender = ends.owned[0].get();
  ends.receiver = ends.owned[1].get();
  return ends;
}

/// ns for each message of a block.
static double runBlock(const Ends &ends) {
  // The message count restarts in each iteration.
  ends.sender->iterate(0, false, [] {});
  ends.receiver->iterate(1, false, [] {});
  char from[8] = {}, to[8];
  const int64_t begin = nowNs();
  for (int i = 0; i < messages; ++i) {
    const Transport::Ticket sent = ends.sender->send(0, {}, from, sizeof from);
    ends.receiver->waitReceived(0,
                                ends.receiver->receive(0, {}, to, sizeof to));
    ends.sender->waitSent(0, sent);
  }
  return static_cast<double>(nowNs() - begin) / messages;
}

static void compare(const char *name, const std::function<Ends(bool)> &make) {
  const Ends ends[] = {make(false), make(true)};
  double least[] = {1e9, 1e9};
  for (int b = 0; b < blocks; ++b)
    for (int measures : {0, 1})
      least[measures] = std::min(least[measures], runBlock(ends[measures]));
  std::printf("%-10s  %8.1f  %8.1f  %8.1f\n", name, least[0], least[1],
              least[1] - least[0]);
}

int main() {
  std::printf("ns for each message, the shortest of %d blocks of %d\n", blocks,
              messages);
  std::printf("between      without      with  metering\n");
  compare("threads", makeThreads);
  compare("processes", makeProcesses);
  return 0;
}
