//===- Lengths.h - Lengths of documents -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of lengths in tokens, such as python -m rondo.lengths writes:
//
//   512                    a number a line,
//   {"tokens": 512}        an object a line, with a key that the caller names,
//   [512, [100, 28]]       or one list
//
// An entry is a number, the length of one document, or a list of numbers, those
// of several documents of one micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_LENGTHS_H
#define RONDO_FORMATS_LENGTHS_H

#include "formats/json/Value.h"

namespace rondo::formats {

/// The documents of a micro-batch.
using DocumentLengths = std::vector<int64_t>;

/// A document is no longer.
inline constexpr int64_t maxDocumentLength = (int64_t(1) << 31) - 1;

/// Reads a file's entries. `key` is that of the objects; empty: there are none.
/// A fault names line and column.
Result<std::vector<DocumentLengths>> readLengths(llvm::StringRef text,
                                                 llvm::StringRef key);

/// The packing of documents into micro-batches.
struct PackedLengths {
  int64_t microbatches, rowTokens;
  /// Which of the batches, in the order of the file.
  int64_t batch = 0;
};

/// The micro-batches of a batch of documents: those that are longer than a row
/// are cut, as many as fill all rows are taken, and packLongestFirst() packs
/// them (kinds/Packing.h). The last batch may have fewer tokens. Every entry is
/// one document. A fault if there is not a document for each row.
Result<std::vector<DocumentLengths>>
packLengths(const std::vector<DocumentLengths> &entries,
            const PackedLengths &how);

/// Tokens and pairs of a micro-batch: the sum of the lengths, and that of their
/// squares.
Result<std::vector<int64_t>> tokensAndPairs(const DocumentLengths &lengths);

} // namespace rondo::formats

#endif // RONDO_FORMATS_LENGTHS_H
