//===- endpoint.h - Moves bytes between processes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The difference between MPI, TCP and others. Everything above it (channels,
// waits, collectives) is in process_transport.h.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_ENDPOINT_H
#define RONDO_RUNTIME_TRANSPORT_ENDPOINT_H

#include "runtime/launch/socket.h"
#include "runtime/launch/world.h"
#include "runtime/transport/links.h"
#include "runtime/transport/transport.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Messages from one process to another for one purpose arrive in the order
/// sent: the n-th send meets the n-th receive. Not thread-safe. Failures are
/// Errors with Exit::RunFailure, or PeerFailed if another process has reported
/// the reason.
class Endpoint {
public:
  virtual ~Endpoint();

  /// Each has an order of its own.
  enum Purpose : int { Messages, Collectives, numPurposes };

  /// The result of a finished operation.
  struct Ended {
    /// For a receive: the sender's tag.
    int32_t tag = 0;
    int64_t bytes = 0;
  };

  /// The largest tag that send() takes, 2^15 - 1 or more.
  virtual int32_t largestTag() const = 0;
  /// Neither blocks. The operation owns the memory until it has ended. A tag is
  /// a number of at least 0 that travels with the message.
  virtual int32_t send(int32_t to, Purpose purpose, int32_t tag,
                       const void *data, int64_t bytes) = 0;
  virtual int32_t receive(int32_t from, Purpose purpose, void *data,
                          int64_t bytes) = 0;
  /// Advances operations; true once this one has ended, after which its number
  /// may be reused. A message larger than the receive's memory counts as ended,
  /// with more bytes than that memory; bytes after the memory may have been
  /// overwritten, since MPI does not rule that out and Open MPI does it.
  virtual bool test(int32_t operation, Ended &ended) = 0;
};

/// Which processes a process sends to or receives from: of process p for
/// purpose u at p * numPurposes + u. Both ends of a pair say the same.
using Peers = std::vector<bool>;
/// All that a process transport needs.
Peers peersOf(const TransportParams &params, const World &world);

/// A transport between processes: process p is rank p of the program. The cores
/// of `options` are those that the processes of this machine may use. `clock`
/// stamps the messages; null: the processor's. All processes call it at the
/// same time. Throws Error with Exit::RunFailure if a peer does not come in
/// time.
std::unique_ptr<Transport>
makeProcessTransport(const TransportParams &params, const World &world,
                     std::unique_ptr<Endpoint> endpoint,
                     const TransportOptions &options,
                     std::unique_ptr<StampClock> clock = nullptr);

/// Ranks on CPUs: the threads of this process, or processes that the endpoint
/// connects.
std::unique_ptr<Transport> makeCpuTransport(
    const TransportParams &params, const TransportOptions &options,
    const World &world,
    std::unique_ptr<Endpoint> (*makeEndpoint)(const World &, const Peers &,
                                              const TransportOptions &));

//===----------------------------------------------------------------------===//
// Endpoints over TCP.
//===----------------------------------------------------------------------===//

/// Connects the processes of a run with their peers. All call it at the same
/// time. Throws Error with Exit::RunFailure if they do not find each other in
/// time. The world's store must outlive it.
std::unique_ptr<Endpoint> makeTcpEndpoint(const World &world,
                                          const Peers &peers,
                                          const TransportOptions &options);

/// Connects pairs of processes of a run, once for each purpose that they have.
/// All processes call it at the same time. `isPeer` says at p * purposes + u
/// whether process p is a peer for purpose u, as p says of this process; the
/// connection to it is returned there. Throws Error with Exit::RunFailure if
/// they do not find each other within a minute or, if that is shorter,
/// `timeoutSeconds`, which may be 0; and PeerFailed if another process has
/// failed.
std::vector<Socket> connectProcesses(const World &world, int purposes,
                                     const std::vector<bool> &isPeer,
                                     double timeoutSeconds);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_ENDPOINT_H
