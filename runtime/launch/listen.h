//===- listen.h - Where a process can be called -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_LISTEN_H
#define RONDO_RUNTIME_LAUNCH_LISTEN_H

#include "runtime/launch/socket.h"

#include <string>
#include <vector>

namespace rondo::runtime {

/// IPv4's loopback interface.
inline constexpr const char *loopbackAddress = "127.0.0.1";

/// Listens on one port of each of these numeric addresses, or of all interfaces
/// if there are none; port 0: any free one. Empty, with errno set, on failure.
std::vector<Socket> listenAt(const std::vector<std::string> &addresses,
                             int port);

/// The same for one socket: on IPv4's loopback interface, or on all interfaces.
/// Invalid on failure.
Socket listenOn(int port, bool onLoopbackOnly);

/// The numeric addresses of this machine by which others come when they call
/// it by this name. None if that cannot be told here: the name leads to another
/// machine, which passes calls on, or only to the loopback interface.
std::vector<std::string> addressesNamed(const std::string &host);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_LISTEN_H
