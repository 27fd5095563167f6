//===- rms_norm.cpp - Normalisation by the root mean square ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/rms_norm.h"

#include "runtime/base/vectorise.h"

namespace rondo::runtime {

template <typename Real>
RONDO_VECTORISE void rmsNormalise(int64_t rows, int64_t columns, Real epsilon,
                                  const Real *x, Real *__restrict normal,
                                  Real *__restrict scale) {
  for (int64_t i = 0; i < rows; ++i) {
    const Real *row = x + i * columns;
    Real square =
        laneSum<Real>(columns, [=](int64_t j) { return row[j] * row[j]; }) /
        columns;
    Real rowScale = 1 / std::sqrt(square + epsilon);
    scale[i] = rowScale;
    for (int64_t j = 0; j < columns; ++j)
      normal[i * columns + j] = row[j] * rowScale;
  }
}

template <typename Real>
RONDO_VECTORISE void rmsOutput(int64_t rows, int64_t columns,
                               const Real *normal, const Real *gain,
                               Real *__restrict y) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      y[i * columns + j] = gain[j] * normal[i * columns + j];
}

template <typename Real>
RONDO_VECTORISE void rmsInputGrad(int64_t rows, int64_t columns, const Real *dy,
                                  const Real *normal, const Real *scale,
                                  const Real *gain, const Real *residual,
                                  Real *dx, Real *__restrict grads) {
  for (int64_t i = 0; i < rows; ++i) {
    const Real *rowGrad = dy + i * columns, *rowNormal = normal + i * columns;
    Real slope = laneSum<Real>(columns,
                               [=](int64_t j) {
                                 return rowGrad[j] * gain[j] * rowNormal[j];
                               }) /
                 columns;
    for (int64_t j = 0; j < columns; ++j)
      grads[j] += rowGrad[j] * rowNormal[j];
    Real rowScale = scale[i];
    Real *rowOut = dx + i * columns;
    for (int64_t j = 0; j < columns; ++j)
      rowOut[j] = rowScale * (rowGrad[j] * gain[j] - rowNormal[j] * slope);
    if (residual)
      for (int64_t j = 0; j < columns; ++j)
        rowOut[j] += residual[i * columns + j];
  }
}

template <typename Real>
RONDO_VECTORISE void rmsWeightGrad(int64_t columns, const Real *grads,
                                   Real *__restrict gainGrad) {
  for (int64_t j = 0; j < columns; ++j)
    gainGrad[j] += grads[j];
}

#define RONDO_INSTANTIATE(Real)                                                \
  template void rmsNormalise(int64_t, int64_t, Real, const Real *, Real *,     \
                             Real *);                                          \
  template void rmsOutput(int64_t, int64_t, const Real *, const Real *,        \
                          Real *);                                             \
  template void rmsInputGrad(int64_t, int64_t, const Real *, const Real *,     \
                             const Real *, const Real *, const Real *, Real *, \
                             Real *);                                          \
  template void rmsWeightGrad(int64_t, const Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
