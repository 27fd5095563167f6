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
#include <memory>
#include <string>
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
  /// Number of message sizes in the fit.
  int32_t sizes = 0;
  /// Whether each size has two transfers, so that the spread is known.
  int32_t hasSpread = 0;
  /// Likely error of the figures, by the noise of the sizes; 0 for a figure
  /// that could not be measured.
  double latencySpreadNs = 0, bytesPerUsSpread = 0;
  /// The root of the mean square of what the fit leaves over, of all sizes.
  double residualNs = 0;
  /// Possible difference of the clocks of both ends after the correction; 0 if
  /// both ends have one clock.
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

//===----------------------------------------------------------------------===//
// Time stamps of both ends of a channel.
//
// The two ends of a channel may have different clocks. Each end keeps the
// stamps of its last messages; a reading combines them, and takes the clocks'
// difference from two comparisons, one before the messages and one after. So no
// stamp travels with a message, and clocks that drift apart evenly do no harm.
//===----------------------------------------------------------------------===//

/// The clock of the stamps: cheap to read, in its own units.
class StampClock {
public:
  virtual ~StampClock();
  virtual uint64_t now() = 0;
  virtual double nsPerUnit() const = 0;
  /// Clocks of the same name always show the same time. Empty: this clock has
  /// no name, and others may differ.
  virtual std::string name() const = 0;
};
/// The processor's counter (runtime/base/clock.h), which the processes of one
/// machine share.
std::unique_ptr<StampClock> makeTickClock();

/// A message as one end of its channel saw it.
struct Stamps {
  int64_t bytes = 0;
  /// When it was sent; at the other end, when its receive was posted.
  uint64_t begun = 0;
  /// At the receiver's end.
  uint64_t arrived = 0;
  /// The delay of an imposed link.
  int64_t imposedNs = 0;
};

/// A question to another process, and its answer.
struct RoundTrip {
  uint64_t sent = 0, answered = 0;
  /// On the other's clock, in between.
  uint64_t theirs = 0;
};

/// Times of two clocks at the same moment.
struct ClockPoint {
  uint64_t mine = 0, theirs = 0;
};

/// The other clock's time in the middle of the shortest round trip; the error
/// is at most half of that. `trips` must not be empty.
ClockPoint compareClocks(const std::vector<RoundTrip> &trips);

/// Converts times of another clock to this process's clock. Without a point
/// both are the same.
class ClockMap {
public:
  /// Points must come in the order of time; the last two count.
  void add(ClockPoint point) {
    before = isEmpty ? point : last;
    last = point;
    isEmpty = false;
  }
  /// Exact for clocks that drift evenly between the two points.
  uint64_t toMine(uint64_t theirs) const;

private:
  bool isEmpty = true;
  ClockPoint before, last;
};

/// Adds the transfers of the same messages as both ends saw them: each starts
/// when it has been sent and its receive has been posted, whichever is later on
/// the receiver's clock, whose unit is `nsPerUnit`, and ends when it arrived.
/// The meter's durations are in ns, so that an imposed delay enters exactly
/// while `nsPerUnit` is an estimate; none is below the imposed delay. Returns
/// the same transfers, in their order.
std::vector<Transfer> addTransfers(LinkMeter &meter,
                                   const std::vector<Stamps> &sent,
                                   const std::vector<Stamps> &received,
                                   const ClockMap &toReceiver,
                                   double nsPerUnit);

/// The last stamps of one end of a channel, by the messages' numbers.
class StampRing {
public:
  /// The number of stamps kept: enough to give the shortest transfer of each
  /// size.
  static constexpr uint32_t most = 1024;

  /// Before this call nothing is kept.
  void enable() { kept.resize(most); }
  bool isEnabled() const { return !kept.empty(); }
  Stamps &of(uint32_t number) { return kept[number % most]; }
  /// The stamps of the messages since the last call, the latest of which is
  /// number `next` - 1; the oldest are left out if there are too many.
  std::vector<Stamps> take(uint32_t next);

private:
  std::vector<Stamps> kept;
  uint32_t taken = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_LINKS_H
