//===- norm.cpp - Normalisation of layers ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/norm.h"

#include "runtime/base/vectorise.h"

namespace rondo::runtime {

template <typename Real>
RONDO_VECTORISE void normForward(int64_t rows, int64_t columns, const Real *x,
                                 const Real *gain, const Real *bias,
                                 Real *__restrict normal,
                                 Real *__restrict scale, Real *__restrict y) {
  for (int64_t i = 0; i < rows; ++i) {
    const Real *row = x + i * columns;
    Real mean =
        laneSum<Real>(columns, [=](int64_t j) { return row[j]; }) / columns;
    Real variance = laneSum<Real>(columns,
                                  [=](int64_t j) {
                                    return (row[j] - mean) * (row[j] - mean);
                                  }) /
                    columns;
    Real rowScale = 1 / std::sqrt(variance + Real(1e-5));
    scale[i] = rowScale;
    for (int64_t j = 0; j < columns; ++j) {
      Real value = (row[j] - mean) * rowScale;
      normal[i * columns + j] = value;
      y[i * columns + j] = gain[j] * value + bias[j];
    }
  }
}

template <typename Real>
RONDO_VECTORISE void normOutput(int64_t rows, int64_t columns,
                                const Real *normal, const Real *gain,
                                const Real *bias, Real *__restrict y) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      y[i * columns + j] = gain[j] * normal[i * columns + j] + bias[j];
}

namespace {

/// Adds one row's part to the gradients of gain and bias.
template <typename Real>
RONDO_INLINE void addGrads(int64_t columns, const Real *dy, const Real *normal,
                           Real *__restrict gainGrad,
                           Real *__restrict biasGrad) {
  for (int64_t j = 0; j < columns; ++j) {
    gainGrad[j] += dy[j] * normal[j];
    biasGrad[j] += dy[j];
  }
}

} // namespace

template <typename Real>
RONDO_VECTORISE void
normInputGrad(int64_t rows, int64_t columns, const Real *dy, const Real *normal,
              const Real *scale, const Real *gain, const Real *residual,
              Real *__restrict dx, Real *__restrict grads) {
  for (int64_t j = 0; j < 2 * columns; ++j)
    grads[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const Real *rowGrad = dy + i * columns, *rowNormal = normal + i * columns;
    Real mean = laneSum<Real>(columns,
                              [=](int64_t j) { return rowGrad[j] * gain[j]; }) /
                columns;
    Real slope = laneSum<Real>(columns,
                               [=](int64_t j) {
                                 return rowGrad[j] * gain[j] * rowNormal[j];
                               }) /
                 columns;
    Real rowScale = scale[i];
    Real *__restrict rowOut = dx + i * columns;
    for (int64_t j = 0; j < columns; ++j)
      rowOut[j] =
          rowScale * (rowGrad[j] * gain[j] - mean - rowNormal[j] * slope);
    if (residual)
      for (int64_t j = 0; j < columns; ++j)
        rowOut[j] += residual[i * columns + j];
    addGrads(columns, rowGrad, rowNormal, grads, grads + columns);
  }
}

template <typename Real>
RONDO_VECTORISE void normWeightGrad(int64_t columns, const Real *grads,
                                    Real *__restrict gainGrad,
                                    Real *__restrict biasGrad) {
  for (int64_t j = 0; j < columns; ++j) {
    gainGrad[j] += grads[j];
    biasGrad[j] += grads[columns + j];
  }
}

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
  template void normForward(int64_t, int64_t, const Real *, const Real *,      \
                            const Real *, Real *, Real *, Real *);             \
  template void normOutput(int64_t, int64_t, const Real *, const Real *,       \
                           const Real *, Real *);                              \
  template void normInputGrad(int64_t, int64_t, const Real *, const Real *,    \
                              const Real *, const Real *, const Real *,        \
                              Real *, Real *);                                 \
  template void normWeightGrad(int64_t, const Real *, Real *, Real *);         \
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
