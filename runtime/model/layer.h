//===- layer.h - What a layer is --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_LAYER_H
#define RONDO_RUNTIME_MODEL_LAYER_H

#include <cstdint>

/// The computation of a custom layer.
struct rondo_body;

namespace rondo::runtime {

/// Device type on which the bodies run.
enum class Target : uint8_t { Cpu, Cuda };

/// The type of activations, messages and saved tensors. Weights, gradients and
/// moments that the optimizer reads are fp32 in both.
enum class DType : uint8_t { Fp32, Bf16 };

/// Each has a row in model/layer_kinds.h, in this order.
enum class LayerKind : uint8_t {
  GptEmbedding,   // token and position embedding
  GptBlock,       // pre-norm attention and MLP with GELU
  GptHead,        // final norm, linear to the vocabulary, cross-entropy
  Synthetic,      // sleeps and spins for given times
  Custom,         // a body from a library
  LlamaEmbedding, // token embedding
  LlamaBlock,     // RMSNorm, rotated grouped-query attention, SwiGLU
  LlamaHead,      // final RMSNorm, linear to the vocabulary, cross-entropy
};

/// No layer has more inputs, that is, incoming edges.
inline constexpr int32_t maxLayerInputs = 8;

/// The data that a layer reads from the data set for each micro-batch.
enum class LayerData : uint8_t { None, Tokens, Targets };

/// The type of a stream's numbers.
enum class StreamType : uint8_t { Fp32, Int32, Uint8 };

/// A row of a stream has no more sizes, and a layer reads no more streams.
inline constexpr int32_t maxStreamDims = 7, maxLayerStreams = 8;

/// A part of each sample that a layer reads from the data set, one row of a
/// tensor of the files.
struct StreamDesc {
  /// Unique in the model, but for other layers that read the same.
  const char *name;
  StreamType type;
  int32_t numDims;
  int64_t sizes[maxStreamDims];
  /// Numbers are from 0 to below - 1; 0: any of the type.
  int64_t below;
  /// Another number that is allowed, if `hasIgnored`.
  bool hasIgnored;
  int64_t ignored;
};

/// Maximum number of a layer's tensors, and of those of a layer that does not
/// state it.
inline constexpr int32_t maxLayerTensors = 1 << 16, maxUnstatedTensors = 16;

/// Floating-point operations of a layer's tasks on one micro-batch. Zero for
/// synthetic layers.
struct LayerFlops {
  int64_t forward, inputGrad, weightGrad;
};

/// A custom layer states its sizes for no more numbers of samples, and has no
/// more named parts of what F saves.
inline constexpr int32_t maxLayerSizes = 16, maxLayerParts = 32;

/// The tasks that read a part of what F saves.
enum class ReadBy : uint8_t { Both, InputGrad, WeightGrad };

/// A named part of what F of a custom layer saves.
struct SavedPart {
  const char *name;
  ReadBy readBy;
  int64_t bytes;
  /// Bytes for each of CustomDesc::sizes; one number for all if `numBytes`
  /// is 1.
  int32_t numBytes;
  const int64_t *bytesBySize;
};

/// Bytes and operations of a custom layer for micro-batches of `samples`
/// samples.
struct CustomSizes {
  int64_t samples;
  int64_t savedForInputGrad, savedForWeightGrad, keptForWeightGrad;
  int64_t output, outputWithoutGrad;
  int64_t workspace, backwardWorkspace;
  LayerFlops flops;
};

/// Keys of a custom layer in addition to its sizes.
struct CustomDesc {
  const char *name;
  /// A C struct (bodies/rondo_body.h); null in the compiler, which does not
  /// need it.
  const ::rondo_body *body;
  int32_t numParameters;
  const int64_t *parameters;
  int64_t workspaceBytes;
  /// Workspace of a body's B, which computes I and W at once.
  int64_t backwardWorkspaceBytes;
  LayerData data;
  bool hasLoss;
  LayerFlops flops;
  /// The last bytes of the output and of each input, of which there is no
  /// gradient.
  int64_t outputWithoutGradBytes;
  int64_t inputWithoutGradBytes[maxLayerInputs];
  /// Tensors of the weights; 0: up to 16.
  int32_t numTensors;
  /// Bytes at the end of the weights that are not trained.
  int64_t frozenBytes;
  int32_t numStreams;
  StreamDesc streams[maxLayerStreams];
  /// Sizes for other numbers of samples, which micro-batches or the replicas
  /// that divide one may have; without any, only the present one is allowed.
  int32_t numSizes;
  CustomSizes sizes[maxLayerSizes];
  /// The first of the layer's samples in the micro-batch.
  int32_t firstSample;
  /// Whether its body takes rows of documents. All sizes but those of the
  /// weights are then in proportion to the tokens.
  bool takesDocuments = false;
  /// Parts of what F saves; none: it has two, one for I and one for W.
  int32_t numParts = 0;
  SavedPart parts[maxLayerParts] = {};
};

/// Slower rotations for positions beyond those of the first training, as
/// Llama 3.1 scales them. Frequencies with wavelengths up to
/// originalPositions / highFrequencyFactor stay, those with wavelengths from
/// originalPositions / lowFrequencyFactor are divided by `factor`, and those
/// between are interpolated. A factor of 0: no scaling.
struct RopeScaling {
  double factor, lowFrequencyFactor, highFrequencyFactor;
  int64_t originalPositions;
};

/// Keys of a Llama's layers in addition to the sizes of a GPT.
struct LlamaDesc {
  /// Consecutive heads / kvHeads query heads share a key and a value head.
  int32_t kvHeads;
  /// Even.
  int32_t headWidth;
  double normEpsilon, ropeTheta;
  RopeScaling ropeScaling;
  /// Whether q, k and v have biases.
  bool qkvBias;
  /// Whether each head's q and k are normalised before they are rotated.
  bool headNorm;
};

/// One layer of a model. Fields that its kind does not use are 0.
struct LayerDesc {
  /// Global name, unique in the model. Names of a block's tensors begin with
  /// it; initial values depend only on (seed, tensor name).
  const char *name;
  LayerKind kind;

  // gpt and llama
  int32_t vocab, sequence, hidden, heads, ffn;
  /// Samples of one micro-batch.
  int32_t batch;
  /// In a head: shares the token embedding's weight. It keeps a copy of the
  /// weight and a partial gradient of its own.
  bool tied;
  /// Whether F keeps nothing for the backward, and R runs it again.
  bool recomputes;

  // synthetic
  int64_t forwardNs, inputGradNs, weightGradNs;
  // synthetic and custom
  int64_t activationBytes, inputGradFreesBytes;
  /// Bytes of each input, in the order of the edges.
  int32_t numInputs;
  int64_t inputBytes[maxLayerInputs];
  int64_t outputBytes, weightBytes;

  /// The same for all layers of an executable. The CPU only takes fp32.
  Target target = Target::Cpu;
  DType dtype = DType::Fp32;
  CustomDesc custom = {};
  LlamaDesc llama = {};
  /// Bytes that I leaves for W; synthetic and custom layers only.
  int64_t inputGradKeepsBytes = 0;
  /// The parts of what F saves that copies may move to the host
  /// (model/saved_parts.h).
  uint64_t offloads = 0;
  /// Tokens of a micro-batch that is one row of documents, each of at most
  /// `sequence` tokens (model/documents.h). 0: it has `batch` samples of
  /// `sequence` tokens.
  int32_t rowTokens = 0;
};

/// Bytes of one layer's buffers, all but the first two for one micro-batch.
/// momentBytes() (layer_sizes.h) says how large a moment is.
struct LayerSizes {
  /// Includes the copies in the dtype, if that is not fp32.
  int64_t weights;
  int64_t gradients;
  /// Written by F, read by I, free after I.
  int64_t savedForInputGrad;
  /// Written by F; I may overwrite parts with what W needs; free after W.
  int64_t savedForWeightGrad;
  /// Written by I, read by W, free after W.
  int64_t keptForWeightGrad;
  /// Activations from the layers before, one input after another; 0 for a
  /// model's first layer.
  int64_t input;
  /// Activations for the next layer; 0 for a model's last layer.
  int64_t output;
  /// Scratch of one task.
  int64_t workspace;
  /// Staged data of one micro-batch: tokens for an embedding, targets for a
  /// head, streams one after another.
  int64_t data;
  /// Bytes of these two buffers that copies may move to the host.
  int64_t awayForInputGrad, awayForWeightGrad;
};

/// Every buffer starts at a multiple of this many bytes.
inline constexpr int64_t bufferAlignment = 64;
constexpr int64_t alignedBytes(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYER_H
