//===- attention_tiles.h - Tiles of rows in shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used by the tensor-core attention kernels. A block is 4 warps. A tile holds
// rows of one head, padded with zeros to D columns and to its number of rows.
// Rows are D + 8 elements apart, so that the 8 rows of a matrix are in
// different banks.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ATTENTION_TILES_H
#define RONDO_RUNTIME_BODIES_CUDA_ATTENTION_TILES_H

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/tensor_core.h"

namespace rondo::runtime::cuda {

inline constexpr int attentionThreads = 128;
inline constexpr float log2e = 1.4426950408889634f;

template <int D> constexpr int tileStride = D + 8;
/// Elements of a tile.
template <int D, int rows> constexpr int tileSize = rows * tileStride<D>;

/// Starts copying rows [first, first + rows) of a head; rows from `end` on
/// become zeros. Elements of a row are contiguous, rows are `stride` apart. All
/// threads of the block must call it; awaitCopies() and a barrier must follow.
template <int D, int rows>
__device__ __forceinline__ void loadTile(Bf16 *tile, const Bf16 *head,
                                         int64_t stride, int first, int end,
                                         int width) {
  constexpr int packs = D / 8;
  if (width % 8 == 0) {
    // Each thread stays in one column.
    constexpr int step = attentionThreads / packs;
    const int column = threadIdx.x % packs * 8;
    int row = threadIdx.x / packs;
    const Bf16 *from = head + (first + row) * stride + column;
    Bf16 *to = tile + row * tileStride<D> + column;
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
      const bool valid = first + row < end && column < width;
      copyAsync(to, valid ? from : head, valid);
      row += step;
      from += step * stride;
      to += step * tileStride<D>;
    }
    return;
  }
  // Packs would be misaligned.
  for (int i = threadIdx.x; i < rows * D; i += attentionThreads) {
    const int row = i / D, column = i % D;
    const bool valid = first + row < end && column < width;
    tile[row * tileStride<D> + column] =
        valid ? head[(first + row) * stride + column] : fromFloat<Bf16>(0.f);
  }
}

/// Writes a warp's 16 rows of `values` * factor (C fragments) to rows [first,
/// end) of a head, through the warp's own rows of a tile, so that each store
/// has 16 bytes.
template <int D>
__device__ __forceinline__ void
storeRows(Bf16 *tileRows, const float (&values)[D / 8][4], float factorTop,
          float factorBottom, Bf16 *head, int64_t stride, int first, int end,
          int width) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  // The other lanes may still read what was there.
  __syncwarp();
#pragma unroll
  for (int n = 0; n < D / 8; ++n) {
    const uint32_t top =
        packBf16(values[n][0] * factorTop, values[n][1] * factorTop);
    const uint32_t bottom =
        packBf16(values[n][2] * factorBottom, values[n][3] * factorBottom);
    memcpy(tileRows + g * tileStride<D> + n * 8 + 2 * t, &top, sizeof(top));
    memcpy(tileRows + (g + 8) * tileStride<D> + n * 8 + 2 * t, &bottom,
           sizeof(bottom));
  }
  __syncwarp();
  if (width % 8 == 0) {
    constexpr int packs = D / 8;
    for (int i = lane; i < 16 * packs; i += 32) {
      const int row = i / packs, column = i % packs * 8;
      if (first + row < end && column < width)
        asVector<uint4>(head + (first + row) * stride + column) =
            asVector<const uint4>(tileRows + row * tileStride<D> + column);
    }
  } else {
    for (int i = lane; i < 16 * D; i += 32) {
      const int row = i / D, column = i % D;
      if (first + row < end && column < width)
        head[(first + row) * stride + column] =
            tileRows[row * tileStride<D> + column];
    }
  }
  __syncwarp();
}

/// Calls `run` with the width padded for tensor cores, and whether there is a
/// row of documents: samples keep kernels of their own, whose sequence takes no
/// register.
template <typename Run>
void withKernelOf(const AttentionShape &shape, Run run) {
  const auto withWidth = [&](auto isRow) {
    if (shape.width <= 32)
      run(std::integral_constant<int, 32>(), isRow);
    else if (shape.width <= 64)
      run(std::integral_constant<int, 64>(), isRow);
    else
      run(std::integral_constant<int, 128>(), isRow);
  };
  if (shape.documents.starts)
    withWidth(std::true_type());
  else
    withWidth(std::false_type());
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ATTENTION_TILES_H
