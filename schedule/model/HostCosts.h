//===- HostCosts.h - Host time of tasks -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A framework's host thread spends time on every action and message. The same
// thread computes, so the rank is blocked during that time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_HOSTCOSTS_H
#define RONDO_SCHEDULE_MODEL_HOSTCOSTS_H

#include <cstdint>

namespace rondo {

/// Host time in ns: per task, to issue a send, to issue a receive, and to wait
/// for a message.
struct HostCosts {
  int64_t actionNs = 0, sendNs = 0, receiveNs = 0, waitNs = 0;

  friend bool operator==(const HostCosts &a, const HostCosts &b) {
    return a.actionNs == b.actionNs && a.sendNs == b.sendNs &&
           a.receiveNs == b.receiveNs && a.waitNs == b.waitNs;
  }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_HOSTCOSTS_H
