//===- stamps.cpp - When messages were sent and arrived -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/stamps.h"

#include "runtime/base/ticks.h"

#include <algorithm>
#include <cmath>

using namespace rondo::runtime;

StampClock::~StampClock() = default;

namespace {

class TickClock : public StampClock {
public:
  uint64_t now() override { return Ticks::now(); }
  double nsPerUnit() const override { return ticks.nsPerTick(); }
  std::string name() const override {
    const std::string machine = clockName();
    return machine.empty()      ? ""
           : Ticks::isCounter() ? machine + " ticks"
                                : machine + " ns";
  }

private:
  const Ticks ticks;
};

} // namespace

std::unique_ptr<StampClock> rondo::runtime::makeTickClock() {
  return std::make_unique<TickClock>();
}

ClockPoint rondo::runtime::compareClocks(const std::vector<RoundTrip> &trips) {
  const RoundTrip &best = *std::min_element(
      trips.begin(), trips.end(), [](const RoundTrip &a, const RoundTrip &b) {
        return a.answered - a.sent < b.answered - b.sent;
      });
  return {best.sent + (best.answered - best.sent) / 2, best.theirs};
}

uint64_t ClockMap::toMine(uint64_t theirs) const {
  if (isEmpty)
    return theirs;
  // Differences are signed and small enough for a double.
  auto between = [](uint64_t from, uint64_t to) {
    return static_cast<double>(static_cast<int64_t>(to - from));
  };
  const double length = between(before.theirs, last.theirs);
  const double rate =
      length > 0 ? between(before.mine, last.mine) / length : 1.0;
  return before.mine + static_cast<uint64_t>(
                           std::llround(rate * between(before.theirs, theirs)));
}

std::vector<Transfer>
rondo::runtime::addTransfers(LinkMeter &meter, const std::vector<Stamps> &sent,
                             const std::vector<Stamps> &received,
                             const ClockMap &toReceiver, double nsPerUnit) {
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
    const Stamps &end = received[i];
    const uint64_t left = toReceiver.toMine(sent[i].begun);
    // The nearer of the two: unsigned differences from the arrival.
    const int64_t sinceSent = static_cast<int64_t>(end.arrived - left),
                  sincePosted = static_cast<int64_t>(end.arrived - end.begun);
    const int64_t duration =
        std::max<int64_t>(0, std::min(sinceSent, sincePosted));
    const int64_t durationNs =
        std::llround(nsPerUnit * static_cast<double>(duration));
    meter.add(end.bytes, static_cast<uint64_t>(durationNs + end.imposedNs));
    const auto sinceFirst = static_cast<double>(
        static_cast<int64_t>(end.arrived - received.front().arrived));
    const int64_t arrivedNs = std::llround(nsPerUnit * sinceFirst);
    transfers.push_back(
        {end.bytes, arrivedNs - durationNs, arrivedNs + end.imposedNs});
  }
  return transfers;
}

std::vector<Stamps> StampRing::take(uint32_t next) {
  const uint32_t count = std::min(next - taken, most);
  std::vector<Stamps> latest;
  for (uint32_t number = next - count; number != next; ++number)
    latest.push_back(of(number));
  taken = next;
  return latest;
}
