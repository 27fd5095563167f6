//===- link_report.h - What channels have measured --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_LINK_REPORT_H
#define RONDO_RUNTIME_TRAINER_LINK_REPORT_H

#include "runtime/execution/connections.h"
#include "runtime/launch/world.h"
#include "runtime/trainer/options.h"
#include "runtime/trainer/progress.h"
#include "runtime/transport/links.h"

#include <string>
#include <vector>

namespace rondo::runtime {

/// Prints a line for each channel that measures (--links), and writes them as a
/// cluster (--links-file). All processes call it. Throws Error.
void reportLinks(const Connections &connections, const Executable &executable,
                 const Options &options, const World &world,
                 Progress &progress);

/// `30 messages, latency 12.345 us, 2000 bytes/us`, with the spread where there
/// is one.
std::string describeLink(const LinkFigures &link);

/// A pipe.cluster of `ranks` devices with the links that were measured, ordered
/// by their ranks; a comment for each of them says how. Other pairs have the
/// largest latency and the lowest bandwidth of these. What could not be
/// measured is left out, that is, without delay or limit.
std::string clusterOf(const std::vector<LinkFigures> &links, int32_t ranks);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LINK_REPORT_H
