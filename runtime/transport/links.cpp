//===- links.cpp - Measures the transfers of channels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/links.h"

#include "runtime/base/clock.h"

#include <algorithm>
#include <cmath>

using namespace rondo::runtime;

LinkPoint *LinkMeter::find(int64_t bytes) {
  for (int i = 0; i < used; ++i)
    if (points[i].bytes == bytes)
      return &points[last = i];
  if (used == maxSizes)
    return nullptr;
  last = used++;
  points[last].bytes = bytes;
  return &points[last];
}

/// A slope must be this many times its error. If times do not depend on the
/// size, about one in twenty does by chance.
static constexpr double leastSlopeInErrors = 3;

LinkFigures rondo::runtime::fitLink(const std::vector<LinkPoint> &points,
                                    double nsPerUnit, double startLatencyNs,
                                    double stepNs) {
  LinkFigures figures;
  if (points.empty())
    return figures;
  double meanBytes = 0, meanNs = 0;
  bool isNoiseKnown = true;
  for (const LinkPoint &point : points) {
    figures.messages += point.count;
    meanBytes += static_cast<double>(point.bytes);
    meanNs += nsPerUnit * static_cast<double>(point.least);
    isNoiseKnown &= point.next != UINT64_MAX;
  }
  const double count = static_cast<double>(points.size());
  meanBytes /= count;
  meanNs /= count;
  // A single size is fitted together with an empty message.
  const bool isAlone = points.size() == 1;
  const double originBytes = isAlone ? 0 : meanBytes;
  const double originNs = isAlone ? startLatencyNs : meanNs;
  double products = 0, squares = 0, errors = 0;
  for (const LinkPoint &point : points) {
    const double bytes = static_cast<double>(point.bytes) - originBytes;
    const double noise =
        nsPerUnit * static_cast<double>(point.next - point.least);
    const double error = bytes * std::max(noise, stepNs);
    products +=
        bytes * (nsPerUnit * static_cast<double>(point.least) - originNs);
    squares += bytes * bytes;
    errors += error * error;
  }
  double slope = 0;
  if (isNoiseKnown && products > 0 &&
      products > leastSlopeInErrors * std::sqrt(errors))
    slope = products / squares;
  figures.latencyNs = std::max(0.0, meanNs - slope * meanBytes);
  figures.bytesPerUs = slope > 0 ? 1000 / slope : 0;
  figures.sizes = static_cast<int32_t>(points.size());
  figures.hasSpread = isNoiseKnown;
  double latencySquares = 0, leftSquares = 0;
  for (const LinkPoint &point : points) {
    const double bytes = static_cast<double>(point.bytes);
    const double ns = nsPerUnit * static_cast<double>(point.least);
    const double left = ns - (figures.latencyNs + slope * bytes);
    leftSquares += left * left;
    if (!isNoiseKnown)
      continue;
    const double noise = std::max(
        nsPerUnit * static_cast<double>(point.next - point.least), stepNs);
    // Derivative of the latency with respect to this time.
    const double weight =
        1 / count -
        (slope > 0 ? meanBytes * (bytes - originBytes) / squares : 0);
    latencySquares += weight * weight * noise * noise;
  }
  figures.residualNs = std::sqrt(leftSquares / count);
  if (!isNoiseKnown)
    return figures;
  if (figures.latencyNs > 0)
    figures.latencySpreadNs = std::sqrt(latencySquares);
  if (slope > 0)
    figures.bytesPerUsSpread =
        figures.bytesPerUs * std::sqrt(errors) / squares / slope;
  return figures;
}

//===----------------------------------------------------------------------===//
// Time stamps of both ends of a channel.
//===----------------------------------------------------------------------===//

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
