//===- backend.cpp - Ranks as threads on a CPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/backend/backend.h"

using namespace rondo::runtime;

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

static std::unique_ptr<Transport> makeTransport(const TransportParams &params,
                                                const std::vector<Device *> &,
                                                const TransportOptions &options,
                                                const World &) {
  return makeInprocTransport(params, options.cores);
}

const Backend rondo::runtime::cpuBackend = {makeDevice, makeTransport};
