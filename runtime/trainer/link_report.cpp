//===- link_report.cpp - What channels have measured ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/progress.h"

#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

using namespace rondo::runtime;

// No clock is finer than a nanosecond.
static bool hasLatency(const LinkFigures &link) {
  return link.latencyNs >= 0.5;
}

template <typename... Words>
static std::string printed(const char *format, Words... words) {
  char text[160];
  std::snprintf(text, sizeof text, format, words...);
  return text;
}

std::string rondo::runtime::describeLink(const LinkFigures &link) {
  std::string text = std::to_string(link.messages) + " messages, ";
  text += hasLatency(link) ? printed("latency %.3f us", link.latencyNs * 1e-3)
                           : "latency not measurable";
  text += link.bytesPerUs > 0 ? printed(", %.0f bytes/us", link.bytesPerUs)
                              : ", bandwidth not measurable";
  if (link.clockErrorNs > 0)
    text += printed(" (clocks compared to within %.3f us)",
                    link.clockErrorNs * 1e-3);
  // Links that are imposed are exact.
  const bool isExact = link.latencySpreadNs < 0.5 &&
                       link.bytesPerUsSpread < 0.5 && link.residualNs < 0.5;
  if (!link.hasSpread || isExact)
    return text;
  std::string spread;
  // A latency that was given at the start has no known spread.
  if (hasLatency(link) && link.latencySpreadNs > 0)
    spread += printed("+- %.3f us, ", link.latencySpreadNs * 1e-3);
  if (link.bytesPerUs > 0)
    spread += printed("+- %.0f bytes/us, ", link.bytesPerUsSpread);
  return text + " (" + spread +
         (link.sizes == 1 ? "1 size of messages)"
                          : printed("residual %.3f us over %d sizes)",
                                    link.residualNs * 1e-3, link.sizes));
}

/// ` <latency_ns = 5, bytes_per_us = 3>`, as far as they are known.
static std::string attributeOf(int64_t latencyNs, int64_t bytesPerUs) {
  std::string text;
  if (latencyNs > 0 || bytesPerUs == 0)
    text = "latency_ns = " + std::to_string(latencyNs);
  if (bytesPerUs > 0)
    text += (text.empty() ? "bytes_per_us = " : ", bytes_per_us = ") +
            std::to_string(bytesPerUs);
  return "<" + text + ">";
}

static int64_t latencyOf(const LinkFigures &link) {
  return hasLatency(link) ? std::llround(link.latencyNs) : 0;
}
static int64_t rateOf(const LinkFigures &link) {
  return link.bytesPerUs > 0
             ? std::max<int64_t>(1, std::llround(link.bytesPerUs))
             : 0;
}

std::string rondo::runtime::clusterOf(const std::vector<LinkFigures> &links,
                                      int32_t ranks) {
  std::string text =
      "// links: measured by messages of a run; least squares over the "
      "shortest "
      "transfer of each size\n"
      "// a figure that could not be measured is left out: no latency, or no "
      "limit of the bandwidth\n";
  int64_t latencyNs = 0, bytesPerUs = 0;
  std::string lines;
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const LinkFigures &link : links) {
    text += "// " + std::to_string(link.from) + " -> " +
            std::to_string(link.to) + ": " + describeLink(link) + "\n";
    // A pair has one link, of whichever program.
    if (!pairs.emplace(link.from, link.to).second)
      continue;
    const int64_t rate = rateOf(link);
    latencyNs = std::max(latencyNs, latencyOf(link));
    if (rate > 0)
      bytesPerUs = bytesPerUs == 0 ? rate : std::min(bytesPerUs, rate);
    lines += "  pipe.link @d" + std::to_string(link.from) + " -> @d" +
             std::to_string(link.to) + " " +
             attributeOf(latencyOf(link), rate) + "\n";
  }
  if (pairs.size() < static_cast<size_t>(ranks) * (ranks - 1))
    text += "// other pairs sent nothing: an assumption, the largest latency "
            "and the lowest bandwidth of these\n";
  text += "pipe.cluster @measured link" + attributeOf(latencyNs, bytesPerUs) +
          " {\n";
  for (int32_t r = 0; r < ranks; ++r)
    text += "  pipe.device @d" + std::to_string(r) + "\n";
  return text + lines + "}\n";
}

void rondo::runtime::reportLinks(const Connections &connections,
                                 const Executable &executable,
                                 const Options &options, const World &world,
                                 Progress &progress) {
  // Here the time-out holds for processes that do not come.
  if (!world.isAlone())
    world.store->exchange("the figures of links", "");
  std::vector<LinkFigures> links = connections.transport().links();
  if (links.empty())
    progress.note("note: the channels of this transport measure nothing");
  std::sort(links.begin(), links.end(),
            [](const LinkFigures &a, const LinkFigures &b) {
              return std::tie(a.from, a.to) < std::tie(b.from, b.to);
            });
  if (options.showLinks)
    for (const LinkFigures &link : links)
      progress.note("link " + std::to_string(link.from) + " -> " +
                    std::to_string(link.to) + ": " + describeLink(link));
  if (options.linksFile.empty() || !world.isFirst() || links.empty())
    return;
  int32_t ranks = 0;
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    ranks = std::max(ranks, executable.programs[p].numRanks);
  const std::string text = clusterOf(links, ranks);
  writeTextFile(options.linksFile, "links '" + options.linksFile + "'", text);
  progress.note("wrote the links of " + std::to_string(ranks) +
                " devices to '" + options.linksFile + "'");
}
