//===- Domains.cpp - Devices that fast links connect ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Domains.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace rondo::groups {

namespace {

using Rates = std::function<int64_t(int32_t, int32_t)>;

/// The first device of each device's domain.
std::vector<int32_t> firstsOf(int32_t devices, const Rates &rateOf,
                              int64_t least) {
  std::vector<int32_t> first(static_cast<size_t>(devices), -1);
  std::vector<int32_t> pending;
  for (int32_t start = 0; start < devices; ++start) {
    if (first[static_cast<size_t>(start)] >= 0)
      continue;
    first[static_cast<size_t>(start)] = start;
    pending.push_back(start);
    while (!pending.empty()) {
      const int32_t one = pending.back();
      pending.pop_back();
      for (int32_t other = 0; other < devices; ++other)
        if (first[static_cast<size_t>(other)] < 0 &&
            std::min(rateOf(one, other), rateOf(other, one)) >= least) {
          first[static_cast<size_t>(other)] = start;
          pending.push_back(other);
        }
    }
  }
  return first;
}

} // namespace

Domains domainsOf(int32_t devices, const Rates &rateOf) {
  Domains domains;
  int64_t fastest = 0;
  for (int32_t from = 0; from < devices; ++from)
    for (int32_t to = 0; to < devices; ++to)
      if (from != to)
        fastest = std::max(fastest, rateOf(from, to));
  if (devices < 2)
    return domains;
  const std::vector<int32_t> first =
      firstsOf(devices, rateOf, std::max<int64_t>(1, fastest / 2));
  domains.size = std::count(first.begin(), first.end(), 0);
  domains.count = devices / domains.size;
  if (devices % domains.size != 0) {
    domains.fault = std::to_string(devices) +
                    " devices are not domains of fast links as large as the "
                    "first, which has " +
                    std::to_string(domains.size);
    return domains;
  }
  for (int32_t device = 0; device < devices; ++device) {
    const auto expected =
        static_cast<int32_t>(device / domains.size * domains.size);
    if (first[static_cast<size_t>(device)] == expected)
      continue;
    domains.fault =
        "device " + std::to_string(device) +
        " is not in the domain of fast links that its place asks for: the "
        "first domain has " +
        std::to_string(domains.size) +
        " devices, and domains must be equal and of consecutive devices";
    return domains;
  }
  int64_t inside = std::numeric_limits<int64_t>::max(), across = inside;
  for (int32_t from = 0; from < devices; ++from)
    for (int32_t to = 0; to < devices; ++to) {
      if (from == to)
        continue;
      const bool isInside =
          first[static_cast<size_t>(from)] == first[static_cast<size_t>(to)];
      int64_t &slowest = isInside ? inside : across;
      slowest = std::min(slowest, rateOf(from, to));
    }
  domains.insideBytesPerUs = domains.size > 1 ? inside : 0;
  domains.acrossBytesPerUs = domains.count > 1 ? across : 0;
  return domains;
}

} // namespace rondo::groups
