//===- links.h - What channels measure of their transfers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transfer lasts from the moment when a message has been sent and its receive
// has been posted, whichever is later, until it has arrived.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_LINKS_H
#define RONDO_RUNTIME_TRANSPORT_LINKS_H

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// Transfers of one size.
struct LinkPoint {
  int64_t bytes = 0;
  /// How many there were; the shortest, in what the meter counts.
  int64_t count = 0;
  uint64_t least = UINT64_MAX;
};

/// The transfers of a channel, by size. One thread at a time adds.
class LinkMeter {
public:
  /// Sizes that are told apart. Messages of others are not counted: programs
  /// send few sizes.
  static constexpr int mostSizes = 16;

  void add(int64_t bytes, uint64_t duration) {
    // Mostly the size that came last.
    LinkPoint *point = &points[last];
    if (point->bytes != bytes || point->count == 0) {
      point = find(bytes);
      if (!point)
        return;
    }
    ++point->count;
    if (duration < point->least)
      point->least = duration;
  }
  std::vector<LinkPoint> sizes() const {
    return std::vector<LinkPoint>(points, points + used);
  }

private:
  LinkPoint *find(int64_t bytes);

  LinkPoint points[mostSizes];
  int used = 0, last = 0;
};

/// A channel's latency and bandwidth.
struct LinkFigures {
  int32_t from = 0, to = 0;
  int64_t messages = 0;
  double latencyNs = 0;
  /// 0: no time of its own for a byte has been seen.
  double bytesPerUs = 0;
  /// By how much the clocks of both ends may be apart beyond what has been
  /// corrected; 0 where both ends have one clock.
  double clockErrorNs = 0;
};

/// Fits `latency + bytes / bandwidth` to the shortest transfer of each size, by
/// least squares. With one size alone `startLatencyNs`, of a message without
/// bytes at start-up, is the latency. `nsPerUnit` is the length of what the
/// points count.
LinkFigures fitLink(const std::vector<LinkPoint> &points, double nsPerUnit,
                    double startLatencyNs);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_LINKS_H
