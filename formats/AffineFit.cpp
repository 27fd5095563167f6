//===- AffineFit.cpp - Affine costs of measured times ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/AffineFit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::formats {

namespace {

using Column = std::vector<double>;

double dot(const Column &a, const Column &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Factors of columns whose sum is nearest to 1 everywhere, by Gram-Schmidt;
/// nothing if the columns depend on each other.
std::optional<std::vector<double>>
nearestToOne(const std::vector<Column> &columns) {
  const size_t count = columns.size();
  std::vector<Column> basis;
  std::vector<std::vector<double>> r(count, std::vector<double>(count, 0));
  const Column ones(columns.front().size(), 1);
  std::vector<double> right;
  for (size_t k = 0; k < count; ++k) {
    Column column = columns[k];
    const double length = std::sqrt(dot(column, column));
    // Twice, against rounding.
    for (int pass = 0; pass < 2; ++pass)
      for (size_t j = 0; j < k; ++j) {
        const double share = dot(basis[j], column);
        r[j][k] += share;
        for (size_t i = 0; i < column.size(); ++i)
          column[i] -= share * basis[j][i];
      }
    r[k][k] = std::sqrt(dot(column, column));
    if (!(r[k][k] > 1e-9 * length))
      return std::nullopt;
    for (double &value : column)
      value /= r[k][k];
    right.push_back(dot(column, ones));
    basis.push_back(std::move(column));
  }
  for (size_t k = count; k-- > 0;) {
    for (size_t j = k + 1; j < count; ++j)
      right[k] -= r[k][j] * right[j];
    right[k] /= r[k][k];
  }
  return right;
}

/// Sum of squares of what is missing to 1.
double missing(const std::vector<Column> &columns,
               const std::vector<double> &factors) {
  double sum = 0;
  for (size_t i = 0; i < columns.front().size(); ++i) {
    double value = -1;
    for (size_t k = 0; k < columns.size(); ++k)
      value += factors[k] * columns[k][i];
    sum += value * value;
  }
  return sum;
}

/// The same without negative factors: the best of all choices of columns.
std::optional<std::vector<double>>
nearestWithoutNegative(const std::vector<Column> &columns) {
  if (!nearestToOne(columns))
    return std::nullopt;
  std::vector<double> best(columns.size(), 0);
  double least = missing(columns, best);
  for (unsigned choice = 1; choice < 1u << columns.size(); ++choice) {
    std::vector<Column> chosen;
    for (size_t k = 0; k < columns.size(); ++k)
      if (choice >> k & 1)
        chosen.push_back(columns[k]);
    const auto factors = nearestToOne(chosen);
    if (!factors || std::any_of(factors->begin(), factors->end(),
                                [](double factor) { return factor < 0; }))
      continue;
    // A figure that only follows rounding stays 0.
    const double left = missing(chosen, *factors);
    if (left >= least - 1e-18 * static_cast<double>(chosen[0].size()))
      continue;
    least = left;
    for (size_t k = 0, next = 0; k < columns.size(); ++k)
      best[k] = choice >> k & 1 ? (*factors)[next++] : 0;
  }
  return best;
}

/// Whole numbers in place of the factors of the sizes.
void setWhole(const std::vector<double> &factors, json::AffineText &cost) {
  constexpr int64_t maxOver = int64_t(1) << 40;
  auto isNear = [](double value) {
    return std::abs(std::round(value) - value) <= 1e-6 * value;
  };
  cost.over = 1;
  while (cost.over < maxOver &&
         !std::all_of(
             factors.begin(), factors.end(),
             [&](double factor) {
               return isNear(factor * static_cast<double>(cost.over));
             }))
    cost.over *= 2;
  for (double factor : factors)
    cost.perSize.push_back(
        std::llround(factor * static_cast<double>(cost.over)));
}

} // namespace

std::optional<AffineFit> fitAffine(const std::vector<MeasuredTime> &times) {
  const size_t count = times.empty() ? 0 : times.front().sizes.size();
  if (times.size() <= count)
    return std::nullopt;
  // Relative: each row is divided by its time.
  std::vector<Column> columns(1 + count);
  for (const MeasuredTime &time : times) {
    const auto ns = static_cast<double>(time.ns);
    columns[0].push_back(1 / ns);
    for (size_t k = 0; k < count; ++k)
      columns[1 + k].push_back(static_cast<double>(time.sizes[k]) / ns);
  }
  const auto factors = nearestWithoutNegative(columns);
  if (!factors)
    return std::nullopt;
  AffineFit fit;
  fit.cost.fixed = std::llround(factors->front());
  setWhole({factors->begin() + 1, factors->end()}, fit.cost);
  for (size_t i = 0; i < times.size(); ++i) {
    double value = static_cast<double>(fit.cost.fixed);
    for (size_t k = 0; k < count; ++k)
      value += static_cast<double>(fit.cost.perSize[k]) *
               static_cast<double>(times[i].sizes[k]) /
               static_cast<double>(fit.cost.over);
    const auto ns = static_cast<double>(times[i].ns);
    const double residual = (value - ns) / ns;
    if (std::abs(residual) > std::abs(fit.residual)) {
      fit.residual = residual;
      fit.worst = i;
    }
  }
  return fit;
}

} // namespace rondo::formats
