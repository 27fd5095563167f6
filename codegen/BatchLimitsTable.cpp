//===- BatchLimitsTable.cpp - Limits of the batches of a program ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BatchLimitsTable.h"

#include "codegen/TableText.h"
#include "kinds/Actions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace rondo;
using namespace rondo::codegen;

std::string rondo::codegen::batchLimitsTable(const BatchLimitsText &limits) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// By rank: bytes of activations in flight\n";
  writeArray(os, "int64_t", "activation_bytes", limits.activationBytes);
  os << "// Predicted ns, fixed + ceil((each token + each pair) / over): by "
        "replica, of";
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.hasCost())
      os << " " << traits.keyword;
  os << "\nconstexpr rondo::AffineCost row_ns[] = {\n";
  for (const AffineCost &cost : limits.workNs)
    os << "    {" << cost.fixed << ", " << cost.perToken << ", " << cost.perPair
       << ", " << cost.over << "},\n";
  os << "};\n// Tokens of a row and of a document, micro-batches, tokens in "
        "flight\n"
        "constexpr BatchLimitsDesc limits = {"
     << limits.rowTokens << ", " << limits.documentTokens << ", "
     << limits.microbatches << ", " << limits.inFlightTokens
     << ", activation_bytes, row_ns};\n";
  return text;
}
