//===- TopologyWords.h - Words of a table of nvidia-smi ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to Topology.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_TOPOLOGYWORDS_H
#define RONDO_FORMATS_TOPOLOGYWORDS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::formats {

/// A word of the table, without escapes.
struct TopologyWord {
  std::string text;
  /// Column of its first byte in the file, from 1.
  int64_t column = 0;
};

/// The words of a line without a terminal's escapes. Words that lost the tabs
/// between them are split: `NODENODE`, `GPU0GPU1`.
std::vector<TopologyWord> wordsOf(llvm::StringRef line);

/// Whether a cell or a name has something after it that wordsOf() cannot
/// separate from it: 18 links and an affinity from 0 on in `NV180-51`.
bool isFused(llvm::StringRef text);

} // namespace rondo::formats

#endif // RONDO_FORMATS_TOPOLOGYWORDS_H
