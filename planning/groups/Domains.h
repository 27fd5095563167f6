//===- Domains.h - Devices that fast links connect --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_DOMAINS_H
#define RONDO_PLANNING_GROUPS_DOMAINS_H

#include <cstdint>
#include <functional>
#include <string>

namespace rondo::groups {

/// Equal domains of consecutive devices.
struct Domains {
  int64_t size = 1, count = 1;
  /// The slowest links inside a domain and between domains; 0 if there are
  /// none.
  int64_t insideBytesPerUs = 0, acrossBytesPerUs = 0;
  /// Why the devices have no such domains, with the numbers; empty if they do.
  std::string fault;
};

/// Finds the domains of `devices` whose links have these rates, in bytes per
/// microsecond: two devices are in one if a chain of links of at least half of
/// the fastest rate connects them. O(devices^2).
Domains
domainsOf(int32_t devices,
          const std::function<int64_t(int32_t from, int32_t to)> &rateOf);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_DOMAINS_H
