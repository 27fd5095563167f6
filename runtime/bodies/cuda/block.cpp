//===- block.cpp - Pre-norm transformer block on CUDA ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   middle = input + proj(attention(qkv(norm1(input))))
//   output = middle + fcProj(gelu(fc(norm2(middle))))
//
// Products add the residual and the bias. In backward, the norms add the
// residual's gradient, and the second also the gradients of the biases of proj
// and fcProj.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {

namespace {

/// The regions of a block's buffers. Buffers that a task does not get are
/// unused.
template <typename T> struct Block {
  Block(const LayerDesc &layer, const LayerArgs &args)
      : rows(numTokens(layer)), hidden(layer.hidden), ffn(layer.ffn),
        shape{Documents(layer, args), layer.heads, layer.hidden / layer.heads},
        at(layer), i(layer), s(layer), scratch(layer),
        weights(args, at.all.size()), args(args), stream(streamOf(args)),
        workspace(workspaceIn(region<char>(args.workspace, scratch.gemm),
                              scratch.gemmBytes)),
        linear{stream, workspace, rows} {}

  float *grad(int64_t offset) const {
    return static_cast<float *>(args.gradients) + offset;
  }
  float *forI(int64_t offset) const {
    return region<float>(savedForInputGrad(args, offset));
  }
  T *forW(int64_t offset) const {
    return region<T>(savedForWeightGrad(args, offset));
  }
  float *vectorGrads(int64_t vector) const {
    return region<float>(savedForWeightGrad(args, s.vectorGrads)) +
           vector * hidden;
  }
  T *activations() const {
    return region<T>(args.workspace, scratch.activations);
  }
  float *partials() const {
    return region<float>(args.workspace, scratch.partials);
  }

  /// Input and output of GELU, from the norm's output.
  void feedForward(const T *normed) const {
    Product product{};
    product.rows = rows;
    product.columns = ffn;
    product.inner = hidden;
    product.type = product.resultType = dtypeOf<T>();
    product.a = {normed, hidden};
    product.b = {weights[at.fc], ffn};
    product.d = forW(s.afterGelu);
    product.stride = ffn;
    product.epilogue = Epilogue::BiasGelu;
    product.bias = weights[at.fcBias];
    product.aux = forW(s.beforeGelu);
    if (stream.gemms->tryGelu(stream, product, workspace))
      return;
    linear.forward(hidden, ffn, normed, weights[at.fc], weights[at.fcBias],
                   nullptr, forW(s.beforeGelu));
    geluForward(stream, rows * ffn, forW(s.beforeGelu), forW(s.afterGelu));
  }

  /// The gradient of GELU's input, over the input: each part of the rows over
  /// those that were read before it (BlockSavedForW).
  void feedForwardGrad(const T *outputGrad) const {
    const int64_t atOnce = geluGradRows(rows, hidden, ffn);
    for (int64_t first = 0; first < rows; first += atOnce)
      geluGrad(smaller(atOnce, rows - first), outputGrad + first * hidden,
               forW(s.beforeGelu) + first * ffn,
               forW(s.geluGrad) + first * ffn);
  }
  void geluGrad(int64_t count, const T *outputGrad, T *before, T *grad) const {
    Product product{};
    product.rows = count;
    product.columns = ffn;
    product.inner = hidden;
    product.type = product.resultType = dtypeOf<T>();
    product.a = {outputGrad, hidden};
    product.b = {weights[at.fcProj], hidden, true};
    product.d = grad;
    product.stride = ffn;
    product.epilogue = Epilogue::GeluGrad;
    product.aux = before;
    if (stream.gemms->tryGelu(stream, product, workspace))
      return;
    Linear<T>{stream, workspace, count}.inputGrad(ffn, hidden, outputGrad,
                                                  weights[at.fcProj], grad);
    geluInputGrad(stream, count * ffn, before, grad);
  }

  int64_t rows, hidden, ffn;
  AttentionShape shape;
  runtime::BlockWeights at;
  BlockSavedForI i;
  BlockSavedForW s;
  BlockWorkspace scratch;
  WeightsView<T> weights;
  const LayerArgs &args;
  const Stream &stream;
  GemmWorkspace workspace;
  Linear<T> linear;
};

template <typename T>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  const auto *input = static_cast<const T *>(args->inputs[0]);
  // Holds `middle` until the MLP is added.
  auto *output = static_cast<T *>(args->output);
  T *normed = b.activations();

  normForward(b.stream, b.rows, b.hidden, input, b.weights.fp32(b.at.norm1Gain),
              b.weights.fp32(b.at.norm1Bias), b.forW(b.s.normal1),
              b.forI(b.i.norm1Scale), normed);
  b.linear.forward(b.hidden, 3 * b.hidden, normed, b.weights[b.at.qkv],
                   b.weights[b.at.qkvBias], nullptr, b.forW(b.s.qkv));
  attentionForward<T>(b.stream, b.shape, b.forW(b.s.qkv), b.forW(b.s.attention),
                      b.forI(b.i.logSumExp));
  b.linear.forward(b.hidden, b.hidden, b.forW(b.s.attention),
                   b.weights[b.at.proj], b.weights[b.at.projBias], input,
                   output);

  normForward<T>(b.stream, b.rows, b.hidden, output,
                 b.weights.fp32(b.at.norm2Gain), b.weights.fp32(b.at.norm2Bias),
                 b.forW(b.s.normal2), b.forI(b.i.norm2Scale), normed);
  b.feedForward(normed);
  b.linear.forward(b.ffn, b.hidden, b.forW(b.s.afterGelu),
                   b.weights[b.at.fcProj], b.weights[b.at.fcProjBias], output,
                   output);
}

template <typename T>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  const auto *outputGrad = static_cast<const T *>(args->outputGrad);
  T *scratch = b.activations();
  // The gradient of the queries is gone when the first norm begins.
  const int64_t chunks = normChunks(b.rows);
  auto *norm1Sums = region<float>(args->workspace, b.scratch.queryGrad);
  float *norm2Sums = b.partials();

  b.feedForwardGrad(outputGrad);
  b.linear.inputGrad(b.hidden, b.ffn, b.forW(b.s.geluGrad), b.weights[b.at.fc],
                     scratch);
  normInputGradKeeping<T>(
      b.stream, b.rows, b.hidden, scratch, b.forW(b.s.normal2),
      b.forI(b.i.norm2Scale), b.weights.fp32(b.at.norm2Gain),
      b.weights.fp32(b.at.norm2Bias), outputGrad, b.forW(b.s.outputGrad),
      b.forW(b.s.middleGrad), nullptr, norm2Sums);

  b.linear.inputGrad(b.hidden, b.hidden, b.forW(b.s.middleGrad),
                     b.weights[b.at.proj], scratch);
  attentionInputGrad<T>(b.stream, b.shape, b.forW(b.s.qkv),
                        b.forW(b.s.attention), scratch, b.forI(b.i.logSumExp),
                        region<T>(args->workspace, b.scratch.queryGrad),
                        region<float>(args->workspace, b.scratch.rowDots));
  b.linear.inputGrad(b.hidden, 3 * b.hidden, b.forW(b.s.qkv),
                     b.weights[b.at.qkv], scratch);
  normInputGrad<T>(b.stream, b.rows, b.hidden, scratch, b.forW(b.s.normal1),
                   b.forI(b.i.norm1Scale), b.weights.fp32(b.at.norm1Gain),
                   b.weights.fp32(b.at.norm1Bias), b.forW(b.s.middleGrad),
                   static_cast<T *>(args->inputGrads[0]), nullptr, norm1Sums);
  setPartials(b.stream, {{chunks, 4 * b.hidden, norm2Sums, b.vectorGrads(2)},
                         {chunks, 2 * b.hidden, norm1Sums, b.vectorGrads(0)}});
}

template <typename T>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<T> b(*layer, *args);
  b.linear.weightGrad(b.ffn, b.hidden, b.forW(b.s.afterGelu),
                      b.forW(b.s.outputGrad), b.grad(b.at.fcProj));
  b.linear.weightGrad(b.hidden, b.ffn, b.forW(b.s.normal2),
                      b.forW(b.s.geluGrad), b.grad(b.at.fc));
  b.linear.weightGrad(b.hidden, b.hidden, b.forW(b.s.attention),
                      b.forW(b.s.middleGrad), b.grad(b.at.proj));
  b.linear.weightGrad(b.hidden, 3 * b.hidden, b.forW(b.s.normal1),
                      b.forW(b.s.qkv), b.grad(b.at.qkv));
  const int64_t chunks = columnSumChunks(b.rows);
  float *fcSums = b.partials(), *qkvSums = fcSums + chunks * b.ffn;
  columnSums<T>(b.stream, b.rows,
                {{b.ffn, b.ffn, b.forW(b.s.geluGrad), fcSums},
                 {3 * b.hidden, 3 * b.hidden, b.forW(b.s.qkv), qkvSums}});
  const auto vector = [&](int64_t number, int64_t grad) {
    return Partials{1, b.hidden, b.vectorGrads(number), b.grad(grad)};
  };
  addPartials(b.stream, {{chunks, b.ffn, fcSums, b.grad(b.at.fcBias)},
                         {chunks, 3 * b.hidden, qkvSums, b.grad(b.at.qkvBias)},
                         vector(0, b.at.norm1Gain),
                         vector(1, b.at.norm1Bias),
                         vector(2, b.at.norm2Gain),
                         vector(3, b.at.norm2Bias),
                         vector(4, b.at.fcProjBias),
                         vector(5, b.at.projBias)});
}

} // namespace

template <typename T> LayerBody blockBody() {
  return {forward<T>, inputGrad<T>, weightGrad<T>,
          cpuBody(LayerKind::GptBlock).tensors};
}
template LayerBody blockBody<float>();
template LayerBody blockBody<Bf16>();

} // namespace rondo::runtime::cuda
