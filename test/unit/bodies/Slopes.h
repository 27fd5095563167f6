//===- Slopes.h - Gradients against finite differences ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_BODIES_SLOPES_H
#define RONDO_TEST_UNIT_BODIES_SLOPES_H

#include "Model.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {

/// Some elements of a tensor: all of a small one, otherwise a spread that
/// includes both ends.
inline std::vector<int64_t> sample(int64_t count) {
  std::vector<int64_t> picked;
  if (count <= 24) {
    for (int64_t i = 0; i < count; ++i)
      picked.push_back(i);
    return picked;
  }
  for (int64_t i = 0; i < 16; ++i)
    picked.push_back(static_cast<int64_t>(mix(5, i) % count));
  picked.push_back(0);
  picked.push_back(count - 1);
  return picked;
}

/// Compares with (loss(x + step) - loss(x - step)) / (2 step).
template <typename Loss>
void expectSlope(double gradient, double &x, Loss loss, double step,
                 const std::string &what) {
  const double before = x;
  x = before + step;
  double above = loss();
  x = before - step;
  double below = loss();
  x = before;
  double slope = (above - below) / (2 * step);
  EXPECT_NEAR(gradient, slope, 1e-7 + 1e-6 * std::abs(slope)) << what;
}

/// Compares all gradients of a micro-batch with slopes of the loss.
inline void checkSlopes(const std::vector<LayerDesc> &layers,
                        const std::vector<int32_t> &starts = {},
                        double step = 1e-5) {
  const double scale = 0.25;
  Model<double> model(layers, 1, scale, starts);
  model.setRandomWeights();
  auto loss = [&] { return scale * model.forward(0); };
  loss();
  std::vector<double> inputGrad = model.inputGrad(0);
  model.weightGrad(0);

  for (size_t l = 0; l < layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(layers[l]))
      for (int64_t i : sample(tensor.count)) {
        int64_t at = tensor.offset + i;
        expectSlope(model.gradients[l]->get()[at], model.weights[l]->get()[at],
                    loss, step, tensorName(tensor) + " " + std::to_string(i));
      }
  for (int64_t i : sample(inputGrad.size())) {
    model.shiftedInput = i;
    expectSlope(inputGrad[i], model.inputShift, loss, step,
                "input " + std::to_string(i));
  }
}

/// All gradients of a model, one layer after another, without padding.
template <typename Real> std::vector<Real> allGradients(Model<Real> &model) {
  std::vector<Real> all;
  for (size_t l = 0; l < model.layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(model.layers[l])) {
      const Real *first = model.gradients[l]->get() + tensor.offset;
      all.insert(all.end(), first, first + tensor.count);
    }
  return all;
}

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_BODIES_SLOPES_H
