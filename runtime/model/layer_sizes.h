//===- layer_sizes.h - Buffer sizes and work of layers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler sizes the arena with layerSizes(); the bodies use the same
// function, so the memory plan and the program cannot disagree. Everything is
// inline.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYER_SIZES_H
#define RONDO_RUNTIME_MODEL_LAYER_SIZES_H

#include "runtime/model/layer_kinds.h"

namespace rondo::runtime {

/// Each buffer's bytes are a multiple of bufferAlignment.
inline LayerSizes layerSizes(const LayerDesc &layer) {
  return rowOf(layer.kind).sizes(layer);
}

/// Bytes of a layer's output for all samples, one after the other, without what
/// rounds up its buffer.
inline int64_t outputBytes(const LayerDesc &layer) {
  const bool isComputed = layer.kind == LayerKind::GptEmbedding ||
                          layer.kind == LayerKind::GptBlock ||
                          layer.kind == LayerKind::LlamaEmbedding ||
                          layer.kind == LayerKind::LlamaBlock;
  return isComputed ? gptActivationBytes(layer) : layer.outputBytes;
}

/// Bytes of the gradient of a layer's input k, and of its output, without what
/// rounds up their buffers. Custom layers have parts without gradients.
inline int64_t inputGradBytes(const LayerDesc &layer, int32_t k) {
  return layer.inputBytes[k] - layer.custom.inputWithoutGradBytes[k];
}
/// Bytes of the buffers of the gradients of all inputs, and of the output.
inline int64_t inputGradBytes(const LayerDesc &layer) {
  if (layer.kind != LayerKind::Custom)
    return layerSizes(layer).input;
  int64_t bytes = 0;
  for (int32_t k = 0; k < layer.numInputs; ++k)
    bytes += alignedBytes(inputGradBytes(layer, k));
  return bytes;
}
inline int64_t outputGradBytes(const LayerDesc &layer) {
  return layer.kind == LayerKind::Custom
             ? alignedBytes(layer.outputBytes -
                            layer.custom.outputWithoutGradBytes)
             : layerSizes(layer).output;
}

/// Activations between a stage's layers are at the beginning of its workspace,
/// in this many buffers of innerBytes(), used in turn.
constexpr int32_t numInnerBuffers(int64_t count) {
  return count > 2 ? 2 : static_cast<int32_t>(count) - 1;
}
inline int64_t innerBytes(const LayerDesc *layers, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i + 1 < count; ++i) {
    int64_t bytes = layerSizes(layers[i]).output;
    most = bytes > most ? bytes : most;
  }
  return most;
}

/// Whether R begins with the input of this layer of a stage. The input of the
/// first layer is the stage's, or data, which are kept anyway; that of any
/// other is a checkpoint.
inline bool beginsRecompute(const LayerDesc *layers, int64_t i) {
  return layers[i].recomputes && (i == 0 || !layers[i - 1].recomputes);
}

/// Bytes of the checkpoint that the input of layer i of a stage is; 0: it is
/// none. That of the first layer is one if checkpoints leave.
inline int64_t checkpointBytesOf(const LayerDesc *layers, int64_t i) {
  if (!beginsRecompute(layers, i))
    return 0;
  if (i > 0)
    return layerSizes(layers[i - 1]).output;
  return layers[0].offloads & checkpointLeaves ? layerSizes(layers[0]).input
                                               : 0;
}

/// Bytes of a stage's checkpoints, one after the other, that copies may move to
/// the host, or that stay: all of them do or none.
inline int64_t checkpointBytes(const LayerDesc *layers, int64_t count,
                               bool leave) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i)
    if (((layers[i].offloads & checkpointLeaves) != 0) == leave)
      bytes += checkpointBytesOf(layers, i);
  return bytes;
}

/// Scratch for what F of a layer saves in vain, and for the output of the last
/// layer when R runs it.
inline int64_t unkeptBytes(const LayerDesc *layers, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!layers[i].recomputes)
      continue;
    const LayerSizes sizes = layerSizes(layers[i]);
    const int64_t saved = sizes.savedForInputGrad + sizes.savedForWeightGrad;
    most = saved > most ? saved : most;
    if (i + 1 == count && sizes.output > most)
      most = sizes.output;
  }
  return most;
}

/// The values that R of a stage restores.
struct RecomputedSizes {
  int64_t forInputGrad = 0, forWeightGrad = 0;
};
inline RecomputedSizes recomputedSizes(const LayerDesc *layers, int64_t count) {
  RecomputedSizes sum;
  for (int64_t i = 0; i < count; ++i)
    if (layers[i].recomputes) {
      const LayerSizes sizes = layerSizes(layers[i]);
      sum.forInputGrad += sizes.savedForInputGrad;
      sum.forWeightGrad += sizes.savedForWeightGrad;
    }
  return sum;
}

/// Bytes of a stage that copies may move to the host: of what its layers save,
/// or its checkpoints, which are then the first.
struct OffloadedSizes {
  int64_t forInputGrad = 0, forWeightGrad = 0;
};
inline OffloadedSizes offloadedSizes(const LayerDesc *layers, int64_t count) {
  OffloadedSizes sum;
  sum.forInputGrad = checkpointBytes(layers, count, /*leave=*/true);
  for (int64_t i = 0; i < count; ++i)
    if (!layers[i].recomputes) {
      const LayerSizes sizes = layerSizes(layers[i]);
      sum.forInputGrad += sizes.awayForInputGrad;
      sum.forWeightGrad += sizes.awayForWeightGrad;
    }
  return sum;
}

/// Whether a layer of a stage is a head tied to an embedding of the stage.
/// Their weights change in one step, whose moments are the embedding's.
inline bool isTiedInStage(const LayerDesc *layers, int64_t count, int64_t i) {
  // Among the model's own kinds, heads read targets and embeddings tokens.
  const auto reads = [&](int64_t layer, LayerData data) {
    return rowOf(layers[layer].kind).data == data;
  };
  if (!layers[i].tied || !reads(i, LayerData::Targets))
    return false;
  for (int64_t k = 0; k < count; ++k)
    if (reads(k, LayerData::Tokens))
      return true;
  return false;
}

/// Bytes of one moment of each weight of layer i of a stage, in the layout of
/// the gradients: all, or what lies before the copy of a tied head.
inline int64_t momentBytes(const LayerDesc *layers, int64_t count, int64_t i) {
  if (!isTiedInStage(layers, count, i))
    return layerSizes(layers[i]).gradients;
  return alignedBytes(int64_t(sizeof(float)) *
                      HeadWeights(layers[i]).vocabulary);
}

/// Sizes of one or more consecutive layers that run as one stage. In the
/// workspace, the layers' own scratch follows the inner activations, and
/// unkeptBytes() follow that. Weights, saved buffers and data are consecutive,
/// in the order of the layers; saved are those that F keeps on the device.
inline LayerSizes stageSizes(const LayerDesc *layers, int64_t count) {
  LayerSizes sum{};
  for (int64_t i = 0; i < count; ++i) {
    LayerSizes sizes = layerSizes(layers[i]);
    sum.weights += sizes.weights;
    sum.gradients += sizes.gradients;
    if (!layers[i].recomputes) {
      sum.savedForInputGrad += sizes.savedForInputGrad - sizes.awayForInputGrad;
      sum.savedForWeightGrad +=
          sizes.savedForWeightGrad - sizes.awayForWeightGrad;
    }
    sum.keptForWeightGrad += sizes.keptForWeightGrad;
    sum.data += sizes.data;
    if (sizes.workspace > sum.workspace)
      sum.workspace = sizes.workspace;
    if (i == 0)
      sum.input = sizes.input;
    sum.output = sizes.output;
  }
  sum.workspace = alignedBytes(sum.workspace) +
                  numInnerBuffers(count) * innerBytes(layers, count) +
                  unkeptBytes(layers, count);
  return sum;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYER_SIZES_H
