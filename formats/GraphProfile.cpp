//===- GraphProfile.cpp - Reads PipeDream's profiles ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/GraphProfile.h"

#include "formats/json/Value.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <cmath>

using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace rondo::formats {

namespace {

/// More than any layer has; sums of a graph stay within 64 bits.
constexpr double maxFigure = 0x1p46;
constexpr size_t maxNodes = size_t(1) << 16;

/// A figure of a node, in what the file has and in whole units of Rondo's.
struct Figure {
  const char *key;
  double scale;
  int64_t ProfileNode::*value;
};
constexpr std::array<Figure, 4> figures = {
    {{"forward_compute_time", 1e6, &ProfileNode::forwardNs},
     {"backward_compute_time", 1e6, &ProfileNode::backwardNs},
     {"activation_size", 1, &ProfileNode::activationBytes},
     {"parameter_size", 1, &ProfileNode::parameterBytes}}};

class ProfileReader {
public:
  explicit ProfileReader(StringRef text) : text(text) {}
  std::optional<Fault> read();
  GraphProfile profile;

private:
  struct Edge {
    StringRef from, to;
  };

  std::optional<Fault> readNode(StringRef line);
  std::optional<Fault> readFigures(StringRef list, ProfileNode &node);
  std::optional<Fault> readFigure(StringRef written, const Figure &figure,
                                  ProfileNode &node);
  std::optional<Fault> readEdge(StringRef line);
  std::optional<Fault> connect();
  std::optional<Fault> checkAcyclic() const;
  /// `at` is a part of the text.
  std::optional<Fault> fault(StringRef at, const Twine &message) const {
    return json::TextFault(json::placeIn(text, at.data() - text.data()) + ": " +
                           message);
  }

  StringRef text;
  std::vector<Edge> edges;
  /// [node][input]: the position of the input in the text.
  std::vector<std::vector<StringRef>> inputsAt;
  llvm::StringMap<uint32_t> places;
};

std::optional<Fault> ProfileReader::readFigure(StringRef written,
                                               const Figure &figure,
                                               ProfileNode &node) {
  SmallVector<StringRef, 1> items = {written};
  if (written.consume_front("[")) {
    if (!written.consume_back("]"))
      return fault(written, Twine("the list of ") + figure.key +
                                " has no closing bracket");
    items.clear();
    written.split(items, ';');
  }
  double sum = 0;
  for (StringRef item : items) {
    item = item.trim();
    double number = 0;
    if (item.getAsDouble(number) || !std::isfinite(number) || number < 0)
      return fault(item.empty() ? written : item,
                   Twine(figure.key) + " is " + json::quoted(item) +
                       ", not a number of 0 or more");
    sum += number;
  }
  sum *= figure.scale;
  if (sum > maxFigure)
    return fault(written, Twine(figure.key) + " is " + json::quoted(written) +
                              ", which is absurd: the most is 2^46 " +
                              (figure.scale == 1 ? "bytes" : "ns"));
  node.*figure.value = figure.scale == 1 ? static_cast<int64_t>(std::ceil(sum))
                                         : std::llround(sum);
  return std::nullopt;
}

std::optional<Fault> ProfileReader::readFigures(StringRef list,
                                                ProfileNode &node) {
  std::array<bool, figures.size()> isGiven = {};
  SmallVector<StringRef, 4> pairs;
  list.split(pairs, ", ");
  for (StringRef pair : pairs) {
    pair = pair.trim();
    const auto [key, value] = pair.split('=');
    const auto *figure =
        llvm::find_if(figures, [key = key.trim()](const Figure &known) {
          return key == known.key;
        });
    if (figure == figures.end() || !pair.contains('=')) {
      std::string known;
      for (const Figure &each : figures)
        known += (known.empty() ? "" : ", ") + std::string(each.key);
      return fault(pair.empty() ? list : pair,
                   json::quoted(pair) + " is no figure of a node; known are " +
                       known + ", each as KEY=NUMBER");
    }
    bool &given = isGiven[figure - figures.begin()];
    if (given)
      return fault(pair, node.id + " has " + figure->key + " twice");
    given = true;
    if (std::optional<Fault> fault = readFigure(value.trim(), *figure, node))
      return fault;
  }
  for (const auto &[given, figure] : llvm::zip_equal(isGiven, figures))
    if (!given)
      return fault(list, node.id + " has no " + figure.key);
  return std::nullopt;
}

std::optional<Fault> ProfileReader::readNode(StringRef line) {
  SmallVector<StringRef, 4> parts;
  line.split(parts, " -- ");
  ProfileNode node;
  node.id = parts.front().trim().str();
  if (parts.size() < 3)
    return fault(line,
                 "a node is ID -- OPERATION -- FIGURES, but this line has " +
                     countOf(parts.size(), "part") +
                     "; an edge begins with a tab");
  if (node.id.empty())
    return fault(line, "the node has no name before its operation");
  // Descriptions may have the separator; figures and the stage have not.
  const bool hasStage = parts.back().trim().starts_with("stage_id=");
  if (hasStage && parts.size() < 4)
    return fault(parts.back(), node.id + " has a stage_id, but no figures");
  profile.hasStages |= hasStage;
  const StringRef list = parts[parts.size() - (hasStage ? 2 : 1)];
  node.description =
      StringRef(parts[1].begin(), list.begin() - 4 - parts[1].begin())
          .trim()
          .str();
  if (std::optional<Fault> fault = readFigures(list, node))
    return fault;
  if (!places.try_emplace(node.id, profile.nodes.size()).second)
    return fault(line, "a second node is called " + node.id);
  if (profile.nodes.size() == maxNodes)
    return fault(line, "the graph has more than the most of " +
                           Twine(maxNodes) + " nodes");
  profile.nodes.push_back(std::move(node));
  return std::nullopt;
}

std::optional<Fault> ProfileReader::readEdge(StringRef line) {
  const auto [from, to] = line.split(" -- ");
  if (to.trim().empty() || to.contains(" -- "))
    return fault(line.trim(), "an edge is a tab and FROM -- TO");
  edges.push_back({from.trim(), to.trim()});
  return std::nullopt;
}

std::optional<Fault> ProfileReader::connect() {
  inputsAt.resize(profile.nodes.size());
  for (const Edge &edge : edges) {
    for (StringRef end : {edge.from, edge.to})
      if (!places.contains(end))
        return fault(end, "no node is called " + json::quoted(end));
    const uint32_t to = places.lookup(edge.to);
    profile.nodes[to].inputs.push_back(places.lookup(edge.from));
    inputsAt[to].push_back(edge.from);
  }
  return std::nullopt;
}

std::optional<Fault> ProfileReader::checkAcyclic() const {
  const std::vector<ProfileNode> &nodes = profile.nodes;
  // Walks against the edges; a node on the way that is met again is a cycle.
  enum State : uint8_t { New, OnTheWay, Done };
  std::vector<State> states(nodes.size(), New);
  struct Step {
    uint32_t node;
    size_t nextInput = 0;
  };
  for (uint32_t first = 0; first < nodes.size(); ++first) {
    std::vector<Step> way;
    if (states[first] == New)
      way.push_back({first});
    while (!way.empty()) {
      Step &step = way.back();
      states[step.node] = OnTheWay;
      const std::vector<uint32_t> &inputs = nodes[step.node].inputs;
      if (step.nextInput == inputs.size()) {
        states[step.node] = Done;
        way.pop_back();
        continue;
      }
      const size_t k = step.nextInput++;
      const uint32_t input = inputs[k];
      if (states[input] == OnTheWay)
        return fault(inputsAt[step.node][k],
                     "the edge from " + nodes[input].id + " to " +
                         nodes[step.node].id +
                         " closes a cycle; a model's graph has none");
      if (states[input] == New)
        way.push_back({input});
    }
  }
  return std::nullopt;
}

std::optional<Fault> ProfileReader::read() {
  for (StringRef rest = text; !rest.empty();) {
    const auto [line, next] = rest.split('\n');
    rest = next;
    if (line.trim().empty())
      continue;
    const bool isEdge = line.front() == '\t' || line.front() == ' ';
    if (std::optional<Fault> fault =
            isEdge ? readEdge(line.rtrim()) : readNode(line.rtrim()))
      return fault;
  }
  if (profile.nodes.empty())
    return json::TextFault(
        "the file has no node; expected the graph.txt of PipeDream's profiler");
  if (std::optional<Fault> fault = connect())
    return fault;
  return checkAcyclic();
}

} // namespace

Result<GraphProfile> readGraphProfile(StringRef text) {
  if (!llvm::json::isUTF8(text))
    return json::TextFault(
        "not a text file; expected the graph.txt of PipeDream's profiler");
  ProfileReader reader(text);
  if (std::optional<Fault> fault = reader.read())
    return *fault;
  return std::move(reader.profile);
}

} // namespace rondo::formats
