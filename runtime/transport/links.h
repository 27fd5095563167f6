//===- links.h - Measures the transfers of channels -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transfer starts when the message has been sent and its receive has been
// posted, whichever is later, and ends when it has arrived.
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
  int64_t count = 0;
  /// The shortest transfer and the one after it, in the meter's unit;
  /// UINT64_MAX where there are fewer. They lie as far apart as the shortest is
  /// likely to be off.
  uint64_t least = UINT64_MAX, next = UINT64_MAX;

  void take(uint64_t duration) {
    if (duration < least) {
      next = least;
      least = duration;
    } else if (duration < next) {
      next = duration;
    }
  }
};

/// A message's transfer, in ns of one clock.
struct Transfer {
  int64_t bytes = 0;
  /// When it had been sent and its receive been posted, and when it arrived.
  int64_t beginNs = 0, endNs = 0;
};

/// The transfers of a channel, by size. Only one thread at a time may add.
class LinkMeter {
public:
  /// The number of distinct sizes. Messages of further sizes are not counted:
  /// programs send few sizes.
  static constexpr int maxSizes = 16;

  void add(int64_t bytes, uint64_t duration) {
    // Usually the size that came last.
    LinkPoint *point = &points[last];
    if (point->bytes != bytes || point->count == 0) {
      point = find(bytes);
      if (!point)
        return;
    }
    ++point->count;
    point->take(duration);
  }
  std::vector<LinkPoint> sizes() const {
    return std::vector<LinkPoint>(points, points + used);
  }

private:
  LinkPoint *find(int64_t bytes);

  LinkPoint points[maxSizes];
  int used = 0, last = 0;
};

/// A channel's latency and bandwidth; 0: could not be measured.
struct LinkFigures {
  int32_t from = 0, to = 0;
  int64_t messages = 0;
  double latencyNs = 0, bytesPerUs = 0;
  /// How many sizes of messages they are fitted to.
  int32_t sizes = 0;
  /// Whether each size has two transfers, so that the spread is known.
  int32_t hasSpread = 0;
  /// How far the figures are likely to be off, by the noise of the sizes; of a
  /// figure that could not be measured 0.
  double latencySpreadNs = 0, bytesPerUsSpread = 0;
  /// The root of the mean square of what the fit leaves over, of all sizes.
  double residualNs = 0;
  /// How far the clocks of both ends may differ beyond what has been corrected;
  /// 0 if both ends have one clock.
  double clockErrorNs = 0;
};

/// Fits `latency + bytes / bandwidth` to the shortest transfer of each size, by
/// least squares. If there is only one size, the latency is `startLatencyNs`,
/// that of an empty message at start-up. `nsPerUnit` is the length of the
/// points' unit; `stepNs` that of the clock's steps, 0 if times are finer than
/// they have to be. There is a bandwidth only if times grow with the size by
/// more than their noise, which takes two transfers of each size; without one
/// the latency is the mean of the times. There is no latency if the fit gives a
/// negative one.
LinkFigures fitLink(const std::vector<LinkPoint> &points, double nsPerUnit,
                    double startLatencyNs, double stepNs = 0);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_LINKS_H
