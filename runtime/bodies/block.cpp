//===- block.cpp - Pre-norm transformer block -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   middle = input + proj(attention(qkv(norm1(input))))
//   output = middle + fcProj(gelu(fc(norm2(middle))))
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/activations.h"
#include "runtime/bodies/attention.h"
#include "runtime/bodies/layers.h"
#include "runtime/bodies/linear.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/layouts.h"

#include <algorithm>

namespace rondo::runtime {

namespace {

/// The regions of a block's buffers. Buffers that a task does not get are
/// unused.
template <typename Real> struct Block {
  Block(const LayerDesc *layer, const LayerArgs *args)
      : rows(numTokens(*layer)), hidden(layer->hidden), ffn(layer->ffn),
        w(*layer), i(*layer), s(*layer), scratch(*layer), args(args) {}

  const Real *weight(int64_t offset) const {
    return at<Real>(args->weights, offset);
  }
  Real *grad(int64_t offset) const { return at<Real>(args->gradients, offset); }
  Real *forI(int64_t offset) const {
    return at<Real>(savedForInputGrad(*args, offset));
  }
  Real *forW(int64_t offset) const {
    return at<Real>(savedForWeightGrad(*args, offset));
  }
  Real *activations() const {
    return at<Real>(args->workspace, scratch.activations);
  }
  Real *attention() const {
    return at<Real>(args->workspace, scratch.attention);
  }

  int64_t rows, hidden, ffn;
  BlockWeights w;
  BlockSavedForI i;
  BlockSavedForW s;
  BlockWorkspace scratch;
  const LayerArgs *args;
};

template <typename Real>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  const Real *input = at<Real>(args->inputs[0], 0);
  // Holds `middle` until the MLP is added.
  Real *output = at<Real>(args->output, 0);
  Real *normed = b.activations();

  normForward(rows, hidden, input, b.weight(b.w.norm1Gain),
              b.weight(b.w.norm1Bias), b.forW(b.s.normal1),
              b.forI(b.i.norm1Scale), normed);
  linearForward<Real>(rows, hidden, 3 * hidden, normed, b.weight(b.w.qkv),
                      b.weight(b.w.qkvBias), nullptr, b.forW(b.s.qkv));
  attentionForward(TaskDocuments(*layer, *args), b.forW(b.s.qkv),
                   b.forW(b.s.attention), b.forI(b.i.logSumExp), b.attention());
  linearForward<Real>(rows, hidden, hidden, b.forW(b.s.attention),
                      b.weight(b.w.proj), b.weight(b.w.projBias), input,
                      output);

  normForward(rows, hidden, output, b.weight(b.w.norm2Gain),
              b.weight(b.w.norm2Bias), b.forW(b.s.normal2),
              b.forI(b.i.norm2Scale), normed);
  linearForward<Real>(rows, hidden, ffn, normed, b.weight(b.w.fc),
                      b.weight(b.w.fcBias), nullptr, b.forW(b.s.geluSlope));
  geluForward(rows * ffn, b.forW(b.s.geluSlope), b.forW(b.s.afterGelu));
  linearForward<Real>(rows, ffn, hidden, b.forW(b.s.afterGelu),
                      b.weight(b.w.fcProj), b.weight(b.w.fcProjBias), output,
                      output);
}

template <typename Real>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  const Real *outputGrad = at<Real>(args->outputGrad, 0);
  Real *scratch = b.activations();
  std::copy(outputGrad, outputGrad + rows * hidden, b.forW(b.s.outputGrad));

  linearInputGrad(rows, ffn, hidden, outputGrad, b.weight(b.w.fcProj), scratch);
  geluInputGrad(rows * ffn, scratch, b.forW(b.s.geluSlope));
  linearInputGrad(rows, hidden, ffn, b.forW(b.s.geluSlope), b.weight(b.w.fc),
                  scratch);
  normInputGrad(rows, hidden, scratch, b.forW(b.s.normal2),
                b.forI(b.i.norm2Scale), b.weight(b.w.norm2Gain), outputGrad,
                b.forW(b.s.middleGrad), b.forW(b.s.norm2Grads));

  linearInputGrad(rows, hidden, hidden, b.forW(b.s.middleGrad),
                  b.weight(b.w.proj), scratch);
  attentionInputGrad(TaskDocuments(*layer, *args), b.forW(b.s.qkv),
                     b.forW(b.s.attention), scratch, b.forI(b.i.logSumExp),
                     b.attention());
  linearInputGrad(rows, hidden, 3 * hidden, b.forW(b.s.qkv), b.weight(b.w.qkv),
                  scratch);
  normInputGrad(rows, hidden, scratch, b.forW(b.s.normal1),
                b.forI(b.i.norm1Scale), b.weight(b.w.norm1Gain),
                b.forW(b.s.middleGrad), at<Real>(args->inputGrads[0], 0),
                b.forW(b.s.norm1Grads));
}

template <typename Real>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  Real *normed = b.activations();

  linearWeightGrad(rows, ffn, hidden, b.forW(b.s.afterGelu),
                   b.forW(b.s.outputGrad), b.grad(b.w.fcProj),
                   b.grad(b.w.fcProjBias));
  normOutput(rows, hidden, b.forW(b.s.normal2), b.weight(b.w.norm2Gain),
             b.weight(b.w.norm2Bias), normed);
  linearWeightGrad(rows, hidden, ffn, normed, b.forW(b.s.geluSlope),
                   b.grad(b.w.fc), b.grad(b.w.fcBias));
  normWeightGrad(hidden, b.forW(b.s.norm2Grads), b.grad(b.w.norm2Gain),
                 b.grad(b.w.norm2Bias));

  linearWeightGrad(rows, hidden, hidden, b.forW(b.s.attention),
                   b.forW(b.s.middleGrad), b.grad(b.w.proj),
                   b.grad(b.w.projBias));
  normOutput(rows, hidden, b.forW(b.s.normal1), b.weight(b.w.norm1Gain),
             b.weight(b.w.norm1Bias), normed);
  linearWeightGrad(rows, hidden, 3 * hidden, normed, b.forW(b.s.qkv),
                   b.grad(b.w.qkv), b.grad(b.w.qkvBias));
  normWeightGrad(hidden, b.forW(b.s.norm1Grads), b.grad(b.w.norm1Gain),
                 b.grad(b.w.norm1Bias));
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  const BlockWeights w(*layer);
  const char *name = layer->name;
  const int64_t hidden = layer->hidden, ffn = layer->ffn;
  TensorList list(out, capacity);
  list.add(name, "ln_1.weight", TensorInit::Ones, w.norm1Gain, hidden);
  list.add(name, "ln_1.bias", TensorInit::Zeros, w.norm1Bias, hidden);
  list.add(name, "attn.c_attn.weight", TensorInit::Normal, w.qkv, hidden,
           3 * hidden);
  list.add(name, "attn.c_attn.bias", TensorInit::Zeros, w.qkvBias, 3 * hidden);
  list.add(name, "attn.c_proj.weight", TensorInit::ResidualNormal, w.proj,
           hidden, hidden);
  list.add(name, "attn.c_proj.bias", TensorInit::Zeros, w.projBias, hidden);
  list.add(name, "ln_2.weight", TensorInit::Ones, w.norm2Gain, hidden);
  list.add(name, "ln_2.bias", TensorInit::Zeros, w.norm2Bias, hidden);
  list.add(name, "mlp.c_fc.weight", TensorInit::Normal, w.fc, hidden, ffn);
  list.add(name, "mlp.c_fc.bias", TensorInit::Zeros, w.fcBias, ffn);
  list.add(name, "mlp.c_proj.weight", TensorInit::ResidualNormal, w.fcProj, ffn,
           hidden);
  list.add(name, "mlp.c_proj.bias", TensorInit::Zeros, w.fcProjBias, hidden);
  return list.size();
}

} // namespace

template <typename Real> LayerBody blockBody() {
  return {forward<Real>, inputGrad<Real>, weightGrad<Real>, tensors};
}
template LayerBody blockBody<float>();
template LayerBody blockBody<double>();

} // namespace rondo::runtime
