//===- cuda_layouts.h - Where things lie in buffers on CUDA -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets are in bytes. Activations and saved tensors have the layer's dtype;
// statistics, partial sums and gradients of weights are fp32. Weights are those
// of model/layouts.h in fp32, in bf16 followed by the copy that kernels read,
// in the same layout; gradients and moments belong to the fp32 ones. Sizes
// depend only on the description, never on a device.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_CUDA_LAYOUTS_H
#define RONDO_RUNTIME_MODEL_CUDA_LAYOUTS_H

#include "runtime/model/layouts.h"

namespace rondo::runtime::cuda {

/// Places regions one after another.
class ByteLayout {
public:
  constexpr int64_t place(int64_t bytes) {
    int64_t offset = size;
    size += alignedBytes(bytes);
    return offset;
  }
  constexpr int64_t bytes() const { return size; }

private:
  int64_t size = 0;
};

constexpr int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t chunksOf(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

constexpr int64_t elementBytes(DType dtype) {
  return dtype == DType::Bf16 ? 2 : 4;
}
/// For `count` elements of the layer's dtype, and of fp32.
constexpr int64_t activationBytes(const LayerDesc &layer, int64_t count) {
  return elementBytes(layer.dtype) * count;
}
constexpr int64_t floatBytes(int64_t count) { return 4 * count; }

/// Weights with their copy. `elements` is a multiple of 16.
constexpr int64_t weightBytes(const LayerDesc &layer, int64_t elements) {
  return alignedBytes(floatBytes(elements)) +
         (layer.dtype == DType::Bf16 ? alignedBytes(2 * elements) : 0);
}

/// Rows per chunk in which a norm adds the gradients of gain and bias: enough
/// blocks for a large device, few enough partial sums.
constexpr int64_t normChunkRows(int64_t rows) {
  return larger(8, chunksOf(rows, 512));
}
constexpr int64_t normChunks(int64_t rows) {
  return chunksOf(rows, normChunkRows(rows));
}

/// Rows per partial sum of a bias gradient.
inline constexpr int64_t columnSumRows = 128;
constexpr int64_t columnSumChunks(int64_t rows) {
  return chunksOf(rows, columnSumRows);
}

/// Workspace for cuBLASLt: 32 MiB as NVIDIA advises for sm_90, less for small
/// products. It splits sums into partial results of 4 bytes.
constexpr int64_t gemmWorkspaceBytes(int64_t rows, int64_t columns) {
  return smaller(int64_t(32) << 20, alignedBytes(16 * 4 * rows * columns));
}
/// Alignment of the workspace's address, as cuBLASLt's manual requires. Buffers
/// guarantee less.
inline constexpr int64_t gemmAlignment = 256;
/// A region with room for such a workspace, wherever the region begins.
constexpr int64_t gemmRegionBytes(int64_t bytes) {
  return bytes + gemmAlignment - bufferAlignment;
}

struct EmbeddingSavedForW {
  SavedLayout<ByteLayout> all;
  int64_t tokens, outputGrad;

  constexpr explicit EmbeddingSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        tokens(all.place(Part::Tokens, 4 * numTokens(layer))),
        outputGrad(all.place(
            Part::Gradients,
            activationBytes(layer, numTokens(layer) * layer.hidden))) {}
};

struct BlockSavedForI {
  SavedLayout<ByteLayout> all;
  int64_t norm1Scale, norm2Scale, logSumExp;

  constexpr explicit BlockSavedForI(const LayerDesc &layer)
      : all(layer, Part::ForInputGrad),
        norm1Scale(all.place(Part::Statistics, floatBytes(numTokens(layer)))),
        norm2Scale(all.place(Part::Statistics, floatBytes(numTokens(layer)))),
        logSumExp(all.place(Part::Statistics,
                            floatBytes(numTokens(layer) * layer.heads))) {}
};

/// Rows of GELU's input whose gradient I makes at once: few enough that the
/// gradient of the first ones fits where I later puts two tensors of `hidden`
/// columns, and a multiple of 8, so that all begin at multiples of 16 bytes.
constexpr int64_t geluGradRows(int64_t rows, int64_t hidden, int64_t ffn) {
  const int64_t parts = chunksOf(ffn, 2 * hidden);
  return smaller(rows, chunksOf(chunksOf(rows, parts), 8) * 8);
}

/// In place, I turns q, k and v into their gradients, and the normals into the
/// norms' outputs. W needs GELU's output, which F leaves, and the gradient of
/// its input, which takes the place of the input although no product may write
/// over what it reads: the gradient begins before the input, and I makes
/// geluGradRows() rows of it at a time, over rows of the input that it no
/// longer needs. Then middleGrad and outputGrad follow, where the last rows of
/// the input were. I fills those two, geluGrad and vectorGrads.
struct BlockSavedForW {
  SavedLayout<ByteLayout> all;
  int64_t normal1, qkv, attention, normal2, afterGelu;
  int64_t geluGrad, beforeGelu;
  int64_t middleGrad, outputGrad;
  /// [6][hidden] of fp32: gradients of gain and bias of the first norm, then
  /// the four sums of the second (normInputGradKeeping() in
  /// bodies/cuda/kernels.h).
  int64_t vectorGrads;

  constexpr explicit BlockSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        normal1(all.place(Part::Norm1, wide(layer))),
        qkv(all.place(Part::Qkv, 3 * wide(layer))),
        attention(all.place(Part::Attention, wide(layer))),
        normal2(all.place(Part::Norm2, wide(layer))),
        afterGelu(all.place(Part::Activation, ffn(layer))),
        geluGrad(all.place(Part::Ffn, front(layer))),
        beforeGelu(all.place(Part::Ffn, ffn(layer))),
        middleGrad(geluGrad + alignedBytes(ffn(layer))),
        outputGrad(middleGrad + alignedBytes(wide(layer))),
        vectorGrads(all.place(Part::Gradients, floatBytes(6 * layer.hidden))) {}

private:
  static constexpr int64_t wide(const LayerDesc &layer) {
    return activationBytes(layer, numTokens(layer) * layer.hidden);
  }
  static constexpr int64_t ffn(const LayerDesc &layer) {
    return activationBytes(layer, numTokens(layer) * layer.ffn);
  }
  /// Distance from the beginning of the gradient to that of the input.
  static constexpr int64_t front(const LayerDesc &layer) {
    const int64_t rows =
        geluGradRows(numTokens(layer), layer.hidden, layer.ffn);
    return larger(2 * alignedBytes(wide(layer)),
                  activationBytes(layer, rows * layer.ffn));
  }
};

struct BlockWorkspace {
  ByteLayout all;
  int64_t gemm, gemmBytes;
  /// [tokens, max(hidden, ffn)].
  int64_t activations;
  /// The gradient of the queries, kept here until all readers of q are done;
  /// then partial sums of the first norm.
  int64_t queryGrad;
  /// [batch][heads][sequence]: products of attention's output and gradient.
  int64_t rowDots;
  /// In I, for the vectors of the second norm; in W, for the bias gradients of
  /// qkv and fc.
  int64_t partials;

  constexpr explicit BlockWorkspace(const LayerDesc &layer)
      : all(), gemm(0),
        gemmBytes(gemmWorkspaceBytes(numTokens(layer),
                                     larger(3 * layer.hidden, layer.ffn))),
        activations(0), queryGrad(0), rowDots(0), partials(0) {
    const int64_t tokens = numTokens(layer), hidden = layer.hidden;
    gemm = all.place(gemmRegionBytes(gemmBytes));
    activations =
        all.place(activationBytes(layer, tokens * larger(hidden, layer.ffn)));
    queryGrad = all.place(larger(activationBytes(layer, tokens * hidden),
                                 floatBytes(normChunks(tokens) * 2 * hidden)));
    rowDots = all.place(floatBytes(tokens * layer.heads));
    partials = all.place(
        floatBytes(larger(normChunks(tokens) * 4 * hidden,
                          columnSumChunks(tokens) * (3 * hidden + layer.ffn))));
  }
};

/// Division of a head's tokens into chunks. If the logits' gradients all fit
/// into `maxKept`, they are kept from F to W. Otherwise only one chunk of
/// tokens has logits at a time: F also computes the gradient of the norm's
/// output, and W recomputes the logits, a third more work for the head.
struct HeadChunks {
  static constexpr int64_t maxKept = int64_t(1) << 30;
  static constexpr int64_t maxLive = int64_t(256) << 20;
  /// Elements from one token's logits to the next: rows start at multiples of
  /// 16 bytes; otherwise cuBLASLt has no fast kernel.
  int64_t stride;
  bool kept;
  /// Tokens per chunk; all of them if `kept`.
  int64_t rows;

  constexpr explicit HeadChunks(const LayerDesc &layer)
      : HeadChunks(layer, maxKept, maxLive) {}
  constexpr HeadChunks(const LayerDesc &layer, int64_t maxKept, int64_t maxLive)
      : stride(chunksOf(layer.vocab, 64) * 64),
        kept(activationBytes(layer, numTokens(layer) * stride) <= maxKept),
        rows(numTokens(layer)) {
    if (!kept)
      rows = smaller(
          rows, larger(maxLive / activationBytes(layer, stride) / 64 * 64, 64));
  }
};

/// Gain and bias of the head's norm; a Llama's has no bias.
constexpr int64_t normVectors(const LayerDesc &layer) {
  return isLlama(layer) ? 1 : 2;
}

struct HeadSavedForI {
  SavedLayout<ByteLayout> all;
  int64_t normScale;
  /// Only if the logits' gradients are not kept.
  int64_t normedGrad;

  constexpr explicit HeadSavedForI(const LayerDesc &layer)
      : HeadSavedForI(layer, HeadChunks(layer)) {}
  constexpr HeadSavedForI(const LayerDesc &layer, const HeadChunks &chunks)
      : all(layer, Part::ForInputGrad),
        normScale(all.place(Part::Statistics, floatBytes(numTokens(layer)))),
        normedGrad(all.place(
            Part::Logits,
            chunks.kept
                ? 0
                : activationBytes(layer, numTokens(layer) * layer.hidden))) {}
};

/// F leaves what W needs of the logits; I leaves the norm's gradients, and the
/// norm's output in place of the normal.
struct HeadSavedForW {
  SavedLayout<ByteLayout> all;
  int64_t normal, normGrads;
  /// [tokens, stride], if kept.
  int64_t logitsGrad;
  /// If not: the logarithm of each row's sum, its target, and the factor of the
  /// gradient, one element.
  int64_t logSumExp, targets, share;

  constexpr explicit HeadSavedForW(const LayerDesc &layer)
      : HeadSavedForW(layer, HeadChunks(layer)) {}
  constexpr HeadSavedForW(const LayerDesc &layer, const HeadChunks &chunks)
      : all(layer, Part::ForWeightGrad),
        normal(all.place(Part::Norm, activationBytes(layer, numTokens(layer) *
                                                                layer.hidden))),
        normGrads(all.place(Part::Gradients,
                            floatBytes(normVectors(layer) * layer.hidden))),
        logitsGrad(all.place(
            Part::Logits,
            chunks.kept
                ? activationBytes(layer, numTokens(layer) * chunks.stride)
                : 0)),
        logSumExp(all.place(Part::Logits,
                            chunks.kept ? 0 : floatBytes(numTokens(layer)))),
        targets(
            all.place(Part::Logits, chunks.kept ? 0 : 4 * numTokens(layer))),
        share(all.place(Part::Logits, chunks.kept ? 0 : 4)) {}
};

struct HeadWorkspace {
  ByteLayout all;
  int64_t gemm, gemmBytes;
  /// [tokens, hidden]: the norm's output or its gradient.
  int64_t normed;
  /// [tokens].
  int64_t losses;
  int64_t partials;
  /// [chunk, stride], if the logits' gradients are not kept.
  int64_t logits;

  constexpr explicit HeadWorkspace(const LayerDesc &layer)
      : HeadWorkspace(layer, HeadChunks(layer)) {}
  constexpr HeadWorkspace(const LayerDesc &layer, const HeadChunks &chunks)
      : all(), gemm(0),
        gemmBytes(gemmWorkspaceBytes(numTokens(layer), layer.hidden)),
        normed(0), losses(0), partials(0), logits(0) {
    const int64_t tokens = numTokens(layer), hidden = layer.hidden;
    gemm = all.place(gemmRegionBytes(gemmBytes));
    normed = all.place(activationBytes(layer, tokens * hidden));
    losses = all.place(floatBytes(tokens));
    partials =
        all.place(floatBytes(normChunks(tokens) * normVectors(layer) * hidden));
    logits = all.place(
        chunks.kept ? 0 : activationBytes(layer, chunks.rows * chunks.stride));
  }
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_MODEL_CUDA_LAYOUTS_H
