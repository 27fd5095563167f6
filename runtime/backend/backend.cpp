//===- backend.cpp - Ranks as threads or processes on a CPU ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/backend/backend.h"

#include "runtime/transport/tcp.h"

using namespace rondo::runtime;

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

std::unique_ptr<Transport> rondo::runtime::makeCpuTransport(
    const TransportParams &params, const TransportOptions &options,
    const World &world,
    std::unique_ptr<Endpoint> (*makeEndpoint)(const World &, const Peers &,
                                              const TransportOptions &)) {
  if (world.isAlone())
    return makeInprocTransport(params, options.cores);
  return makeProcessTransport(
      params, world, makeEndpoint(world, peersOf(params, world), options),
      options);
}

static std::unique_ptr<Transport> makeTransport(const TransportParams &params,
                                                const std::vector<Device *> &,
                                                const TransportOptions &options,
                                                const World &world) {
  return makeCpuTransport(params, options, world, makeTcpEndpoint);
}

/// Processes need only a store to find each other.
static const ProcessSupport processes = {"TCP", nullptr, nullptr, nullptr};
const Backend rondo::runtime::cpuBackend = {makeDevice, makeTransport,
                                            &processes};
