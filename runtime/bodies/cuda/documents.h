//===- documents.h - The documents of a micro-batch on CUDA -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like TaskDocuments (bodies/layers.h), for kernels. Their grids depend only on
// the numbers of documents and tokens, so a recorded launch holds for every row
// with these.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_DOCUMENTS_H
#define RONDO_RUNTIME_BODIES_CUDA_DOCUMENTS_H

#include "runtime/bodies/body.h"
#include "runtime/model/layouts.h"

#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

/// Consecutive tokens of one document, which a block handles.
struct DocumentTile {
  /// The document's first token, and its number of tokens.
  int64_t begin;
  int tokens;
  /// The tile's first token in the document. From `tokens` on: the tile is
  /// empty.
  int first;
};

struct Documents {
  /// In the device's memory: document k has the tokens from starts[k] to
  /// starts[k + 1]. Null: `count` samples of equal length.
  const int32_t *starts;
  int count;
  /// Tokens of a sample, or of the row.
  int sequence;

  Documents(int samples, int sequence)
      : starts(nullptr), count(samples), sequence(sequence) {}
  Documents(const LayerDesc &layer, const LayerArgs &args)
      : starts(args.documentStarts), count(layer.batch),
        sequence(layer.sequence) {
    if (layer.rowTokens == 0)
      return;
    count = starts ? args.numDocuments : 1;
    sequence = layer.rowTokens;
  }

  __host__ __device__ int64_t tokens() const {
    return starts ? sequence : int64_t(count) * sequence;
  }

  /// A document's first token.
  __device__ __forceinline__ int64_t first(int document) const {
    return starts ? starts[document] : int64_t(document) * sequence;
  }
  __device__ __forceinline__ int tokensOf(int document) const {
    return starts ? starts[document + 1] - starts[document] : sequence;
  }
  /// The document of a token.
  __device__ __forceinline__ int of(int64_t token) const {
    if (!starts)
      return static_cast<int>(token / sequence);
    return last([&](int document) { return starts[document] <= token; });
  }
  /// The place of a token in its document.
  __device__ __forceinline__ int64_t placeOf(int64_t token) const {
    return starts ? token - starts[of(token)] : token % sequence;
  }

  // Tiles of `rows` tokens. In a row of documents the tiles of document k begin
  // at number starts[k] / rows + k, so no table lists them; one tile at most
  // between two documents is empty. All samples have the same tiles.

  /// The tile of the block with this x and z of a grid of gridOf(). `isRow`:
  /// whether there are starts.
  template <int rows, bool isRow>
  __device__ __forceinline__ DocumentTile tile(unsigned x, unsigned z) const {
    const int number = static_cast<int>(x);
    if (!isRow)
      return {int64_t(z) * sequence, sequence, number * rows};
    const int document =
        last([&](int k) { return firstTile<rows>(k) <= number; });
    const int begin = starts[document];
    return {begin, starts[document + 1] - begin,
            (number - firstTile<rows>(document)) * rows};
  }
  /// The same with the last tile of each document first, of `blocks` blocks.
  template <int rows, bool isRow>
  __device__ __forceinline__ DocumentTile tileFromLast(unsigned x, unsigned z,
                                                       unsigned blocks) const {
    if (!isRow)
      return tile<rows, isRow>(blocks - 1 - x, z);
    DocumentTile tile = this->tile<rows, isRow>(x, z);
    const int last = (tile.tokens - 1) / rows * rows;
    tile.first = tile.first <= last ? last - tile.first : tile.tokens;
    return tile;
  }
  /// A block for each tile and each of `heads`.
  template <int rows> dim3 gridOf(int heads) const {
    if (!starts)
      return dim3((sequence + rows - 1) / rows, heads, count);
    return dim3(sequence / rows + count, heads, 1);
  }

private:
  template <int rows>
  __device__ __forceinline__ int firstTile(int document) const {
    return starts[document] / rows + document;
  }
  /// The last document that is before something; the first one is.
  template <typename IsBefore>
  __device__ __forceinline__ int last(IsBefore isBefore) const {
    int found = 0;
    for (int end = count; end - found > 1;) {
      const int middle = found + (end - found) / 2;
      if (isBefore(middle))
        found = middle;
      else
        end = middle;
    }
    return found;
  }
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_DOCUMENTS_H
