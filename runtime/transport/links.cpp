//===- links.cpp - Measures the transfers of channels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/links.h"

#include <algorithm>

using namespace rondo::runtime;

LinkPoint *LinkMeter::find(int64_t bytes) {
  for (int i = 0; i < used; ++i)
    if (points[i].bytes == bytes)
      return &points[last = i];
  if (used == mostSizes)
    return nullptr;
  last = used++;
  points[last].bytes = bytes;
  return &points[last];
}

LinkFigures rondo::runtime::fitLink(const std::vector<LinkPoint> &points,
                                    double nsPerUnit, double startLatencyNs) {
  LinkFigures figures;
  double meanBytes = 0, meanNs = 0;
  for (const LinkPoint &point : points) {
    figures.messages += point.count;
    meanBytes += static_cast<double>(point.bytes);
    meanNs += nsPerUnit * static_cast<double>(point.least);
  }
  if (points.empty())
    return figures;
  const double count = static_cast<double>(points.size());
  meanBytes /= count;
  meanNs /= count;
  double slope = 0;
  if (points.size() == 1) {
    if (meanBytes > 0)
      slope = (meanNs - startLatencyNs) / meanBytes;
  } else {
    double products = 0, squares = 0;
    for (const LinkPoint &point : points) {
      const double bytes = static_cast<double>(point.bytes) - meanBytes;
      products +=
          bytes * (nsPerUnit * static_cast<double>(point.least) - meanNs);
      squares += bytes * bytes;
    }
    slope = products / squares;
  }
  slope = std::max(slope, 0.0);
  figures.latencyNs = std::max(0.0, meanNs - slope * meanBytes);
  figures.bytesPerUs = slope > 0 ? 1000 / slope : 0;
  return figures;
}
