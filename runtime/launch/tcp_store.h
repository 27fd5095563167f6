//===- tcp_store.h - A store on connections to process 0 --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_TCP_STORE_H
#define RONDO_RUNTIME_LAUNCH_TCP_STORE_H

#include "runtime/launch/store_server.h"

namespace rondo::runtime {

/// Makes the store on a connection whose Hello has been answered; `reader`
/// holds what came after the answer, which said `atFirst`. `server` is null
/// except in process 0.
std::unique_ptr<Store> makeTcpStore(const StoreParams &params,
                                    std::unique_ptr<ServerThread> server,
                                    Socket connection, FrameReader reader,
                                    const std::string &atFirst);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_TCP_STORE_H
