//===- Simplex.cpp - Packing programs and matrix games --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Simplex.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

namespace {

/// A column enters if its price is lower than its worth by more than this.
constexpr double leastGain = 1e-9;
constexpr double leastPivot = 1e-9;
/// Pivots until the inverse is computed anew, which removes rounding errors.
constexpr int64_t pivotsUntilRefactoring = 300;
/// After more than this many pivots without a gain, Bland's rule selects the
/// entering variable, so that no cycle lasts.
constexpr int64_t maxWithoutGain = 40;
/// The number of columns that are kept as candidates after all were priced.
constexpr size_t maxCandidates = 8;

} // namespace

Simplex::Simplex(std::vector<double> given)
    : limits(std::move(given)), rows(limits.size()), basis(rows),
      amounts(limits), placeOfSlack(rows), inverse(rows), prices(rows),
      rowShares(rows, 1.0 / double(rows)), alpha(rows) {
  for (size_t r = 0; r < rows; ++r) {
    basis[r] = -1 - int64_t(r);
    placeOfSlack[r] = int64_t(r);
  }
}

void Simplex::addColumn(const std::vector<double> &column, double worth) {
  entries.insert(entries.end(), column.begin(), column.end());
  used.push_back(false);
  worths.push_back(worth);
}

double Simplex::priceOf(size_t number) const {
  const double *entry = column(number);
  double sum = 0;
  for (size_t row : priced)
    sum += prices[row] * entry[row];
  return sum;
}

/// The gain of an entering column is its worth minus its price; that of a slack
/// is minus the price of its row.
void Simplex::findCandidates() {
  std::vector<std::pair<double, int64_t>> gains;
  for (size_t row : priced)
    if (prices[row] < -leastGain)
      gains.push_back({-prices[row], -1 - int64_t(row)});
  for (size_t c = 0; c < used.size(); ++c)
    if (!used[c])
      if (const double gain = worths[c] - priceOf(c); gain > leastGain)
        gains.push_back({gain, int64_t(c)});
  candidates.clear();
  if (gains.empty())
    return;
  if (withoutGain > maxWithoutGain) {
    candidates.push_back(
        std::min_element(gains.begin(), gains.end(), [](auto &a, auto &b) {
          return a.second < b.second;
        })->second);
    return;
  }
  const size_t count = std::min(maxCandidates, gains.size());
  std::partial_sort(gains.begin(), gains.begin() + int64_t(count), gains.end(),
                    [](auto &a, auto &b) {
                      return a.first > b.first ||
                             (a.first == b.first && a.second < b.second);
                    });
  for (size_t i = 0; i < count; ++i)
    candidates.push_back(gains[i].second);
}

/// Whether entering still gains something.
bool Simplex::gains(int64_t entering) const {
  if (entering >= 0)
    return !used[entering] && worths[entering] - priceOf(entering) > leastGain;
  const auto row = size_t(-1 - entering);
  return placeOfSlack[row] < 0 && prices[row] < -leastGain;
}

/// Sets `alpha`.
void Simplex::enter(int64_t entering) {
  std::fill(alpha.begin(), alpha.end(), 0);
  auto addInverse = [&](size_t row, double factor) {
    if (placeOfSlack[row] >= 0) {
      alpha[placeOfSlack[row]] += factor;
      return;
    }
    const double *from = inverse[row].data();
    for (size_t r = 0; r < rows; ++r)
      alpha[r] += factor * from[r];
  };
  if (entering < 0) {
    addInverse(size_t(-1 - entering), 1);
    return;
  }
  const double *entry = column(entering);
  for (size_t row = 0; row < rows; ++row)
    if (entry[row] != 0)
      addInverse(row, entry[row]);
}

void Simplex::pivot(size_t leavingRow, int64_t entering) {
  const double value = alpha[leavingRow];
  const double gain = entering < 0 ? -prices[-1 - entering]
                                   : worths[entering] - priceOf(entering);
  const int64_t leaving = basis[leavingRow];
  if (leaving < 0) {
    const auto row = size_t(-1 - leaving);
    inverse[row].assign(rows, 0);
    inverse[row][leavingRow] = 1;
    placeOfSlack[row] = -1;
    priced.push_back(row);
  } else {
    used[leaving] = false;
  }
  const double step = std::max(0.0, amounts[leavingRow]) / value;
  for (size_t row : priced) {
    double *to = inverse[row].data();
    const double factor = to[leavingRow] / value;
    if (factor == 0)
      continue;
    for (size_t r = 0; r < rows; ++r)
      to[r] -= factor * alpha[r];
    to[leavingRow] = factor;
    prices[row] += gain * factor;
  }
  for (size_t r = 0; r < rows; ++r)
    amounts[r] -= step * alpha[r];
  amounts[leavingRow] = step;
  basis[leavingRow] = entering;
  if (entering < 0) {
    const auto row = size_t(-1 - entering);
    placeOfSlack[row] = int64_t(leavingRow);
    prices[row] = 0;
    priced.erase(std::find(priced.begin(), priced.end(), row));
  } else {
    used[entering] = true;
  }
  withoutGain = step * gain > 1e-12 ? 0 : withoutGain + 1;
  ++sinceRefactoring;
}

bool Simplex::solve(int64_t &pivots, double enough) {
  bool isBest = false;
  const auto isEnough = [&] { return enough < infinity && worth() > enough; };
  while (pivots > 0 && !isBest && !isEnough()) {
    if (sinceRefactoring > pivotsUntilRefactoring)
      refactor();
    findCandidates();
    isBest = candidates.empty();
    for (int64_t entering : candidates) {
      if (!gains(entering))
        continue;
      enter(entering);
      if (--pivots < 0)
        break;
      // The least ratio; of almost equal ones, the largest pivot.
      double limit = INFINITY, most = leastPivot;
      for (size_t r = 0; r < rows; ++r)
        if (alpha[r] > leastPivot)
          limit =
              std::min(limit, (std::max(0.0, amounts[r]) + 1e-10) / alpha[r]);
      size_t leavingRow = rows;
      for (size_t r = 0; r < rows; ++r)
        if (alpha[r] > most && amounts[r] <= limit * alpha[r]) {
          most = alpha[r];
          leavingRow = r;
        }
      // Only rounding errors cause this: every column has a limit.
      if (leavingRow == rows) {
        share();
        return false;
      }
      pivot(leavingRow, entering);
      if (isEnough())
        break;
    }
  }
  share();
  return isBest;
}

/// Starts from the slacks and lets the basic columns enter again.
void Simplex::refactor() {
  std::vector<size_t> columns;
  std::vector<bool> mayLeave(rows);
  for (size_t r = 0; r < rows; ++r) {
    if (basis[r] >= 0)
      columns.push_back(size_t(basis[r]));
    mayLeave[r] = placeOfSlack[r] < 0;
  }
  std::sort(columns.begin(), columns.end());
  for (size_t r = 0; r < rows; ++r) {
    basis[r] = -1 - int64_t(r);
    placeOfSlack[r] = int64_t(r);
    amounts[r] = 1;
    prices[r] = 0;
  }
  priced.clear();
  for (size_t c : columns)
    used[c] = false;
  for (size_t c : columns) {
    enter(int64_t(c));
    size_t best = rows;
    for (size_t r = 0; r < rows; ++r)
      if (mayLeave[r] && std::abs(alpha[r]) > leastPivot &&
          (best == rows || std::abs(alpha[r]) > std::abs(alpha[best])))
        best = r;
    if (best == rows)
      continue;
    pivot(best, int64_t(c));
    mayLeave[best] = false;
  }
  std::fill(prices.begin(), prices.end(), 0);
  std::fill(amounts.begin(), amounts.end(), 0);
  for (size_t row = 0; row < rows; ++row)
    if (placeOfSlack[row] >= 0)
      amounts[placeOfSlack[row]] += limits[row];
  for (size_t row : priced)
    for (size_t r = 0; r < rows; ++r) {
      const double entry = inverse[row][r];
      amounts[r] += entry * limits[row];
      prices[row] += basis[r] >= 0 ? entry * worths[basis[r]] : 0;
    }
  sinceRefactoring = withoutGain = 0;
}

void Simplex::share() {
  double sum = 0;
  for (size_t r = 0; r < rows; ++r)
    sum += rowShares[r] = std::max(0.0, prices[r]);
  for (double &share : rowShares)
    share = sum > 0 ? share / sum : 1.0 / double(rows);
}

double Simplex::worth() const {
  double sum = 0;
  for (size_t r = 0; r < rows; ++r)
    sum += basis[r] >= 0 ? amounts[r] * worths[basis[r]] : 0;
  return sum;
}

double Simplex::value() const {
  const double sum = worth();
  return sum > 0 ? 1 / sum : INFINITY;
}

std::vector<double> Simplex::amountsOfColumns() const {
  std::vector<double> amountsOf(columns());
  for (size_t r = 0; r < rows; ++r)
    if (basis[r] >= 0)
      amountsOf[basis[r]] = amounts[r];
  return amountsOf;
}

std::vector<size_t> Simplex::prune(size_t most) {
  std::vector<std::pair<double, size_t>> unused;
  for (size_t c = 0; c < used.size(); ++c)
    if (!used[c])
      unused.push_back({priceOf(c), c});
  const size_t inUse = used.size() - unused.size();
  const size_t kept = std::min(unused.size(), most > inUse ? most - inUse : 0);
  std::sort(unused.begin(), unused.end());
  std::vector<bool> stays = used;
  for (size_t i = 0; i < kept; ++i)
    stays[unused[i].second] = true;
  std::vector<size_t> stayed;
  std::vector<int64_t> numbers(used.size(), -1);
  for (size_t c = 0; c < used.size(); ++c) {
    if (!stays[c])
      continue;
    const size_t to = stayed.size();
    if (to < c)
      std::copy_n(column(c), rows, entries.begin() + int64_t(to * rows));
    used[to] = used[c];
    worths[to] = worths[c];
    numbers[c] = int64_t(to);
    stayed.push_back(c);
  }
  used.resize(stayed.size());
  worths.resize(stayed.size());
  entries.resize(stayed.size() * rows);
  for (int64_t &variable : basis)
    if (variable >= 0)
      variable = numbers[variable];
  return stayed;
}
