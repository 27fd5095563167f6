//===- CheapestPath.cpp - A micro-batch's least cost on a rank ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/CheapestPath.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

CheapestPath::CheapestPath(const RankPath &path, int64_t objective,
                           std::vector<double> knotsGiven)
    : path(path), knots(std::move(knotsGiven)), late(path.copies.size()) {
  const auto add = [&](const Operation &operation, double earliest = 0) {
    rows.push_back(
        {&operation,
         earliest,
         double(objective - operation.tail - operation.ns - operation.head),
         {},
         {},
         {},
         {}});
  };
  for (const auto *list : {&path.operations, &path.leaves})
    for (const Operation &operation : *list)
      add(operation);
  for (const RankPath::Copy &copy : path.copies) {
    add(copy.save);
    add(copy.load, double(copy.save.head + copy.save.ns - copy.load.head));
  }
  for (size_t set = 0; set < size_t(1) << path.copies.size(); ++set) {
    Chain chain;
    for (size_t c = 0; c < path.copies.size(); ++c)
      chain.isCopied.push_back(set >> c & 1);
    chain.choices.resize(path.operations.size());
    chains.push_back(std::move(chain));
  }
  setPoints();
}

void CheapestPath::setPoints() {
  const double slack = rows[path.operations.size() - 1].latest;
  points = {0, slack};
  for (const Row &row : rows) {
    for (const double edge : {row.earliest, row.latest})
      if (edge >= 0 && edge < slack)
        points.push_back(edge);
    for (const int64_t delay : {int64_t(0), row.operation->ns}) {
      const double shift = double(row.operation->head + delay);
      for (auto knot = std::upper_bound(knots.begin(), knots.end(), shift);
           knot != knots.end() && *knot - shift < slack; ++knot)
        points.push_back(*knot - shift);
    }
  }
  std::sort(points.begin(), points.end());
  // Merges points that differ by rounding errors only.
  const double least = knots.back() * 0x1p-50;
  size_t kept = 1;
  for (double point : points)
    if (point > points[kept - 1] + least)
      points[kept++] = point;
  points.resize(kept);
  points.back() = slack;
  for (Row &row : rows) {
    for (auto *edges : {&row.starts, &row.ends}) {
      const auto shift = double(row.operation->head +
                                (edges == &row.ends ? row.operation->ns : 0));
      for (double knot : knots)
        edges->push_back(uint32_t(
            std::lower_bound(points.begin(), points.end(), knot - shift) -
            points.begin()));
    }
  }
}

int32_t CheapestPath::copyOf(size_t stage) const {
  for (size_t c = 0; c < path.copies.size(); ++c)
    if (size_t(path.copies[c].stage) == stage)
      return int32_t(c);
  return -1;
}

double CheapestPath::sumAt(RankPath::Resource resource, double time) const {
  const std::vector<double> &sum = sums[resource];
  if (time >= knots.back())
    return sum.back();
  const auto next = std::upper_bound(knots.begin(), knots.end(), time);
  if (next == knots.begin())
    return 0;
  const size_t i = size_t(next - knots.begin()) - 1;
  return sum[i] + slopes[resource][i] * (time - knots[i]);
}

double CheapestPath::costAt(const Operation &operation, double start) const {
  const double begin = double(operation.head) + start,
               end = begin + double(operation.ns);
  double cost = sumAt(operation.lane, end) - sumAt(operation.lane, begin) +
                double(operation.frees) * sumAt(RankPath::Memory, end) -
                double(operation.takes) * sumAt(RankPath::Memory, begin);
  if (hasHostCap())
    cost += double(operation.hostFrees) * sumAt(RankPath::HostMemory, end) -
            double(operation.hostTakes) * sumAt(RankPath::HostMemory, begin);
  return cost;
}

/// Adds to each point's cost the prices summed up to the operation's start or
/// end there, times the factors.
void CheapestPath::addSum(Row &row, bool isEnd, double laneFactor,
                          double memoryFactor, double hostFactor) {
  const std::vector<uint32_t> &edges = isEnd ? row.ends : row.starts;
  const auto shift =
      double(row.operation->head + (isEnd ? row.operation->ns : 0));
  const auto weigh = [&](const std::vector<std::vector<double>> &lists,
                         size_t i) {
    double sum = laneFactor * lists[row.operation->lane][i] +
                 memoryFactor * lists[RankPath::Memory][i];
    if (hasHostCap())
      sum += hostFactor * lists[RankPath::HostMemory][i];
    return sum;
  };
  double *cost = row.choices.cost.data();
  const double *point = points.data();
  auto add = [&](uint32_t from, uint32_t to, double base, double slope) {
    for (uint32_t k = from; k < to; ++k)
      cost[k] += base + slope * point[k];
  };
  for (size_t i = 0; i < pieces(); ++i) {
    const double slope = weigh(slopes, i);
    add(edges[i], edges[i + 1], weigh(sums, i) + slope * (shift - knots[i]),
        slope);
  }
  add(edges.back(), uint32_t(points.size()), weigh(sums, pieces()), 0);
}

/// Sets the cost of the operation alone, for a start at each point.
void CheapestPath::setCosts(Row &row) {
  const Operation &operation = *row.operation;
  std::vector<double> &cost = row.choices.cost;
  cost.assign(points.size(), 0);
  if (operation.ns > 0 || operation.takes > 0 || operation.hostTakes > 0)
    addSum(row, /*isEnd=*/false, operation.ns > 0 ? -1 : 0,
           -double(operation.takes), -double(operation.hostTakes));
  if (operation.ns > 0 || operation.frees > 0 || operation.hostFrees > 0)
    addSum(row, /*isEnd=*/true, operation.ns > 0 ? 1 : 0,
           double(operation.frees), double(operation.hostFrees));
  for (size_t k = points.size(); k-- > 0 && points[k] > row.latest;)
    cost[k] = INFINITY;
  // Points may be merged with one that is earlier by a rounding error.
  const double earliest = row.earliest - knots.back() * 0x1p-50;
  for (size_t k = 0; k < points.size() && points[k] < earliest; ++k)
    cost[k] = INFINITY;
}

/// The cheapest start between two times outside of the points: W and SAVE can
/// be delayed for longer than the operations, and LOAD can be earlier.
CheapestPath::Outside CheapestPath::outsideOf(const Row &row, double from,
                                              double to) const {
  Outside best = {INFINITY, 0};
  auto visit = [&](double start) {
    const double cost = costAt(*row.operation, start);
    if (cost < best.cost)
      best = {cost, start};
  };
  if (to < from)
    return best;
  visit(to);
  if (from != points.back())
    visit(from);
  for (const int64_t delay : {int64_t(0), row.operation->ns}) {
    const double shift = double(row.operation->head + delay);
    for (auto knot = std::upper_bound(knots.begin(), knots.end(), shift + from);
         knot != knots.end() && *knot - shift < to; ++knot)
      visit(*knot - shift);
  }
  return best;
}

void CheapestPath::setLater(Choices &choices, double costAfter) const {
  choices.least.resize(points.size());
  choices.best.resize(points.size());
  double least = costAfter;
  auto best = uint32_t(points.size());
  for (size_t k = points.size(); k-- > 0;) {
    if (choices.cost[k] <= least) {
      least = choices.cost[k];
      best = uint32_t(k);
    }
    choices.least[k] = least;
    choices.best[k] = best;
  }
}

void CheapestPath::setEarlier(Row &load) const {
  Choices &choices = load.choices;
  choices.least.resize(points.size());
  choices.best.resize(points.size());
  double least = load.outside.cost;
  auto best = uint32_t(points.size());
  for (size_t k = 0; k < points.size(); ++k) {
    if (choices.cost[k] < least) {
      least = choices.cost[k];
      best = uint32_t(k);
    }
    choices.least[k] = least;
    choices.best[k] = best;
  }
}

static void addTo(std::vector<double> &costs, const std::vector<double> &more) {
  for (size_t k = 0; k < costs.size(); ++k)
    costs[k] += more[k];
}

void CheapestPath::setLeaf(Row &leaf) {
  leaf.outside = outsideOf(leaf, points.back(), leaf.latest);
  setLater(leaf.choices, leaf.outside.cost);
}

void CheapestPath::setCopy(size_t copy) {
  const size_t size = path.operations.size();
  Row &load = rows[saveRow(copy) + 1];
  setLeaf(rows[saveRow(copy)]);
  load.outside = outsideOf(load, load.earliest, 0);
  setEarlier(load);
  if (!path.copies[copy].isLate)
    return;
  const Row &leaf =
      rows[size + path.leaves.size() - 1 - size_t(path.copies[copy].stage)];
  auto &[both, any] = late[copy];
  both.cost = leaf.choices.cost;
  addTo(both.cost, load.choices.least);
  any = outsideOf(load, std::max(points.back(), load.earliest), load.latest);
  if (const double least = load.choices.least.back(); least <= any.cost) {
    const uint32_t best = load.choices.best.back();
    any = {least, best < points.size() ? points[best] : load.outside.start};
  }
  setLater(both, leaf.outside.cost + any.cost);
}

void CheapestPath::setChain(Chain &chain) {
  const size_t size = path.operations.size(), stages = path.leaves.size();
  for (size_t i = size; i-- > 0;) {
    Choices &own = chain.choices[i];
    own.cost = rows[i].choices.cost;
    const int32_t copy = copyOf(i < stages ? i : size - 1 - i);
    const bool isCopied = copy >= 0 && chain.isCopied[copy],
               isLate = isCopied && path.copies[copy].isLate;
    if (i >= stages)
      addTo(own.cost, isLate ? late[copy].choices.least
                             : rows[size + i - stages].choices.least);
    if (isCopied && (i < stages || !isLate))
      addTo(own.cost, rows[saveRow(copy) + (i >= stages)].choices.least);
    if (i + 1 < size)
      addTo(own.cost, chain.choices[i + 1].least);
    setLater(own, INFINITY);
  }
}

double CheapestPath::leastCost(const RankPrices &prices) {
  slopes = prices;
  sums.resize(prices.size());
  for (size_t r = 0; r < prices.size(); ++r) {
    sums[r].assign(knots.size(), 0);
    for (size_t i = 0; i < pieces(); ++i)
      sums[r][i + 1] = sums[r][i] + slopes[r][i] * length(i);
  }
  for (Row &row : rows)
    setCosts(row);
  for (size_t i = 0; i < path.leaves.size(); ++i)
    setLeaf(rows[path.operations.size() + i]);
  for (size_t c = 0; c < path.copies.size(); ++c)
    setCopy(c);
  double least = INFINITY;
  for (Chain &chain : chains) {
    setChain(chain);
    least = std::min(least, chain.choices.front().least[0]);
  }
  return least;
}

/// The starts of a chain's cheapest path whose first operation starts at a
/// point.
PathStarts CheapestPath::startsOf(const Chain &chain, uint32_t at) const {
  const size_t size = path.operations.size(), stages = path.leaves.size();
  PathStarts starts(rows.size(), NAN);
  auto start = [&](const Row &row, uint32_t point) {
    return point < points.size() ? points[point] : row.outside.start;
  };
  for (size_t i = 0; i < size; ++i) {
    if (i > 0)
      at = chain.choices[i].best[at];
    starts[i] = points[at];
    const int32_t copy = copyOf(i < stages ? i : size - 1 - i);
    const bool isCopied = copy >= 0 && chain.isCopied[copy],
               isLate = isCopied && path.copies[copy].isLate;
    uint32_t reader = at;
    if (i >= stages) {
      const Row &leaf = rows[size + i - stages];
      reader = (isLate ? late[copy].choices : leaf.choices).best[at];
      starts[size + i - stages] = start(leaf, reader);
      if (!isLate)
        reader = at;
    }
    if (!isCopied)
      continue;
    const size_t row = saveRow(copy) + (i >= stages);
    starts[row] = reader < points.size()
                      ? start(rows[row], rows[row].choices.best[reader])
                      : late[copy].load.start;
  }
  return starts;
}

std::vector<PathStarts> CheapestPath::cheapPaths(size_t parts) const {
  std::vector<PathStarts> paths;
  size_t from = 0;
  for (size_t part = 1; part <= parts; ++part) {
    size_t to = points.size();
    if (part < parts)
      to = size_t(
          std::lower_bound(points.begin(), points.end(),
                           points.back() * double(part) / double(parts)) -
          points.begin());
    const Chain *best = nullptr;
    size_t at = 0;
    double least = INFINITY;
    for (const Chain &chain : chains)
      for (size_t k = from; k < to; ++k)
        if (chain.choices.front().cost[k] < least) {
          least = chain.choices.front().cost[k];
          best = &chain;
          at = k;
        }
    from = to;
    if (best)
      paths.push_back(startsOf(*best, uint32_t(at)));
  }
  return paths;
}

std::vector<double> CheapestPath::useOf(const PathStarts &starts) const {
  const size_t size = path.operations.size(), stages = path.leaves.size();
  std::vector<double> use(path.capacities.size() * pieces());
  auto add = [&](size_t resource, double from, double to, double factor) {
    const auto next = std::upper_bound(knots.begin(), knots.end(), from);
    for (size_t i = size_t(next - knots.begin()) - (next > knots.begin());
         i < pieces() && knots[i] < to; ++i)
      use[resource * pieces() + i] +=
          factor * (std::min(to, knots[i + 1]) - std::max(from, knots[i]));
  };
  auto begin = [&](size_t i) {
    return starts[i] + double(rows[i].operation->head);
  };
  auto end = [&](size_t i) { return begin(i) + double(rows[i].operation->ns); };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(starts[i]))
      continue;
    const Operation &operation = *rows[i].operation;
    add(operation.lane, begin(i), end(i), 1);
    // The F of an I, operation i, is operation 2 * stages - 1 - i.
    if (i < size + stages && operation.frees > 0)
      add(RankPath::Memory, begin(2 * stages - 1 - (i < size ? i : i - stages)),
          end(i), double(operation.frees));
  }
  for (size_t i = saveRow(0); i < rows.size(); i += 2) {
    if (std::isnan(starts[i]))
      continue;
    const auto bytes = double(rows[i].operation->frees);
    add(RankPath::Memory, end(i), begin(i + 1), -bytes);
    if (hasHostCap())
      add(RankPath::HostMemory, begin(i), end(i + 1), bytes);
  }
  // Rounding errors can leave less than nothing.
  if (!path.copies.empty())
    for (double &amount : use)
      amount = std::max(amount, 0.0);
  return use;
}

/// Each cost is a difference of sums over the pieces, none above 1, at times
/// with a relative error of 2^-49. A price is at most 1 over a piece's length.
double CheapestPath::roundingError() const {
  double shortest = knots.back() - knots.front();
  for (size_t i = 0; i < pieces(); ++i)
    shortest = std::min(shortest, length(i));
  return double(4 * rows.size()) *
         (double(rows.size() + pieces()) + 8 * knots.back() / shortest) *
         0x1p-52;
}
