//===- llama_block.cpp - Block of a Llama ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   middle = input + o(attention(q(norm1(input)), k(...), v(...)))
//   output = middle + down(silu(gate(norm2(middle))) * up(norm2(middle)))
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/activations.h"
#include "runtime/bodies/attention.h"
#include "runtime/bodies/layers.h"
#include "runtime/bodies/linear.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/llama_sizes.h"

#include <algorithm>

namespace rondo::runtime {

namespace {

/// One of q, k and v.
struct Projection {
  int64_t weight, bias;
  /// Its part of a token's q, k and v.
  int64_t first, width;
};

/// The regions of a block's buffers. Buffers that a task does not get are
/// unused.
template <typename Real> struct Block {
  Block(const LayerDesc *layer, const LayerArgs *args)
      : rows(numTokens(*layer)), hidden(layer->hidden), ffn(layer->ffn),
        width(headWidth(*layer)), queries(attentionWidth(*layer)),
        stride(qkvWidth(*layer)), w(*layer), i(*layer), s(*layer),
        scratch(*layer), layer(*layer), args(args), documents(*layer, *args),
        projections{{w.q, w.qBias, 0, queries},
                    {w.k, w.kBias, queries, kvHeads(*layer) * width},
                    {w.v, w.vBias, queries + kvHeads(*layer) * width,
                     kvHeads(*layer) * width}} {}

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
  Real *work(int64_t offset) const { return at<Real>(args->workspace, offset); }

  int64_t rows, hidden, ffn, width, queries, stride;
  LlamaBlockWeights w;
  LlamaBlockSavedForI i;
  LlamaBlockSavedForW s;
  LlamaBlockWorkspace scratch;
  const LayerDesc &layer;
  const LayerArgs *args;
  TaskDocuments documents;
  Projection projections[3];
};

/// Normalises the heads of q and k.
template <typename Real> void normaliseHeads(const Block<Real> &b) {
  const int64_t heads = rotatedHeads(b.layer), width = b.width;
  for (int64_t t = 0; t < b.rows; ++t) {
    Real *q = b.forW(b.s.qkv) + t * b.stride;
    Real *normal = b.forI(b.i.headNormal) + t * heads * width;
    rmsNormalise(heads, width, Real(b.layer.llama.normEpsilon), q, normal,
                 b.forI(b.i.headScale) + t * heads);
    rmsOutput(b.layer.heads, width, normal, b.weight(b.w.qNormGain), q);
    rmsOutput(kvHeads(b.layer), width, normal + b.queries,
              b.weight(b.w.kNormGain), q + b.queries);
  }
}

/// Turns the gradients of normalised heads into those of q and k.
template <typename Real> void headNormInputGrad(const Block<Real> &b) {
  const int64_t heads = rotatedHeads(b.layer), width = b.width;
  Real *grads = b.forW(b.s.headNormGrads);
  std::fill(grads, grads + 2 * width, Real(0));
  for (int64_t t = 0; t < b.rows; ++t) {
    Real *q = b.forW(b.s.qkv) + t * b.stride, *k = q + b.queries;
    const Real *normal = b.forI(b.i.headNormal) + t * heads * width;
    const Real *scale = b.forI(b.i.headScale) + t * heads;
    rmsInputGrad<Real>(b.layer.heads, width, q, normal, scale,
                       b.weight(b.w.qNormGain), nullptr, q, grads);
    rmsInputGrad<Real>(kvHeads(b.layer), width, k, normal + b.queries,
                       scale + b.layer.heads, b.weight(b.w.kNormGain), nullptr,
                       k, grads + width);
  }
}

template <typename Real>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  const Real epsilon = static_cast<Real>(layer->llama.normEpsilon);
  const Real *input = at<Real>(args->inputs[0], 0);
  // Holds `middle` until the MLP is added.
  Real *output = at<Real>(args->output, 0);
  Real *normed = b.work(b.scratch.activations), *qkv = b.forW(b.s.qkv);

  rmsNormalise(rows, hidden, epsilon, input, b.forW(b.s.normal1),
               b.forI(b.i.norm1Scale));
  rmsOutput(rows, hidden, b.forW(b.s.normal1), b.weight(b.w.norm1Gain), normed);
  for (const Projection &p : b.projections) {
    if (layer->llama.qkvBias)
      copyBias(rows, p.width, b.weight(p.bias), qkv + p.first, b.stride);
    projectForward<Real>(rows, hidden, p.width, normed, b.weight(p.weight),
                         layer->llama.qkvBias ? 1 : 0, qkv + p.first, b.stride);
  }
  if (layer->llama.headNorm)
    normaliseHeads(b);
  rotaryTable(*layer, b.work(b.scratch.cosines), b.work(b.scratch.sines));
  rotate<Real>(b.documents, rotatedHeads(*layer), b.stride, 1,
               b.work(b.scratch.cosines), b.work(b.scratch.sines), qkv);
  attentionForward(b.documents, qkv, b.forW(b.s.attention),
                   b.forI(b.i.logSumExp), b.work(b.scratch.attention));
  std::copy(input, input + rows * hidden, output);
  projectForward<Real>(rows, b.queries, hidden, b.forW(b.s.attention),
                       b.weight(b.w.o), 1, output, hidden);

  rmsNormalise(rows, hidden, epsilon, output, b.forW(b.s.normal2),
               b.forI(b.i.norm2Scale));
  rmsOutput(rows, hidden, b.forW(b.s.normal2), b.weight(b.w.norm2Gain), normed);
  projectForward<Real>(rows, hidden, ffn, normed, b.weight(b.w.gate), 0,
                       b.forW(b.s.gate), ffn);
  projectForward<Real>(rows, hidden, ffn, normed, b.weight(b.w.up), 0,
                       b.forW(b.s.up), ffn);
  swigluForward(rows * ffn, b.forW(b.s.gate), b.forW(b.s.up),
                b.forW(b.s.product));
  projectForward<Real>(rows, ffn, hidden, b.forW(b.s.product),
                       b.weight(b.w.down), 1, output, hidden);
}

template <typename Real>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  const Real *outputGrad = at<Real>(args->outputGrad, 0);
  Real *scratch = b.work(b.scratch.activations), *qkv = b.forW(b.s.qkv);
  std::copy(outputGrad, outputGrad + rows * hidden, b.forW(b.s.outputGrad));
  for (int64_t grads : {b.s.norm1Grads, b.s.norm2Grads})
    std::fill(b.forW(grads), b.forW(grads) + hidden, Real(0));

  projectInputGrad<Real>(rows, ffn, hidden, outputGrad, hidden,
                         b.weight(b.w.down), 0, scratch);
  swigluInputGrad(rows * ffn, scratch, b.forW(b.s.gate), b.forW(b.s.up));
  projectInputGrad<Real>(rows, hidden, ffn, b.forW(b.s.gate), ffn,
                         b.weight(b.w.gate), 0, scratch);
  projectInputGrad<Real>(rows, hidden, ffn, b.forW(b.s.up), ffn,
                         b.weight(b.w.up), 1, scratch);
  rmsInputGrad<Real>(rows, hidden, scratch, b.forW(b.s.normal2),
                     b.forI(b.i.norm2Scale), b.weight(b.w.norm2Gain),
                     outputGrad, b.forW(b.s.middleGrad),
                     b.forW(b.s.norm2Grads));

  projectInputGrad<Real>(rows, b.queries, hidden, b.forW(b.s.middleGrad),
                         hidden, b.weight(b.w.o), 0, scratch);
  attentionInputGrad(b.documents, qkv, b.forW(b.s.attention), scratch,
                     b.forI(b.i.logSumExp), b.work(b.scratch.attention));
  rotaryTable(*layer, b.work(b.scratch.cosines), b.work(b.scratch.sines));
  rotate<Real>(b.documents, rotatedHeads(*layer), b.stride, -1,
               b.work(b.scratch.cosines), b.work(b.scratch.sines), qkv);
  if (layer->llama.headNorm)
    headNormInputGrad(b);
  for (const Projection &p : b.projections)
    projectInputGrad<Real>(rows, hidden, p.width, qkv + p.first, b.stride,
                           b.weight(p.weight), p.first ? 1 : 0, scratch);
  rmsInputGrad<Real>(rows, hidden, scratch, b.forW(b.s.normal1),
                     b.forI(b.i.norm1Scale), b.weight(b.w.norm1Gain),
                     b.forW(b.s.middleGrad), at<Real>(args->inputGrads[0], 0),
                     b.forW(b.s.norm1Grads));
}

template <typename Real>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const Block<Real> b(layer, args);
  const int64_t rows = b.rows, hidden = b.hidden, ffn = b.ffn;
  Real *normed = b.work(b.scratch.activations);
  const Real *qkv = b.forW(b.s.qkv);

  projectWeightGrad<Real>(rows, ffn, hidden, b.forW(b.s.product),
                          b.forW(b.s.outputGrad), hidden, b.grad(b.w.down));
  rmsOutput(rows, hidden, b.forW(b.s.normal2), b.weight(b.w.norm2Gain), normed);
  projectWeightGrad<Real>(rows, hidden, ffn, normed, b.forW(b.s.gate), ffn,
                          b.grad(b.w.gate));
  projectWeightGrad<Real>(rows, hidden, ffn, normed, b.forW(b.s.up), ffn,
                          b.grad(b.w.up));
  rmsWeightGrad(hidden, b.forW(b.s.norm2Grads), b.grad(b.w.norm2Gain));

  projectWeightGrad<Real>(rows, b.queries, hidden, b.forW(b.s.attention),
                          b.forW(b.s.middleGrad), hidden, b.grad(b.w.o));
  rmsOutput(rows, hidden, b.forW(b.s.normal1), b.weight(b.w.norm1Gain), normed);
  for (const Projection &p : b.projections) {
    projectWeightGrad<Real>(rows, hidden, p.width, normed, qkv + p.first,
                            b.stride, b.grad(p.weight));
    if (layer->llama.qkvBias)
      addBiasGrad(rows, p.width, qkv + p.first, b.stride, b.grad(p.bias));
  }
  if (layer->llama.headNorm) {
    const Real *grads = b.forW(b.s.headNormGrads);
    rmsWeightGrad(b.width, grads, b.grad(b.w.qNormGain));
    rmsWeightGrad(b.width, grads + b.width, b.grad(b.w.kNormGain));
  }
  rmsWeightGrad(hidden, b.forW(b.s.norm1Grads), b.grad(b.w.norm1Gain));
}

/// Names and shapes are Hugging Face's.
int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  const LlamaBlockWeights w(*layer);
  const char *name = layer->name;
  const int64_t hidden = layer->hidden, ffn = layer->ffn;
  const int64_t width = headWidth(*layer), queries = attentionWidth(*layer);
  const int64_t keys = kvHeads(*layer) * width;
  const TensorInit normal = TensorInit::Normal, zeros = TensorInit::Zeros;
  const TensorInit ones = TensorInit::Ones, last = TensorInit::ResidualNormal;
  TensorList list(out, capacity);
  list.add(name, "input_layernorm.weight", ones, w.norm1Gain, hidden);
  list.add(name, "self_attn.q_proj.weight", normal, w.q, queries, hidden);
  list.add(name, "self_attn.k_proj.weight", normal, w.k, keys, hidden);
  list.add(name, "self_attn.v_proj.weight", normal, w.v, keys, hidden);
  if (layer->llama.qkvBias) {
    list.add(name, "self_attn.q_proj.bias", zeros, w.qBias, queries);
    list.add(name, "self_attn.k_proj.bias", zeros, w.kBias, keys);
    list.add(name, "self_attn.v_proj.bias", zeros, w.vBias, keys);
  }
  if (layer->llama.headNorm) {
    list.add(name, "self_attn.q_norm.weight", ones, w.qNormGain, width);
    list.add(name, "self_attn.k_norm.weight", ones, w.kNormGain, width);
  }
  list.add(name, "self_attn.o_proj.weight", last, w.o, hidden, queries);
  list.add(name, "post_attention_layernorm.weight", ones, w.norm2Gain, hidden);
  list.add(name, "mlp.gate_proj.weight", normal, w.gate, ffn, hidden);
  list.add(name, "mlp.up_proj.weight", normal, w.up, ffn, hidden);
  list.add(name, "mlp.down_proj.weight", last, w.down, hidden, ffn);
  return list.size();
}

} // namespace

template <typename Real> LayerBody llamaBlockBody() {
  return {forward<Real>, inputGrad<Real>, weightGrad<Real>, tensors};
}
template LayerBody llamaBlockBody<float>();
template LayerBody llamaBlockBody<double>();

} // namespace rondo::runtime
