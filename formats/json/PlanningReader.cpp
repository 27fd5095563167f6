//===- PlanningReader.cpp - rondo-planning to ChainProblem ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/PlanningReader.h"

#include "formats/json/Documents.h"
#include "formats/json/Fields.h"
#include "kinds/Counts.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// ChainProblem::check() limits sums.
constexpr int64_t most = int64_t(1) << 60;
/// Times the number of pairs of devices of two groups it must fit 64 bits.
constexpr int64_t maxRate = int64_t(1) << 36;
/// What a search over plans can do with.
constexpr int64_t maxDevices = 4096, maxLayers = 1024,
                  maxMicrobatches = 1 << 20;

/// The times of a layer's backward, whole or in its two parts.
std::optional<TextFault> readBackward(const Fields &fields,
                                      const std::string &where,
                                      ChainLayer &layer) {
  const Value *whole = fields.find("backward_ns"),
              *inputGrad = fields.find("input_grad_ns"),
              *weightGrad = fields.find("weight_grad_ns");
  if (whole && (inputGrad || weightGrad))
    return where + " has backward_ns and a part of it; give either that or "
                   "input_grad_ns and weight_grad_ns";
  if (whole)
    return readInteger(*whole, where + ".backward_ns", 0, most,
                       layer.backwardNs);
  if (!inputGrad || !weightGrad)
    return where + " lacks backward_ns, or input_grad_ns and weight_grad_ns";
  int64_t inputGradNs, weightGradNs;
  if (auto fault = readInteger(*inputGrad, where + ".input_grad_ns", 0, most,
                               inputGradNs))
    return fault;
  if (auto fault = readInteger(*weightGrad, where + ".weight_grad_ns", 0, most,
                               weightGradNs))
    return fault;
  layer.backwardNs = inputGradNs + weightGradNs;
  layer.weightGradNs = weightGradNs;
  return {};
}

std::optional<TextFault> readLayer(Value value, const std::string &where,
                                   ChainLayer &layer) {
  Fields fields;
  if (auto fault =
          fields.read(value, where,
                      {"name", "forward_ns", "output_bytes", "stash_bytes",
                       "parameter_bytes"},
                      {"backward_ns", "input_grad_ns", "weight_grad_ns"}))
    return fault;
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return where + ".name is " + fields.get("name").excerpt() +
           ", not a string";
  layer.name = *name;
  for (auto [key, figure] :
       {std::pair("forward_ns", &layer.forwardNs),
        std::pair("output_bytes", &layer.outputBytes),
        std::pair("stash_bytes", &layer.stashBytes),
        std::pair("parameter_bytes", &layer.parameterBytes)})
    if (auto fault =
            readInteger(fields.get(key), where + "." + key, 0, most, *figure))
      return fault;
  return readBackward(fields, where, layer);
}

std::optional<TextFault> readLayers(Value value, ChainProblem &problem) {
  if (!value.isArray())
    return "layers is " + value.excerpt() + ", not a list";
  Elements walk(value);
  while (std::optional<Value> element = walk.next()) {
    const std::string where =
        "layers[" + std::to_string(problem.layers.size()) + "]";
    if (auto fault = readLayer(*element, where, problem.layers.emplace_back()))
      return fault;
  }
  const size_t count = problem.layers.size();
  if (count == 0)
    return "layers is empty; there must be at least one";
  if (count > maxLayers)
    return "there are " + std::to_string(count) + " layers; at most " +
           std::to_string(maxLayers) + " can be planned; group them";
  if (const int64_t bytes = problem.layers.back().outputBytes)
    return "output_bytes of the last layer is " + std::to_string(bytes) +
           "; nothing follows it, so it must be 0";
  return {};
}

/// The NICs' numbers become those of their order in the list.
std::optional<TextFault> readNics(const Value &list, ChainProblem &problem) {
  if (!list.isArray())
    return "devices.nic is " + list.excerpt() + ", not a list";
  std::map<int64_t, int32_t> numbers;
  Elements walk(list);
  while (std::optional<Value> element = walk.next()) {
    int64_t nic = -1;
    if (!element->isNull())
      if (auto fault = readInteger(
              *element,
              "devices.nic[" + std::to_string(problem.nicOf.size()) + "]", 0,
              std::numeric_limits<int32_t>::max(), nic))
        return fault;
    problem.nicOf.push_back(
        nic < 0 ? -1
                : numbers.insert({nic, int32_t(numbers.size())}).first->second);
  }
  if (problem.nicOf.size() != problem.nodeOf.size())
    return "devices.nic has " + countOf(problem.nicOf.size(), "entry") +
           ", devices.node has " + std::to_string(problem.nodeOf.size()) +
           "; each device has a NIC or null";
  std::map<int32_t, int32_t> nodes;
  for (int32_t device = 0; device < problem.numDevices(); ++device) {
    const int32_t nic = problem.nicOf[device], node = problem.nodeOf[device];
    const int32_t first = nodes.insert({nic, node}).first->second;
    if (nic >= 0 && first != node)
      return "devices.nic[" + std::to_string(device) + "] is a NIC of server " +
             std::to_string(first) + ", but the device is on server " +
             std::to_string(node) + "; a NIC is in one server";
  }
  if (numbers.empty())
    problem.nicOf.clear();
  return {};
}

/// A figure for each device.
std::optional<TextFault> readEach(const Value &list, const std::string &where,
                                  const ChainProblem &problem, int64_t least,
                                  int64_t greatest,
                                  std::vector<int64_t> &figures) {
  Elements walk(list);
  while (std::optional<Value> element = walk.next()) {
    const std::string place =
        where + "[" + std::to_string(figures.size()) + "]";
    if (auto fault = readInteger(*element, place, least, greatest,
                                 figures.emplace_back()))
      return fault;
  }
  if (figures.size() != problem.nodeOf.size())
    return where + " has " + countOf(figures.size(), "entry") +
           ", devices.node has " + std::to_string(problem.nodeOf.size()) +
           "; each device has one";
  return {};
}

/// One figure for all devices, or a list.
std::optional<TextFault> readMemory(const Value &value, ChainProblem &problem) {
  if (!value.isArray())
    return readInteger(value, "devices.memory_bytes", 0, most,
                       problem.memoryBytes);
  std::vector<int64_t> bytes;
  if (auto fault =
          readEach(value, "devices.memory_bytes", problem, 1, most, bytes))
    return fault;
  problem.memoryBytes = *std::max_element(bytes.begin(), bytes.end());
  for (int64_t own : bytes)
    problem.memoryLess.push_back(problem.memoryBytes - own);
  if (std::all_of(bytes.begin(), bytes.end(),
                  [&](int64_t own) { return own == problem.memoryBytes; }))
    problem.memoryLess.clear();
  return {};
}

std::optional<TextFault> readSpeeds(const Value &value, ChainProblem &problem) {
  constexpr int64_t maxSpeed = 1'000'000;
  if (!value.isArray())
    return "devices.speed_percent is " + value.excerpt() + ", not a list";
  std::vector<int64_t> &speeds = problem.speedPercent;
  if (auto fault = readEach(value, "devices.speed_percent", problem, 1,
                            maxSpeed, speeds))
    return fault;
  if (std::all_of(speeds.begin(), speeds.end(),
                  [](int64_t speed) { return speed == 100; }))
    speeds.clear();
  return {};
}

std::optional<TextFault> readDevices(Value value, ChainProblem &problem) {
  Fields fields;
  if (auto fault = fields.read(value, "devices", {"node", "memory_bytes"},
                               {"memory_bytes_tight", "nic", "speed_percent"}))
    return fault;
  if (!fields.get("node").isArray())
    return "devices.node is not a list";
  Elements walk(fields.get("node"));
  while (std::optional<Value> element = walk.next()) {
    int64_t node;
    if (auto fault = readInteger(
            *element,
            "devices.node[" + std::to_string(problem.nodeOf.size()) + "]", 0,
            std::numeric_limits<int32_t>::max(), node))
      return fault;
    problem.nodeOf.push_back(static_cast<int32_t>(node));
  }
  if (problem.nodeOf.empty())
    return "devices.node is empty; there must be at least one device";
  if (problem.nodeOf.size() > maxDevices)
    return "there are " + std::to_string(problem.nodeOf.size()) +
           " devices; at most " + std::to_string(maxDevices) +
           " can be planned for";
  if (auto fault = readMemory(fields.get("memory_bytes"), problem))
    return fault;
  if (const Value *speeds = fields.find("speed_percent"))
    if (auto fault = readSpeeds(*speeds, problem))
      return fault;
  const Value *nics = fields.find("nic");
  return nics ? readNics(*nics, problem) : std::optional<TextFault>();
}

std::optional<TextFault> readRates(Value value, ChainProblem &problem) {
  const auto G = static_cast<size_t>(problem.numDevices());
  auto wrongSize = [&](const std::string &where, size_t found) {
    return where + " has " + countOf(found, "entry") + " for " +
           countOf(G, "device");
  };
  if (!value.isArray())
    return "bytes_per_us is " + value.excerpt() + ", not a list of rows";
  problem.bytesPerUs.reserve(G * G);
  Elements rows(value);
  size_t from = 0;
  while (std::optional<Value> row = rows.next()) {
    const std::string where = "bytes_per_us[" + std::to_string(from) + "]";
    if (!row->isArray())
      return where + " is " + row->excerpt() + ", not a list";
    Elements walk(*row);
    size_t to = 0;
    while (std::optional<Value> element = walk.next()) {
      int64_t rate;
      // What a device sends to itself is not looked at.
      if (auto fault =
              readInteger(*element, where + "[" + std::to_string(to) + "]",
                          from == to ? 0 : 1, maxRate, rate))
        return fault;
      problem.bytesPerUs.push_back(rate);
      ++to;
    }
    if (to != G)
      return wrongSize(where, to);
    ++from;
  }
  if (from != G)
    return wrongSize("bytes_per_us", from);
  return {};
}

std::optional<TextFault> fill(Value value, ChainProblem &problem) {
  // Objects of other formats lack keys too.
  if (std::optional<Value> format = findMember(value, "format");
      format && format->string() != "rondo-planning/1")
    return "format is " + format->excerpt() + ", not \"rondo-planning/1\"";
  Fields fields;
  if (auto fault =
          fields.read(value, "the problem",
                      {"format", "name", "microbatches", "layers", "devices",
                       "bytes_per_us", "latency_ns", "state_multiplier"},
                      {"set", "model"}))
    return fault;
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return "name is " + fields.get("name").excerpt() + ", not a string";
  problem.name = *name;
  int64_t microbatches;
  if (auto fault = readInteger(fields.get("microbatches"), "microbatches", 1,
                               maxMicrobatches, microbatches))
    return fault;
  problem.microbatches = static_cast<int32_t>(microbatches);
  int64_t stateMultiplier;
  if (auto fault = readInteger(fields.get("state_multiplier"),
                               "state_multiplier", 0, 1 << 20, stateMultiplier))
    return fault;
  Fields latency;
  if (auto fault = latency.read(fields.get("latency_ns"), "latency_ns",
                                {"intra", "inter"}))
    return fault;
  if (auto fault = readInteger(latency.get("intra"), "latency_ns.intra", 0,
                               most, problem.latencyInsideNs))
    return fault;
  if (auto fault = readInteger(latency.get("inter"), "latency_ns.inter", 0,
                               most, problem.latencyAcrossNs))
    return fault;
  if (auto fault = readLayers(fields.get("layers"), problem))
    return fault;
  for (ChainLayer &layer : problem.layers)
    layer.stateBytes = static_cast<int64_t>(
        std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(
                               layer.parameterBytes, stateMultiplier),
                           std::numeric_limits<int64_t>::max()));
  if (auto fault = readDevices(fields.get("devices"), problem))
    return fault;
  if (auto fault = readRates(fields.get("bytes_per_us"), problem))
    return fault;
  if (std::optional<Fault> fault = problem.check())
    return describe(*fault);
  return {};
}

std::optional<TextFault> readOne(StringRef text, ChainProblem &problem) {
  if (text.trim().empty())
    return "the file is empty; expected one rondo-planning/1 object";
  if (auto fault = checkSyntax(text))
    return fault;
  auto fault = fill(Value(text), problem);
  if (fault && !problem.name.empty())
    fault->message = "problem " + quoted(problem.name) + ": " + fault->message;
  return fault;
}

} // namespace

llvm::Expected<std::vector<ChainProblem>>
readPlanningProblems(StringRef fileName, StringRef contents) {
  std::vector<ChainProblem> problems;
  llvm::StringSet<> names;
  for (const Document &document : splitDocuments(fileName, contents)) {
    ChainProblem &problem = problems.emplace_back();
    std::optional<TextFault> fault = readOne(document.text, problem);
    if (!fault && !names.insert(problem.name).second)
      fault = "a second problem named " + quoted(problem.name);
    if (fault)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     document.where() + fault->message);
  }
  if (problems.empty())
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "no problem in it; expected a rondo-planning/1 object a line");
  return problems;
}

} // namespace rondo::json
