//===- links.cpp - Measures the transfers of channels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/links.h"

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
    // What a change of this time does to the latency.
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
