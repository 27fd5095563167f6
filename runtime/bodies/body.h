//===- body.h - The C ABI of a layer's computation --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body computes one task of one layer on one micro-batch. It keeps no state
// and allocates nothing: the caller provides buffers of the sizes in
// layerSizes(), aligned to bufferAlignment, and data in range. Only custom
// layers report errors, and throw Error.
//
// Lifetime of the content of each buffer:
//
//   weights               always
//   gradients             W adds to them; nothing else does, so that the order
//                         of W is the order of accumulation
//   savedForInputGrad     from the start of F to the end of I
//   savedForWeightGrad    from the start of F to the end of W; I may replace
//                         parts of it by what W needs
//   keptForWeightGrad     from the start of I to the end of W
//   inputs, data, output  during F; F writes all of output
//   outputGrad            during I
//   inputGrads            during I, which writes all of each
//   workspace             during one task; undefined when it starts
//
// Buffers do not overlap.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_BODY_H
#define RONDO_RUNTIME_BODIES_BODY_H

#include "runtime/model/layer_sizes.h"

#include <cstdint>

namespace rondo::runtime {

extern "C" {

/// Buffers and parameters of one task. Elements have the table's type, fp32 in
/// a program. Pointers that a task does not use may be null.
struct LayerArgs {
  /// fp32, in a program.
  const void *weights;
  void *gradients;
  void *savedForInputGrad;
  void *savedForWeightGrad;
  void *keptForWeightGrad;
  /// LayerDesc::numInputs of them, in the order of the edges.
  const void *inputs[maxLayerInputs];
  void *output;
  const void *outputGrad;
  void *inputGrads[maxLayerInputs];
  void *workspace;
  /// [batch][sequence], or a row of documents: tokens of an embedding, targets
  /// of a head, each in [0, vocab).
  const int32_t *data;
  /// F of a head writes the micro-batch's mean loss, one element.
  void *loss;
  /// F of a head also copies its logits there, before it makes their gradients;
  /// null: it does not. Rows of logitsStride() elements, one for each token.
  void *logits;
  /// The gradients are those of the micro-batch's mean loss times this. For
  /// the mean of an iteration, pass 1 / micro-batches; for rows of documents
  /// rowShare(). A head reads it in F.
  double lossScale;
  /// Index in the iteration. Only synthetic layers read it, for their tags.
  int64_t microbatch;
  /// The stream in which a device enqueues the work. Unused on a CPU.
  void *stream;
  /// The same weights in the layer's dtype, if that is not fp32; null: they
  /// follow `weights`, as layerSizes() counts them.
  const void *weightsInDtype;
  /// For custom layers: see rondo_task.
  void *state;
  uint64_t seed;
  int64_t iteration;
  const int64_t *iterationOnDevice;
  void *runningWeights;
  /// If a micro-batch is a row of documents, in every task and in the device's
  /// memory: document k has the tokens from documentStarts[k] up to
  /// documentStarts[k + 1], of numDocuments + 1 starts. Null: each sample is a
  /// document, and a row is one.
  const int32_t *documentStarts;
  int32_t numDocuments;
  /// If a copy moves only some parts of the two saved buffers, the address of
  /// those parts: offsets with inAway are relative to it (model/saved_parts.h).
  void *awayForInputGrad;
  void *awayForWeightGrad;
  /// The parts that a custom layer lists, each in memory of its own; null: they
  /// are in the buffers above.
  void *const *savedParts;
};

/// A place in what F saves, as a base and an offset from it.
struct SavedPlace {
  void *base;
  int64_t offset;
};
inline SavedPlace savedForInputGrad(const LayerArgs &args, int64_t offset) {
  return {offset & inAway ? args.awayForInputGrad : args.savedForInputGrad,
          offset & ~inAway};
}
inline SavedPlace savedForWeightGrad(const LayerArgs &args, int64_t offset) {
  return {offset & inAway ? args.awayForWeightGrad : args.savedForWeightGrad,
          offset & ~inAway};
}

/// No tensor has more dimensions.
inline constexpr int32_t maxTensorDims = 8;

enum class TensorInit : uint8_t {
  Zeros,
  Ones,
  /// Normal with standard deviation 0.02.
  Normal,
  /// Projection into the residual stream: Normal scaled by
  /// 1 / sqrt(2 * blocks of the model).
  ResidualNormal,
  /// Read from a file; drawn as Normal where values do not matter.
  File,
};

/// A tensor in a layer's weights. Gradients and moments have the same layout.
/// Its global name is "<prefix>.<suffix>", or just the suffix if the prefix is
/// null. Strings live as long as the layer's description.
struct LayerTensor {
  const char *prefix;
  const char *suffix;
  int32_t numDims;
  /// Sizes from numDims on mean nothing.
  int64_t shape[maxTensorDims];
  /// The first element in the weights, and the number of elements.
  int64_t offset, count;
  /// Whether weight decay applies: only to matrices.
  bool decay;
  TensorInit init;
  /// Null, or the global name of another layer's tensor of which this is a
  /// copy. Both have the same values; each has a partial gradient.
  const char *sharedWith;
  /// Whether it is not trained: it has neither a gradient nor moments. Such
  /// tensors follow all others.
  bool isFrozen = false;
  /// Whether it is frozen, and F replaces its values.
  bool isRunning = false;
};

/// The computation of one layer kind.
struct LayerBody {
  void (*forward)(const LayerDesc *, const LayerArgs *);
  void (*inputGrad)(const LayerDesc *, const LayerArgs *);
  void (*weightGrad)(const LayerDesc *, const LayerArgs *);
  /// Describes the first `capacity` tensors in `tensors`, in the order of the
  /// weights, and returns the number of all.
  int32_t (*tensors)(const LayerDesc *, LayerTensor *tensors, int32_t capacity);
  /// I and W at once, with the same bits; null: only one after the other.
  void (*backward)(const LayerDesc *, const LayerArgs *) = nullptr;
};

} // extern "C"

/// The bodies of the CPU, in fp32.
const LayerBody &cpuBody(LayerKind kind);

/// The same code in fp64, for gradient checks. Buffers are twice as large; data
/// stays int32. Synthetic and custom layers have only one body.
const LayerBody &cpuBodyFp64(LayerKind kind);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_BODY_H
