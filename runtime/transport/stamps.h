//===- stamps.h - When messages were sent and arrived -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ends of a channel may have different clocks. Each end keeps the
// stamps of its last messages; a reading combines them, and takes the clocks'
// difference from two comparisons, one before the messages and one after. So no
// stamp travels with a message, and clocks that drift apart evenly do no harm.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_STAMPS_H
#define RONDO_RUNTIME_TRANSPORT_STAMPS_H

#include "runtime/transport/links.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

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
/// The processor's counter (runtime/base/ticks.h), which the processes of one
/// machine share.
std::unique_ptr<StampClock> makeTickClock();

/// A message as one end of its channel saw it.
struct Stamps {
  int64_t bytes = 0;
  /// When it was sent; at the other end, when its receive was posted.
  uint64_t begun = 0;
  /// At the receiver's end.
  uint64_t arrived = 0;
  /// How much later an imposed link makes it arrive.
  int64_t imposedNs = 0;
};

/// A question to another process, and its answer.
struct RoundTrip {
  uint64_t sent = 0, answered = 0;
  /// On the other's clock, in between.
  uint64_t theirs = 0;
};

/// What two clocks showed at the same time.
struct ClockPoint {
  uint64_t mine = 0, theirs = 0;
};

/// What the other clock showed in the middle of the shortest round trip; wrong
/// by at most half of that. `trips` must not be empty.
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

#endif // RONDO_RUNTIME_TRANSPORT_STAMPS_H
