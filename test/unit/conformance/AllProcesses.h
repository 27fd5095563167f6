//===- AllProcesses.h - The transports of all processes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_ALLPROCESSES_H
#define RONDO_TEST_UNIT_CONFORMANCE_ALLPROCESSES_H

#include "runtime/transport/transport.h"

#include "gtest/gtest.h"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace rondo::runtime::test {

/// The transport of each process, all driven by the suite from one process.
class AllProcesses : public Transport {
public:
  /// Calls `make` for all processes at the same time. Processes after the last
  /// rank take part in what all do together.
  AllProcesses(const TransportParams &params, int32_t processes,
               const std::function<std::unique_ptr<Transport>(int32_t)> &make)
      : channels(params.channels), processes(processes) {
    together(
        [&](size_t p) { this->processes[p] = make(static_cast<int32_t>(p)); });
  }
  ~AllProcesses() override {
    together([&](size_t p) { processes[p].reset(); });
  }

  bool begin(int32_t rank, int32_t program, const Replay &replay) override {
    return processes[rank]->begin(rank, program, replay);
  }
  void end(int32_t rank) override { processes[rank]->end(rank); }
  void abandon(int32_t rank) override { processes[rank]->abandon(rank); }
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    return processes[channels[channel].from]->send(channel, name, data, bytes);
  }
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    return processes[channels[channel].to]->receive(channel, name, data, bytes);
  }
  void waitSent(int32_t channel, Ticket ticket) override {
    processes[channels[channel].from]->waitSent(channel, ticket);
  }
  void waitReceived(int32_t channel, Ticket ticket) override {
    processes[channels[channel].to]->waitReceived(channel, ticket);
  }
  void startSumParts(int32_t collective, int32_t rank) override {
    processes[rank]->startSumParts(collective, rank);
  }
  void startAddAll(int32_t collective, int32_t rank, double *sum) override {
    processes[rank]->startAddAll(collective, rank, sum);
  }
  void startGather(int32_t collective, int32_t rank, float *whole) override {
    processes[rank]->startGather(collective, rank, whole);
  }
  void startScatter(int32_t collective, int32_t rank, float *whole) override {
    processes[rank]->startScatter(collective, rank, whole);
  }
  void waitCollective(int32_t collective, int32_t rank) override {
    processes[rank]->waitCollective(collective, rank);
  }
  void abort() override {
    for (const std::unique_ptr<Transport> &process : processes)
      process->abort();
  }
  Waiting waiting(int32_t rank) const override {
    return processes[rank]->waiting(rank);
  }
  /// Process 0's; all have the same.
  std::vector<LinkFigures> links() override {
    std::vector<std::vector<LinkFigures>> all(processes.size());
    together([&](size_t p) { all[p] = processes[p]->links(); });
    for (const std::vector<LinkFigures> &others : all)
      for (size_t i = 0; i < all[0].size(); ++i) {
        EXPECT_EQ(others.at(i).messages, all[0][i].messages);
        EXPECT_EQ(others.at(i).latencyNs, all[0][i].latencyNs);
      }
    return all[0];
  }

private:
  /// Runs in parallel, since each process may wait for the others.
  void together(const std::function<void(size_t)> &work) {
    std::vector<std::thread> threads;
    for (size_t p = 0; p < processes.size(); ++p)
      threads.emplace_back([&, p] { work(p); });
    for (std::thread &thread : threads)
      thread.join();
  }

  const std::vector<ChannelParams> channels;
  std::vector<std::unique_ptr<Transport>> processes;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_ALLPROCESSES_H
