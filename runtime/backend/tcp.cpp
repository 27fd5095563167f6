//===- tcp.cpp - Ranks as processes on CPUs, by TCP -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/endpoint.h"

#include "runtime/backend/backend.h"

using namespace rondo::runtime;

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

static std::unique_ptr<Transport> makeTransport(const TransportParams &params,
                                                const std::vector<Device *> &,
                                                const TransportOptions &options,
                                                const World &world) {
  return makeCpuTransport(params, options, world, makeTcpEndpoint);
}

/// Processes need only a store to find each other.
static const ProcessSupport processes = {"TCP", nullptr, nullptr, nullptr};
const Backend rondo::runtime::tcpBackend = {makeDevice, makeTransport,
                                            &processes};
