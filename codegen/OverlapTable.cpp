//===- OverlapTable.cpp - Tables of iterations that overlap ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/OverlapTable.h"

#include "codegen/TableText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace rondo;
using namespace rondo::codegen;

std::string rondo::codegen::overlapTable(const OverlapText &overlap) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// Weight-version lag per task in steps, micro-batch after "
        "micro-batch.\n";
  // Replicas with the same delays share a list.
  std::map<std::vector<int32_t>, size_t> lists;
  auto list = [&](const std::vector<int32_t> &delays) {
    auto [it, isNew] = lists.try_emplace(delays, lists.size());
    if (isNew)
      writeArray(os, "int16_t", "delays_" + std::to_string(it->second), delays);
    return it->second;
  };
  const size_t replicas = overlap.delays.forward.size();
  std::string rows;
  llvm::raw_string_ostream row(rows);
  auto word = [](bool is) { return is ? "true" : "false"; };
  for (size_t replica = 0; replica < replicas; ++replica) {
    const VersionPolicy &policy = overlap.policies[replica];
    const size_t forward = list(overlap.delays.forward[replica]),
                 backward = list(overlap.delays.backward[replica]),
                 recompute = list(overlap.delays.recompute[replica]);
    row << "    {delays_" << forward << ", delays_" << backward << ", delays_"
        << recompute << ", "
        << llvm::format("%.17g", overlap.delays.meanForward(replica)) << ", "
        << llvm::format("%.17g", overlap.delays.meanBackward(replica)) << ", "
        << llvm::format("%.17g", overlap.delays.meanRecompute(replica)) << ", "
        << word(policy.backward == BackwardWeights::Extrapolated) << ", "
        << word(policy.activations == BackwardActivations::Extrapolated)
        << "},\n";
  }
  os << "// By replica: delays of F, of I, W and B, and of R, their means; "
        "whether "
        "the\n// weights of the backward are moved back, and those of R.\n"
        "constexpr VersionDesc versions[] = {\n"
     << rows
     << "};\n// micro-batches with listed delays, how many repeat; "
        "iterations of a\n// repetition\nconstexpr OverlapDesc overlap = {"
     << overlap.delays.size() << ", " << overlap.delays.period << ", "
     << overlap.iterationsEach << ", versions, checkOverlap};\n";
  return text;
}
