//===- adaptive_log.cpp - What the user sees of an adaptive run -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/progress.h"
#include "runtime/trainer/safetensors.h"

#include <algorithm>
#include <cinttypes>

using namespace rondo;
using namespace rondo::runtime;

void Progress::measured(int64_t number, const Executable &executable,
                        const Measurements &measured) {
  if (!log)
    return;
  std::fprintf(log, "{\"iteration\":%" PRId64 ",\"links\":[", number);
  const char *separator = "";
  for (const LinkEstimate &link : measured.links) {
    std::fprintf(log,
                 "%s{\"from\":%d,\"to\":%d,\"messages\":%" PRId64
                 ",\"bytes\":%" PRId64 ",\"median_ns\":%" PRId64
                 ",\"spread_ns\":%" PRId64 ",\"latency_ns\":%" PRId64
                 ",\"bytes_per_us\":%" PRId64 "}",
                 separator, link.from, link.to, link.messages, link.bytes,
                 link.medianNs, link.spreadNs, link.latencyNs, link.bytesPerUs);
    separator = ",";
  }
  std::fprintf(log, "],\"stages\":[");
  separator = "";
  for (int32_t h = 0; h < executable.numReplicas; ++h) {
    const ReplicaDesc &replica = executable.replicas[h];
    std::fprintf(log, "%s{\"stage\":%s,\"rank\":%d", separator,
                 jsonString(executable.stages[replica.stage].name).c_str(),
                 replica.rank);
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.hasCost())
        if (const int64_t ns = measured.workNs[static_cast<size_t>(
                h * numCostColumns + costColumn(traits.kind))];
            ns > 0)
          std::fprintf(log, ",\"%s_ns\":%" PRId64, traits.keyword, ns);
    std::fprintf(log, "}");
    separator = ",";
  }
  std::fprintf(log, "]}\n");
  flushLog();
}

void Progress::estimates(int64_t number,
                         const std::vector<const ProgramDesc *> &programs,
                         const std::vector<int64_t> &ns, size_t current) {
  if (!log)
    return;
  std::fprintf(log, "{\"iteration\":%" PRId64 ",\"runs\":%s,\"estimates\":{",
               number, jsonString(programs[current]->name).c_str());
  for (size_t p = 0; p < programs.size(); ++p)
    std::fprintf(log, "%s%s:%" PRId64, p > 0 ? "," : "",
                 jsonString(programs[p]->name).c_str(), ns[p]);
  std::fprintf(log, "}}\n");
  flushLog();
}

void Progress::switched(int64_t number, const ProgramDesc &from,
                        const ProgramDesc &to, int64_t fromNs, int64_t toNs) {
  if (log) {
    std::fprintf(
        log, "{\"iteration\":%" PRId64 ",\"switch\":{\"from\":%s,\"to\":%s}}\n",
        number, jsonString(from.name).c_str(), jsonString(to.name).c_str());
    flushLog();
  }
  if (options.quiet)
    return;
  note("iteration " + std::to_string(number) + ": from now on '" + to.name +
       "', estimated at " + duration(toNs) + " an iteration; '" + from.name +
       "' at " + duration(fromNs));
}
