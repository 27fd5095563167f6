//===- Roll.cpp - Sequences to nested loops -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Roll.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

using namespace rondo::pipe;

namespace {

/// For one pass over all short block lengths.
constexpr int64_t maxComparisons = int64_t(1) << 23;

/// The common part of two nodes of which one is a shifted copy of the other:
/// keys, counts and inner strides, but not the indices of their leaves.
struct Shape {
  /// 0 for a leaf.
  int64_t count = 0;
  uint64_t key = 0;
  std::vector<int32_t> children;
  /// Stride of this loop, indexed by leaf.
  std::vector<int64_t> strides;
  int64_t numLeaves = 1;
  int64_t numLines = 1;
};

/// Nodes in order. Leaf indices of node i are bases[offsets[i], offsets[i +
/// 1]).
struct NodeList {
  std::vector<int32_t> shapes;
  std::vector<int64_t> offsets = {0};
  std::vector<int64_t> bases;

  int64_t size() const { return static_cast<int64_t>(shapes.size()); }
  void append(int32_t shape, const int64_t *first, const int64_t *last) {
    shapes.push_back(shape);
    bases.insert(bases.end(), first, last);
    offsets.push_back(static_cast<int64_t>(bases.size()));
  }
  /// The nodes [begin, end) of another list.
  void append(const NodeList &from, int64_t begin, int64_t end) {
    const int64_t shift =
        static_cast<int64_t>(bases.size()) - from.offsets[begin];
    shapes.insert(shapes.end(), from.shapes.begin() + begin,
                  from.shapes.begin() + end);
    bases.insert(bases.end(), from.bases.begin() + from.offsets[begin],
                 from.bases.begin() + from.offsets[end]);
    for (int64_t node = begin; node < end; ++node)
      offsets.push_back(from.offsets[node + 1] + shift);
  }
};

class Roller {
public:
  std::vector<RollNode> run(const std::vector<RollLeaf> &leaves);

private:
  int32_t leafShape(uint64_t key);
  int32_t loopShape(int64_t count, int64_t first, int64_t length);
  int64_t shortLengths() const;
  std::vector<int64_t> longLengths() const;
  bool foldLengths();
  bool foldLength(int64_t length);
  int64_t runLength(int64_t first, int64_t length) const;
  bool isWorthwhile(int64_t first, int64_t length, int64_t count) const;
  RollNode build(int32_t shape, const int64_t *bases,
                 std::vector<const int64_t *> &strides) const;

  NodeList nodes;
  std::vector<Shape> shapes;
  std::map<uint64_t, int32_t> leafShapes;
  /// Some of them, by the last bits of a hash of the key.
  std::array<std::pair<uint64_t, int32_t>, 64> recentLeaves;
  std::map<std::vector<int64_t>, int32_t> loopShapes;
};

int32_t Roller::leafShape(uint64_t key) {
  auto &[recent, shape] = recentLeaves[key * 0x9e3779b97f4a7c15u >> 58];
  if (shape >= 0 && recent == key)
    return shape;
  auto [it, isNew] =
      leafShapes.try_emplace(key, static_cast<int32_t>(shapes.size()));
  if (isNew) {
    shapes.emplace_back();
    shapes.back().key = key;
  }
  recent = key;
  return shape = it->second;
}

/// The shape of a loop over the block of `length` nodes at `first`, which the
/// next block repeats.
int32_t Roller::loopShape(int64_t count, int64_t first, int64_t length) {
  Shape shape;
  shape.count = count;
  shape.children.assign(nodes.shapes.begin() + first,
                        nodes.shapes.begin() + first + length);
  int64_t begin = nodes.offsets[first], next = nodes.offsets[first + length];
  shape.numLeaves = next - begin;
  shape.numLines = 2;
  for (int32_t child : shape.children)
    shape.numLines += shapes[child].numLines;
  for (int64_t leaf = 0; leaf < shape.numLeaves; ++leaf)
    shape.strides.push_back(nodes.bases[next + leaf] -
                            nodes.bases[begin + leaf]);
  std::vector<int64_t> name = {count, length};
  name.insert(name.end(), shape.children.begin(), shape.children.end());
  name.insert(name.end(), shape.strides.begin(), shape.strides.end());
  auto [it, isNew] = loopShapes.try_emplace(
      std::move(name), static_cast<int32_t>(shapes.size()));
  if (isNew)
    shapes.push_back(std::move(shape));
  return it->second;
}

/// The number of consecutive blocks of `length` nodes, the first at `first`,
/// that have the same shapes and the same differences between their leaves.
int64_t Roller::runLength(int64_t first, int64_t length) const {
  const int32_t *shape = nodes.shapes.data();
  const int64_t *base = nodes.bases.data();
  int64_t count = 1;
  for (int64_t block = first + length; block + length <= nodes.size();
       block += length, ++count) {
    if (!std::equal(shape + first, shape + first + length, shape + block))
      break;
    int64_t numLeaves = nodes.offsets[first + length] - nodes.offsets[first];
    const int64_t *b0 = base + nodes.offsets[first];
    const int64_t *b1 = b0 + numLeaves;
    const int64_t *last = base + nodes.offsets[block];
    const int64_t *before = last - numLeaves;
    int64_t leaf = 0;
    while (leaf < numLeaves && last[leaf] - before[leaf] == b1[leaf] - b0[leaf])
      ++leaf;
    if (leaf < numLeaves)
      break;
  }
  return count;
}

bool Roller::isWorthwhile(int64_t first, int64_t length, int64_t count) const {
  if (count < 2)
    return false;
  int64_t lines = 0;
  for (int64_t i = first; i < first + length; ++i)
    lines += shapes[nodes.shapes[i]].numLines;
  int64_t saved = (count - 1) * lines - 2;
  if (saved < 0 || (saved == 0 && count == 2))
    return false;
  // Two blocks, the second of which begins a longer run: leave it to that run.
  return count > 2 || runLength(first + length, length) <= 2;
}

/// All block lengths up to this one are tried.
int64_t Roller::shortLengths() const {
  return std::min(nodes.size() / 2,
                  maxComparisons / std::max<int64_t>(nodes.size(), 1));
}

/// Greater lengths of blocks that may repeat, ascending. Each must be the
/// distance of equal shapes as often as one repetition needs, so there are at
/// most about sqrt(8 n) of them.
std::vector<int64_t> Roller::longLengths() const {
  constexpr int numOccurrences = 4;
  const int64_t size = nodes.size();
  std::vector<int64_t> lengths;
  if (shortLengths() == size / 2)
    return lengths;
  std::vector<int64_t> support(size / 2 + 1, 0);
  // Last positions of each shape, latest first.
  std::vector<std::array<int64_t, numOccurrences>> seen(shapes.size(),
                                                        {-1, -1, -1, -1});
  for (int64_t i = 0; i < size; ++i) {
    auto &positions = seen[nodes.shapes[i]];
    for (int64_t position : positions)
      if (position >= 0 && i - position <= size / 2)
        ++support[i - position];
    std::rotate(positions.begin(), positions.end() - 1, positions.end());
    positions.front() = i;
  }
  for (int64_t length = shortLengths() + 1; length <= size / 2; ++length)
    if (support[length] >= length)
      lengths.push_back(length);
  return lengths;
}

/// Short lengths first: what they leave is seldom long. False if nothing
/// repeats.
bool Roller::foldLengths() {
  bool isChanged = false;
  const int64_t allUpTo = shortLengths();
  for (int64_t length = 1; length <= allUpTo && 2 * length <= nodes.size();
       ++length)
    isChanged |= foldLength(length);
  if (isChanged)
    return true;
  for (int64_t length : longLengths())
    if (2 * length <= nodes.size())
      isChanged |= foldLength(length);
  return isChanged;
}

/// Replaces each run of blocks of `length` nodes with a loop.
bool Roller::foldLength(int64_t length) {
  const int64_t size = nodes.size();
  NodeList result;
  bool isChanged = false;
  int64_t copied = 0;
  auto copyUpTo = [&](int64_t end) {
    result.append(nodes, copied, end);
    copied = end;
  };
  // Nodes in [i, verified) have the shape of the node `length` after them.
  int64_t verified = 0;
  const int32_t *shape = nodes.shapes.data();
  for (int64_t i = 0; i + 2 * length <= size;) {
    // No block that covers a mismatch repeats, so the last one is searched.
    verified = std::max(verified, i);
    int64_t matched = i + length;
    while (matched > verified &&
           shape[matched - 1] == shape[matched - 1 + length])
      --matched;
    const bool isRepeated = matched == verified;
    verified = i + length;
    if (!isRepeated) {
      i = matched;
      continue;
    }
    int64_t count = runLength(i, length);
    if (!isWorthwhile(i, length, count)) {
      ++i;
      continue;
    }
    copyUpTo(i);
    int32_t loop = loopShape(count, i, length);
    result.append(loop, nodes.bases.data() + nodes.offsets[i],
                  nodes.bases.data() + nodes.offsets[i + length]);
    i += count * length;
    copied = i;
    isChanged = true;
  }
  if (!isChanged)
    return false;
  copyUpTo(size);
  nodes = std::move(result);
  return true;
}

RollNode Roller::build(int32_t shapeNumber, const int64_t *bases,
                       std::vector<const int64_t *> &strides) const {
  const Shape &shape = shapes[shapeNumber];
  RollNode node;
  node.count = shape.count;
  if (shape.count == 0) {
    node.key = shape.key;
    node.index = *bases;
    for (const int64_t *stride : strides)
      node.strides.push_back(*stride);
    return node;
  }
  std::vector<const int64_t *> inner = strides;
  inner.push_back(shape.strides.data());
  for (int32_t child : shape.children) {
    node.body.push_back(build(child, bases, inner));
    int64_t numLeaves = shapes[child].numLeaves;
    bases += numLeaves;
    for (const int64_t *&stride : inner)
      stride += numLeaves;
  }
  return node;
}

std::vector<RollNode> Roller::run(const std::vector<RollLeaf> &leaves) {
  nodes.shapes.resize(leaves.size());
  nodes.bases.resize(leaves.size());
  nodes.offsets.resize(leaves.size() + 1);
  std::iota(nodes.offsets.begin(), nodes.offsets.end(), int64_t(0));
  recentLeaves.fill({0, -1});
  for (size_t i = 0; i < leaves.size(); ++i) {
    nodes.shapes[i] = leafShape(leaves[i].key);
    nodes.bases[i] = leaves[i].index;
  }
  while (foldLengths()) {
  }
  std::vector<RollNode> result;
  std::vector<const int64_t *> strides;
  for (int64_t i = 0; i < nodes.size(); ++i)
    result.push_back(
        build(nodes.shapes[i], nodes.bases.data() + nodes.offsets[i], strides));
  return result;
}

} // namespace

std::vector<RollNode> rondo::pipe::roll(const std::vector<RollLeaf> &leaves) {
  return Roller().run(leaves);
}
