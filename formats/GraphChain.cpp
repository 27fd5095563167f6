//===- GraphChain.cpp - A profile's graph as a chain of layers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/GraphProfile.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace rondo::formats {

bool isModelInput(const ProfileNode &node) {
  return node.inputs.empty() &&
         llvm::StringRef(node.description).starts_with("Input");
}

namespace {

constexpr uint32_t none = ~uint32_t(0);

/// Puts the nodes of a graph in a row.
class ChainMaker {
public:
  explicit ChainMaker(const std::vector<ProfileNode> &nodes) : nodes(nodes) {}
  std::vector<ProfileLayer> run();

private:
  void sortTopologically();
  void placeMainNodes();
  void placeSideNodes();
  std::vector<bool> cuts(std::vector<int64_t> &bytes) const;

  const std::vector<ProfileNode> &nodes;
  /// Every node after its inputs.
  std::vector<uint32_t> order;
  /// Nodes on the longest way from a source.
  std::vector<uint32_t> depths;
  std::vector<bool> isGiven;
  /// The nodes that the deepest node needs, in an order in which they can run.
  std::vector<uint32_t> mainNodes;
  /// [node]: the place of a main node; a side node follows the one here.
  std::vector<uint32_t> slots;
};

void ChainMaker::sortTopologically() {
  std::vector<std::vector<uint32_t>> users(nodes.size());
  std::vector<size_t> missing(nodes.size());
  for (auto [n, node] : llvm::enumerate(nodes)) {
    missing[n] = node.inputs.size();
    for (uint32_t input : node.inputs)
      users[input].push_back(n);
    if (node.inputs.empty())
      order.push_back(n);
  }
  depths.assign(nodes.size(), 1);
  isGiven.resize(nodes.size());
  for (size_t done = 0; done < order.size(); ++done) {
    const uint32_t n = order[done];
    isGiven[n] = isModelInput(nodes[n]) ||
                 (nodes[n].activationBytes == 0 &&
                  llvm::all_of(nodes[n].inputs,
                               [&](uint32_t input) { return isGiven[input]; }));
    for (uint32_t user : users[n]) {
      depths[user] = std::max(depths[user], depths[n] + 1);
      if (--missing[user] == 0)
        order.push_back(user);
    }
  }
}

void ChainMaker::placeMainNodes() {
  const auto last = static_cast<uint32_t>(
      std::max_element(depths.begin(), depths.end()) - depths.begin());
  slots.assign(nodes.size(), none);
  // Deepest inputs first, so that what begins anew stands directly before what
  // needs it.
  struct Step {
    uint32_t node;
    std::vector<uint32_t> inputs;
    size_t next = 0;
  };
  std::vector<bool> isMet(nodes.size());
  auto stepOf = [&](uint32_t node) {
    isMet[node] = true;
    Step step{node, nodes[node].inputs};
    llvm::stable_sort(step.inputs, [&](uint32_t a, uint32_t b) {
      return depths[a] > depths[b];
    });
    return step;
  };
  std::vector<Step> way = {stepOf(last)};
  while (!way.empty()) {
    Step &step = way.back();
    if (step.next < step.inputs.size()) {
      if (const uint32_t input = step.inputs[step.next++]; !isMet[input])
        way.push_back(stepOf(input));
      continue;
    }
    slots[step.node] = mainNodes.size();
    mainNodes.push_back(step.node);
    way.pop_back();
  }
}

void ChainMaker::placeSideNodes() {
  for (uint32_t n : order)
    if (slots[n] == none) {
      slots[n] = 0;
      for (uint32_t input : nodes[n].inputs)
        slots[n] = std::max(slots[n], slots[input]);
    }
}

/// [slot]: whether a layer ends there, and the bytes that it passes on.
std::vector<bool> ChainMaker::cuts(std::vector<int64_t> &bytes) const {
  std::vector<uint32_t> lastUse(slots);
  for (auto [n, node] : llvm::enumerate(nodes))
    for (uint32_t input : node.inputs)
      lastUse[input] = std::max(lastUse[input], slots[n]);
  // Differences of the number of results that are needed after a slot, and
  // their bytes.
  std::vector<int64_t> counts(mainNodes.size() + 1);
  bytes.assign(mainNodes.size() + 1, 0);
  for (size_t n = 0; n < nodes.size(); ++n)
    if (!isGiven[n] && slots[n] < lastUse[n]) {
      ++counts[slots[n]];
      --counts[lastUse[n]];
      bytes[slots[n]] += nodes[n].activationBytes;
      bytes[lastUse[n]] -= nodes[n].activationBytes;
    }
  std::vector<bool> isCut;
  int64_t count = 0, sum = 0;
  for (size_t slot = 0; slot < mainNodes.size(); ++slot) {
    count += counts[slot];
    sum += bytes[slot];
    bytes[slot] = sum;
    isCut.push_back(count == 1);
  }
  return isCut;
}

std::vector<ProfileLayer> ChainMaker::run() {
  sortTopologically();
  placeMainNodes();
  placeSideNodes();
  std::vector<std::vector<uint32_t>> side(mainNodes.size());
  for (uint32_t n : order)
    if (mainNodes[slots[n]] != n)
      side[slots[n]].push_back(n);
  std::vector<int64_t> bytes;
  const std::vector<bool> isCut = cuts(bytes);
  std::vector<ProfileLayer> layers(1);
  for (size_t slot = 0; slot < mainNodes.size(); ++slot) {
    std::vector<uint32_t> &members = layers.back().nodes;
    members.push_back(mainNodes[slot]);
    members.insert(members.end(), side[slot].begin(), side[slot].end());
    if (!isCut[slot] || slot + 1 == mainNodes.size() ||
        llvm::all_of(members, [&](uint32_t n) { return isGiven[n]; }))
      continue;
    layers.back().outputBytes = bytes[slot];
    layers.emplace_back();
  }
  return layers;
}

} // namespace

std::vector<ProfileLayer> chainOf(const GraphProfile &profile) {
  return ChainMaker(profile.nodes).run();
}

} // namespace rondo::formats
