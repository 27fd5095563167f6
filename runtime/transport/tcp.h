//===- tcp.h - Ranks are processes connected by TCP -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_TCP_H
#define RONDO_RUNTIME_TRANSPORT_TCP_H

#include "runtime/transport/endpoint.h"

namespace rondo::runtime {

/// Connects the processes of a run with their peers. All call it at the same
/// time. Throws Error with Exit::RunFailure if they do not find each other in
/// time. The world's store must outlive it.
std::unique_ptr<Endpoint> makeTcpEndpoint(const World &world,
                                          const Peers &peers,
                                          const TransportOptions &options);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_TCP_H
