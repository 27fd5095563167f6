//===- head.cpp - Final norm, linear to the vocabulary, cross-entropy -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The norm is a GPT's, with mean and bias, or a Llama's, without.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"
#include "runtime/bodies/layers.h"
#include "runtime/bodies/linear.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/layouts.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace rondo::runtime {

namespace {

/// Rows of logits become gradients of a loss of which each row has `share`, and
/// losses those of the rows.
template <typename Real>
RONDO_VECTORISE void crossEntropyRows(int64_t rows, int64_t vocab,
                                      const int32_t *targets, Real share,
                                      Real *__restrict logits, double *losses) {
  for (int64_t i = 0; i < rows; ++i) {
    Real *__restrict row = logits + i * vocab;
    Real most = laneMax(vocab, row), target = row[targets[i]];
    for (int64_t j = 0; j < vocab; ++j)
      row[j] = exponential(row[j] - most);
    Real sum = laneSum<Real>(vocab, [=](int64_t j) { return row[j]; });
    losses[i] = std::log(static_cast<double>(sum)) + most - target;
    Real factor = share / sum;
    for (int64_t j = 0; j < vocab; ++j)
      row[j] *= factor;
    row[targets[i]] -= share;
  }
}

/// Rows of logits become gradients of the mean loss times `scale`; returns the
/// mean loss.
template <typename Real>
double crossEntropy(int64_t rows, int64_t vocab, const int32_t *targets,
                    double scale, Real *logits) {
  const Real share = static_cast<Real>(scale / static_cast<double>(rows));
  std::vector<double> losses(static_cast<size_t>(rows));
  forRanges(rows, vocab, [&](int64_t first, int64_t some) {
    crossEntropyRows(some, vocab, targets + first, share,
                     logits + first * vocab, losses.data() + first);
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0) /
         static_cast<double>(rows);
}

/// Factor of the gradient of the logits in W.
template <typename Real>
void writeNormed(const LayerDesc &layer, const LayerArgs &args, Real *normed) {
  const HeadWeights weights(layer);
  const Real *normal =
      at<Real>(savedForWeightGrad(args, HeadSavedForW(layer).normal));
  const Real *gain = at<Real>(args.weights, weights.normGain);
  if (isLlama(layer))
    rmsOutput(numTokens(layer), layer.hidden, normal, gain, normed);
  else
    normOutput(numTokens(layer), layer.hidden, normal, gain,
               at<Real>(args.weights, weights.normBias), normed);
}

template <typename Real>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const HeadWeights weights(*layer);
  const HeadSavedForI forI(*layer);
  const HeadSavedForW forW(*layer);
  const int64_t rows = numTokens(*layer), hidden = layer->hidden;
  Real *normed = at<Real>(args->workspace, 0);
  Real *logits = at<Real>(savedForWeightGrad(*args, forW.logitsGrad));
  const Real *input = at<Real>(args->inputs[0], 0);
  Real *normal = at<Real>(savedForWeightGrad(*args, forW.normal));
  Real *scale = at<Real>(savedForInputGrad(*args, forI.normScale));
  if (isLlama(*layer)) {
    rmsNormalise(rows, hidden, Real(layer->llama.normEpsilon), input, normal,
                 scale);
    writeNormed(*layer, *args, normed);
  } else {
    normForward(rows, hidden, input, at<Real>(args->weights, weights.normGain),
                at<Real>(args->weights, weights.normBias), normal, scale,
                normed);
  }
  multiply(rows, layer->vocab, hidden, Real(1), {normed, hidden},
           {at<Real>(args->weights, weights.vocabulary), hidden, true}, Real(0),
           logits, layer->vocab);
  if (args->logits)
    std::copy(logits, logits + rows * layer->vocab, at<Real>(args->logits, 0));
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
           {at<Real>(savedForWeightGrad(*args, forW.logitsGrad)), layer->vocab},
           {at<Real>(args->weights, weights.vocabulary), hidden}, Real(0),
           normedGrad, hidden);
  const Real *normal = at<Real>(savedForWeightGrad(*args, forW.normal));
  const Real *scale = at<Real>(savedForInputGrad(*args, forI.normScale));
  const Real *gain = at<Real>(args->weights, weights.normGain);
  Real *inputGrad = at<Real>(args->inputGrads[0], 0);
  Real *grads = at<Real>(savedForWeightGrad(*args, forW.normGrads));
  if (isLlama(*layer)) {
    std::fill(grads, grads + hidden, Real(0));
    rmsInputGrad<Real>(rows, hidden, normedGrad, normal, scale, gain, nullptr,
                       inputGrad, grads);
  } else {
    normInputGrad<Real>(rows, hidden, normedGrad, normal, scale, gain, nullptr,
                        inputGrad, grads);
  }
}

template <typename Real>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const HeadWeights weights(*layer);
  const HeadSavedForW forW(*layer);
  const int64_t rows = numTokens(*layer), hidden = layer->hidden;
  Real *normed = at<Real>(args->workspace, 0);
  writeNormed(*layer, *args, normed);
  multiply(layer->vocab, hidden, rows, Real(1),
           {at<Real>(savedForWeightGrad(*args, forW.logitsGrad)), layer->vocab,
            true},
           {normed, hidden}, Real(1),
           at<Real>(args->gradients, weights.vocabulary), hidden);
  const Real *grads = at<Real>(savedForWeightGrad(*args, forW.normGrads));
  Real *gainGrad = at<Real>(args->gradients, weights.normGain);
  if (isLlama(*layer))
    rmsWeightGrad(hidden, grads, gainGrad);
  else
    normWeightGrad(hidden, grads, gainGrad,
                   at<Real>(args->gradients, weights.normBias));
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  const HeadWeights weights(*layer);
  TensorList list(out, capacity);
  const bool isOfLlama = isLlama(*layer);
  list.add(nullptr, isOfLlama ? "model.norm.weight" : "ln_f.weight",
           TensorInit::Ones, weights.normGain, layer->hidden);
  if (!isOfLlama)
    list.add(nullptr, "ln_f.bias", TensorInit::Zeros, weights.normBias,
             layer->hidden);
  const char *shared = layer->tied ? tokenWeightName(isOfLlama) : nullptr;
  list.add(nullptr, shared ? shared : "lm_head.weight", TensorInit::Normal,
           weights.vocabulary, layer->vocab, layer->hidden, shared);
  return list.size();
}

} // namespace

template <typename Real> LayerBody headBody() {
  return {forward<Real>, inputGrad<Real>, weightGrad<Real>, tensors};
}
template LayerBody headBody<float>();
template LayerBody headBody<double>();

} // namespace rondo::runtime
