//===- head.cpp - Final norm, linear to the vocabulary, cross-entropy -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/vectorise.h"
#include "runtime/bodies/layers.h"
#include "runtime/bodies/linear.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/layouts.h"

namespace rondo::runtime {

namespace {

/// Rows of logits become gradients of the mean loss times `scale`; returns the
/// mean loss.
template <typename Real>
RONDO_VECTORISE double crossEntropy(int64_t rows, int64_t vocab,
                                    const int32_t *targets, double scale,
                                    Real *__restrict logits) {
  const Real share = static_cast<Real>(scale / static_cast<double>(rows));
  double loss = 0;
  for (int64_t i = 0; i < rows; ++i) {
    Real *__restrict row = logits + i * vocab;
    Real most = laneMax(vocab, row), target = row[targets[i]];
    for (int64_t j = 0; j < vocab; ++j)
      row[j] = exponential(row[j] - most);
    Real sum = laneSum<Real>(vocab, [=](int64_t j) { return row[j]; });
    loss += std::log(static_cast<double>(sum)) + most - target;
    Real factor = share / sum;
    for (int64_t j = 0; j < vocab; ++j)
      row[j] *= factor;
    row[targets[i]] -= share;
  }
  return loss / static_cast<double>(rows);
}

template <typename Real>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const HeadWeights weights(*layer);
  const HeadSavedForI forI(*layer);
  const HeadSavedForW forW(*layer);
  const int64_t rows = numTokens(*layer), hidden = layer->hidden;
  Real *normed = at<Real>(args->workspace, 0);
  Real *logits = at<Real>(args->savedForWeightGrad, forW.logitsGrad);
  normForward(rows, hidden, at<Real>(args->inputs[0], 0),
              at<Real>(args->weights, weights.normGain),
              at<Real>(args->weights, weights.normBias),
              at<Real>(args->savedForWeightGrad, forW.normal),
              at<Real>(args->savedForInputGrad, forI.normScale), normed);
  multiply(rows, layer->vocab, hidden, Real(1), {normed, hidden},
           {at<Real>(args->weights, weights.vocabulary), hidden, true}, Real(0),
           logits, layer->vocab);
  *at<Real>(args->loss, 0) = static_cast<Real>(
      crossEntropy(rows, layer->vocab, args->data, args->lossScale, logits));
}

template <typename Real>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const HeadWeights weights(*layer);
  const HeadSavedForI forI(*layer);
  const HeadSavedForW forW(*layer);
  const int64_t rows = numTokens(*layer), hidden = layer->hidden;
  Real *normedGrad = at<Real>(args->workspace, 0);
  multiply(rows, hidden, layer->vocab, Real(1),
           {at<Real>(args->savedForWeightGrad, forW.logitsGrad), layer->vocab},
           {at<Real>(args->weights, weights.vocabulary), hidden}, Real(0),
           normedGrad, hidden);
  normInputGrad<Real>(rows, hidden, normedGrad,
                      at<Real>(args->savedForWeightGrad, forW.normal),
                      at<Real>(args->savedForInputGrad, forI.normScale),
                      at<Real>(args->weights, weights.normGain), nullptr,
                      at<Real>(args->inputGrads[0], 0),
                      at<Real>(args->savedForWeightGrad, forW.normGrads));
}

template <typename Real>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const HeadWeights weights(*layer);
  const HeadSavedForW forW(*layer);
  const int64_t rows = numTokens(*layer), hidden = layer->hidden;
  Real *normed = at<Real>(args->workspace, 0);
  normOutput(rows, hidden, at<Real>(args->savedForWeightGrad, forW.normal),
             at<Real>(args->weights, weights.normGain),
             at<Real>(args->weights, weights.normBias), normed);
  multiply(
      layer->vocab, hidden, rows, Real(1),
      {at<Real>(args->savedForWeightGrad, forW.logitsGrad), layer->vocab, true},
      {normed, hidden}, Real(1), at<Real>(args->gradients, weights.vocabulary),
      hidden);
  normWeightGrad(hidden, at<Real>(args->savedForWeightGrad, forW.normGrads),
                 at<Real>(args->gradients, weights.normGain),
                 at<Real>(args->gradients, weights.normBias));
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  const HeadWeights weights(*layer);
  TensorList list(out, capacity);
  list.add(nullptr, "ln_f.weight", TensorInit::Ones, weights.normGain,
           layer->hidden);
  list.add(nullptr, "ln_f.bias", TensorInit::Zeros, weights.normBias,
           layer->hidden);
  list.add(nullptr, layer->tied ? "wte.weight" : "lm_head.weight",
           TensorInit::Normal, weights.vocabulary, layer->vocab, layer->hidden,
           layer->tied ? "wte.weight" : nullptr);
  return list.size();
}

} // namespace

template <typename Real> LayerBody headBody() {
  return {forward<Real>, inputGrad<Real>, weightGrad<Real>, tensors};
}
template LayerBody headBody<float>();
template LayerBody headBody<double>();

} // namespace rondo::runtime
