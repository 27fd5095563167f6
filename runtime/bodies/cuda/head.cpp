//===- head.cpp - Final norm, classifier and its loss on CUDA -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The norm is a GPT's, with mean and bias, or a Llama's, without.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {

namespace {

/// The regions of a head's buffers, and the products of a chunk of tokens.
/// Buffers that a task does not get are unused.
template <typename T> struct Head {
  Head(const LayerDesc &layer, const HeadChunks &chunks, const LayerArgs &args)
      : rows(numTokens(layer)), hidden(layer.hidden), vocab(layer.vocab),
        padded(paddedVocab(layer)), chunks(chunks), at(layer), i(layer, chunks),
        s(layer, chunks), scratch(layer, chunks), weights(args, at.all.size()),
        args(args), stream(streamOf(args)),
        workspace(workspaceIn(region<char>(args.workspace, scratch.gemm),
                              scratch.gemmBytes)) {}

  template <typename Element = T> Element *forI(int64_t offset) const {
    return region<Element>(savedForInputGrad(args, offset));
  }
  template <typename Element = T> Element *forW(int64_t offset) const {
    return region<Element>(savedForWeightGrad(args, offset));
  }
  template <typename Element = T> Element *scratchAt(int64_t offset) const {
    return region<Element>(args.workspace, offset);
  }
  T *normed() const { return scratchAt(scratch.normed); }

  /// Calls `run(first token, logits)` for each chunk.
  template <typename Run> void forChunks(Run run) const {
    for (int64_t first = 0; first < rows; first += chunks.rows) {
      T *values = chunks.kept ? forW(s.logitsGrad) : scratchAt(scratch.logits);
      run(first, Logits<T>{smaller(chunks.rows, rows - first), vocab,
                           chunks.stride, values});
    }
  }

  /// From the norm's output.
  void makeLogits(const T *normed, const Logits<T> &logits) const {
    Product product = productOf(logits.rows, padded, hidden);
    product.a = {normed, hidden};
    product.b = {weights[at.vocabulary], hidden, true};
    product.d = logits.values;
    product.stride = logits.stride;
    stream.gemms->multiply(stream, product, workspace);
  }

  /// The gradient of the norm's output from that of the logits.
  void makeNormedGrad(const Logits<T> &logits, T *normedGrad) const {
    Product product = productOf(logits.rows, hidden, padded);
    product.a = {logits.values, logits.stride};
    product.b = {weights[at.vocabulary], hidden};
    product.d = normedGrad;
    product.stride = hidden;
    stream.gemms->multiply(stream, product, workspace);
  }

  void addVocabularyGrad(const T *normed, const Logits<T> &logits) const {
    Product product = productOf(padded, hidden, logits.rows);
    product.a = {logits.values, logits.stride, true};
    product.b = {normed, hidden};
    product.resultType = DType::Fp32;
    product.c = product.d =
        static_cast<float *>(args.gradients) + at.vocabulary;
    product.stride = hidden;
    stream.gemms->multiply(stream, product, workspace);
  }

  static Product productOf(int64_t rows, int64_t columns, int64_t inner) {
    Product product{};
    product.rows = rows;
    product.columns = columns;
    product.inner = inner;
    product.type = product.resultType = dtypeOf<T>();
    return product;
  }

  int64_t rows, hidden, vocab;
  /// Includes the zero rows, whose logits get gradients of 0.
  int64_t padded;
  HeadChunks chunks;
  runtime::HeadWeights at;
  HeadSavedForI i;
  HeadSavedForW s;
  HeadWorkspace scratch;
  WeightsView<T> weights;
  const LayerArgs &args;
  const Stream &stream;
  GemmWorkspace workspace;
};

} // namespace

template <typename T>
void headForward(const LayerDesc &layer, const HeadChunks &chunks,
                 const LayerArgs &args) {
  const Head<T> h(layer, chunks, args);
  const auto *input = static_cast<const T *>(args.inputs[0]);
  const float *gain = h.weights.fp32(h.at.normGain);
  float *scale = h.template forI<float>(h.i.normScale);
  if (isLlama(layer))
    rmsForward(h.stream, h.rows, h.hidden,
               static_cast<float>(layer.llama.normEpsilon), input, gain,
               h.forW(h.s.normal), scale, h.normed());
  else
    normForward(h.stream, h.rows, h.hidden, input, gain,
                h.weights.fp32(h.at.normBias), h.forW(h.s.normal), scale,
                h.normed());
  const float share =
      static_cast<float>(args.lossScale / static_cast<double>(h.rows));
  float *losses = h.template scratchAt<float>(h.scratch.losses);
  h.forChunks([&](int64_t first, const Logits<T> &logits) {
    h.makeLogits(h.normed() + first * h.hidden, logits);
    if (args.logits)
      RONDO_CUDA(cudaMemcpyAsync(
          region<T>(args.logits, first * logits.stride * sizeof(T)),
          logits.values, logits.rows * logits.stride * sizeof(T),
          cudaMemcpyDeviceToDevice, h.stream.handle));
    if (chunks.kept)
      return crossEntropy(h.stream, logits, args.data + first, share,
                          losses + first, nullptr, nullptr);
    crossEntropy(h.stream, logits, args.data + first, share, losses + first,
                 h.template forW<float>(h.s.logSumExp) + first,
                 h.template forW<float>(h.s.share));
    h.makeNormedGrad(logits, h.forI(h.i.normedGrad) + first * h.hidden);
  });
  if (!chunks.kept)
    RONDO_CUDA(cudaMemcpyAsync(h.template forW<int32_t>(h.s.targets), args.data,
                               h.rows * sizeof(int32_t),
                               cudaMemcpyDeviceToDevice, h.stream.handle));
  meanLoss(h.stream, h.rows, losses, static_cast<float *>(args.loss));
}

template <typename T>
void headInputGrad(const LayerDesc &layer, const HeadChunks &chunks,
                   const LayerArgs &args) {
  const Head<T> h(layer, chunks, args);
  const T *normedGrad = h.normed();
  if (chunks.kept)
    h.forChunks([&](int64_t, const Logits<T> &logits) {
      h.makeNormedGrad(logits, h.normed());
    });
  else
    normedGrad = h.forI(h.i.normedGrad);
  const float *scale = h.template forI<float>(h.i.normScale);
  const float *gain = h.weights.fp32(h.at.normGain);
  auto *inputGrad = static_cast<T *>(args.inputGrads[0]);
  float *grads = h.template forW<float>(h.s.normGrads);
  float *partials = h.template scratchAt<float>(h.scratch.partials);
  if (isLlama(layer))
    rmsInputGrad<T>(h.stream, h.rows, h.hidden, normedGrad, h.forW(h.s.normal),
                    scale, gain, nullptr, nullptr, inputGrad, grads, partials);
  else
    normInputGrad<T>(h.stream, h.rows, h.hidden, normedGrad, h.forW(h.s.normal),
                     scale, gain, h.weights.fp32(h.at.normBias), nullptr,
                     inputGrad, grads, partials);
}

template <typename T>
void headWeightGrad(const LayerDesc &layer, const HeadChunks &chunks,
                    const LayerArgs &args) {
  const Head<T> h(layer, chunks, args);
  h.forChunks([&](int64_t first, const Logits<T> &logits) {
    // I left it in place of the normal.
    const T *normed = h.forW(h.s.normal) + first * h.hidden;
    if (!chunks.kept) {
      h.makeLogits(normed, logits);
      crossEntropyAgain(h.stream, logits,
                        h.template forW<int32_t>(h.s.targets) + first,
                        h.template forW<float>(h.s.logSumExp) + first,
                        h.template forW<float>(h.s.share));
    }
    h.addVocabularyGrad(normed, logits);
  });
  auto *gradients = static_cast<float *>(args.gradients);
  const float *grads = h.template forW<float>(h.s.normGrads);
  if (isLlama(layer))
    addVectors(h.stream, h.hidden, grads, {gradients + h.at.normGain});
  else
    addVectors(h.stream, h.hidden, grads,
               {gradients + h.at.normGain, gradients + h.at.normBias});
}

namespace {

template <typename T>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  headForward<T>(*layer, HeadChunks(*layer), *args);
}
template <typename T>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  headInputGrad<T>(*layer, HeadChunks(*layer), *args);
}
template <typename T>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  headWeightGrad<T>(*layer, HeadChunks(*layer), *args);
}

} // namespace

template <typename T> LayerBody headBody() {
  return {forward<T>, inputGrad<T>, weightGrad<T>,
          cpuBody(LayerKind::GptHead).tensors};
}
#define RONDO_INSTANTIATE(T)                                                   \
  template LayerBody headBody<T>();                                            \
  template void headForward<T>(const LayerDesc &, const HeadChunks &,          \
                               const LayerArgs &);                             \
  template void headInputGrad<T>(const LayerDesc &, const HeadChunks &,        \
                                 const LayerArgs &);                           \
  template void headWeightGrad<T>(const LayerDesc &, const HeadChunks &,       \
                                  const LayerArgs &);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
