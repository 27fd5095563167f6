//===- links.cpp - Fuzzes traces of links ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/trainer/link_trace_reader.h"
#include "runtime/transport/link_trace.h"
#include "test/fuzz/Target.h"

using namespace rondo::runtime;
using rondo::fuzz::require;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int32_t ranks = 4;
  LinkTrace trace;
  try {
    trace = parseLinkTrace(rondo::fuzz::textOf(data, size), "trace", ranks, 0);
  } catch (const Error &) {
    return 0;
  }
  require(!trace.rows.empty(), "a trace that is read has a row");
  for (const LinkTrace::Row &row : trace.rows) {
    require(row.at >= 0 && row.from < ranks && row.to < ranks,
            "rows name ranks and times");
    require(row.link.leftBytesPerUs() > 0 || row.link.bytesPerUs == 0,
            "other traffic leaves something");
    require(row.link.otherMessageBytes == 0 ||
                (row.link.otherBytesPerUs > 0 &&
                 row.link.otherMessageBytes / row.link.otherBytesPerUs >= 100),
            "a message of other traffic takes 100 us to send");
  }
  ImposedNetwork network({}, std::make_shared<const LinkTrace>(trace));
  int64_t now = 1000, before = 0;
  for (int64_t iteration = 1; iteration < 5; ++iteration) {
    network.beginIteration(iteration, now);
    const SerialLink::Passage passage = network.link(0, 1).carry(100, now);
    require(passage.arrivalNs >= passage.carriedNs && passage.carriedNs >= now,
            "a message arrives after it has been carried");
    require(passage.arrivalNs >= before, "messages arrive in order");
    before = passage.arrivalNs;
    now += 1000000;
  }
  return 0;
}
