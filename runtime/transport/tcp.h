//===- tcp.h - Ranks are processes connected by TCP -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_TCP_H
#define RONDO_RUNTIME_TRANSPORT_TCP_H

#include "runtime/launch/socket.h"
#include "runtime/launch/world.h"
#include "runtime/transport/endpoint.h"

#include <vector>

namespace rondo::runtime {

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

#endif // RONDO_RUNTIME_TRANSPORT_TCP_H
