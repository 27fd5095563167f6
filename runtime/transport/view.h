//===- view.h - One program's view of a transport ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_VIEW_H
#define RONDO_RUNTIME_TRANSPORT_VIEW_H

#include "runtime/transport/transport.h"

namespace rondo::runtime {

/// Where a program's channels and collectives are in the transport.
struct ViewParams {
  int32_t program = 0;
  /// The program's own; `messages` are those of one of its iterations.
  std::vector<ChannelParams> channels;
  /// By the program's channel and collective: the transport's number.
  std::vector<int32_t> channelNumbers, collectiveNumbers;
  EdgeNames edges;
};

/// A transport with one program's numbering of channels and collectives. Making
/// one connects nothing. The transport must outlive it.
class TransportView : public Transport {
public:
  TransportView(Transport &transport, ViewParams params);

  void iterate(int32_t rank, bool mayReplay,
               const std::function<void()> &actions) override;
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override;
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override;
  void waitSent(int32_t channel, Ticket ticket) override {
    transport.waitSent(params.channelNumbers[channel], ticket);
  }
  void waitReceived(int32_t channel, Ticket ticket) override {
    transport.waitReceived(params.channelNumbers[channel], ticket);
  }
  void startSumParts(int32_t collective, int32_t rank) override {
    transport.startSumParts(params.collectiveNumbers[collective], rank);
  }
  void startAddAll(int32_t collective, int32_t rank, double *sum) override {
    transport.startAddAll(params.collectiveNumbers[collective], rank, sum);
  }
  void startGather(int32_t collective, int32_t rank, float *whole) override {
    transport.startGather(params.collectiveNumbers[collective], rank, whole);
  }
  void startScatter(int32_t collective, int32_t rank, float *whole) override {
    transport.startScatter(params.collectiveNumbers[collective], rank, whole);
  }
  void waitCollective(int32_t collective, int32_t rank) override {
    transport.waitCollective(params.collectiveNumbers[collective], rank);
  }
  void abort() override { transport.abort(); }
  Waiting waiting(int32_t rank) const override;
  void beginIteration(int64_t iteration) override {
    transport.beginIteration(iteration);
  }
  SerialLink *imposedLink(int32_t from, int32_t to) override {
    return transport.imposedLink(from, to);
  }
  void spoilNext(int32_t rank) override { transport.spoilNext(rank); }
  uint64_t progress() const override { return transport.progress(); }
  std::vector<LinkFigures> links() override;

private:
  /// Messages of the iteration so far. Each end belongs to one rank's thread.
  struct Count {
    alignas(64) int64_t sent = 0;
    alignas(64) int64_t posted = 0;
  };

  Transport &transport;
  const ViewParams params;
  std::vector<Count> counts;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_VIEW_H
