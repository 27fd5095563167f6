//===- tcp_connect.h - How processes connect to each other by TCP ---*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_TCP_CONNECT_H
#define RONDO_RUNTIME_TRANSPORT_TCP_CONNECT_H

#include "runtime/launch/socket.h"
#include "runtime/launch/world.h"

#include <vector>

namespace rondo::runtime {

/// Connects all processes of a run, which call it at the same time, once for
/// each purpose. Returns the connection to process p for purpose u at
/// p * purposes + u; none to this process. Throws Error with Exit::RunFailure
/// if they do not find each other.
std::vector<Socket> connectProcesses(const World &world, int purposes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_TCP_CONNECT_H
