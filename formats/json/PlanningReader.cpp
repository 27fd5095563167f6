//===- PlanningReader.cpp - rondo-planning to ChainProblem ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/PlanningReader.h"

#include "formats/json/Documents.h"
#include "formats/json/Rows.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// ChainProblem::check() limits sums.
constexpr Range planFigure = {0, int64_t(1) << 60};
constexpr Range number32 = {0, std::numeric_limits<int32_t>::max()};
/// Times the number of pairs of devices of two groups it must fit 64 bits.
constexpr int64_t maxRate = int64_t(1) << 36;
/// Limits of the search over plans.
constexpr int64_t maxDevices = 4096, maxLayers = 1024;

using Check = std::optional<TextFault>;

/// The backward is stated whole or in its two parts.
struct LayerText : ChainLayer {
  std::optional<int64_t> whole, inputGrad, weightGrad;
};

struct DevicesText {
  std::vector<int64_t> nodes, memoryBytes, speeds, nics;
  bool hasMemoryList = false;
  std::optional<Value> speedsValue, nicsValue;
  /// The memory of each device; 0: no limit.
  int64_t memoryOfAll = 0;
};

struct LatencyText {
  int64_t inside = 0, across = 0;
};

struct PlanningText {
  std::string name;
  int64_t microbatches = 1, stateMultiplier = 0;
  std::vector<LayerText> layers;
  DevicesText devices;
  LatencyText latency;
  std::vector<int64_t> rates;
};

Check checkLayer(const Place &place, Value value, LayerText &layer) {
  if (layer.whole && (layer.inputGrad || layer.weightGrad))
    return place.fault(value,
                       " has backward_ns and a part of it; give either that or "
                       "input_grad_ns and weight_grad_ns");
  if (!layer.whole && (!layer.inputGrad || !layer.weightGrad))
    return place.fault(
        value, " lacks backward_ns, or input_grad_ns and weight_grad_ns");
  layer.backwardNs =
      layer.whole ? *layer.whole : *layer.inputGrad + *layer.weightGrad;
  if (!layer.whole)
    layer.weightGradNs = *layer.weightGrad;
  return {};
}

/// One figure for all devices, or a list.
Check readMemory(const Place &place, Value value, DevicesText &devices) {
  if (!value.isArray())
    return readNumber(place, value, planFigure, devices.memoryOfAll);
  devices.hasMemoryList = true;
  return Rows<DevicesText>::numbers("memory_bytes", &DevicesText::memoryBytes,
                                    {1, planFigure.most}, anyList)
      .key->read(place, value, &devices);
}

/// A list has an entry for each device.
Check checkCount(const Place &place, Value value, size_t found,
                 const DevicesText &devices, const char *rule) {
  if (found == devices.nodes.size())
    return {};
  return place.fault(value, " has " + countOf(found, "entry") +
                                ", devices.node has " +
                                std::to_string(devices.nodes.size()) +
                                "; each device has " + rule);
}

Check checkDevices(const Place &place, Value value, DevicesText &devices) {
  if (devices.nodes.size() > maxDevices)
    return TextFault("there are " + std::to_string(devices.nodes.size()) +
                     " devices; at most " + std::to_string(maxDevices) +
                     " can be planned for");
  if (devices.hasMemoryList)
    if (auto fault = checkCount(place["memory_bytes"], value,
                                devices.memoryBytes.size(), devices, "one"))
      return fault;
  if (devices.speedsValue)
    if (auto fault = checkCount(place["speed_percent"], value,
                                devices.speeds.size(), devices, "one"))
      return fault;
  if (!devices.nicsValue)
    return {};
  if (auto fault = checkCount(place["nic"], value, devices.nics.size(), devices,
                              "a NIC or null"))
    return fault;
  std::map<int64_t, int64_t> nodes;
  for (const auto &[device, nic] : llvm::enumerate(devices.nics)) {
    const int64_t node = devices.nodes[device];
    const int64_t first = nodes.insert({nic, node}).first->second;
    if (nic >= 0 && first != node)
      return place["nic"][device].fault(
          value, " is a NIC of server " + std::to_string(first) +
                     ", but the device is on server " + std::to_string(node) +
                     "; a NIC is in one server");
  }
  return {};
}

/// A row for each device, with its bandwidth to each.
Check readRates(const Place &place, Value value, PlanningText &problem) {
  const size_t count = problem.devices.nodes.size();
  const auto wrongSize = [&](const Place &place, Value value, size_t found) {
    return place.fault(value, " has " + countOf(found, "entry") + " for " +
                                  countOf(count, "device"));
  };
  if (!value.isArray())
    return place.wrong(value, "a list of rows");
  problem.rates.reserve(count * count);
  Elements rows(value);
  size_t from = 0;
  for (; std::optional<Value> row = rows.next(); ++from) {
    const Place here = place[from];
    if (!row->isArray())
      return here.wrong(*row, "a list");
    Elements walk(*row);
    size_t to = 0;
    // The bandwidth of a device to itself is not used.
    for (; std::optional<Value> rate = walk.next(); ++to)
      if (auto fault =
              readNumber(here[to], *rate, {from == to ? 0 : 1, maxRate},
                         problem.rates.emplace_back()))
        return fault;
    if (to != count)
      return wrongSize(here, *row, to);
  }
  return from == count ? Check() : wrongSize(place, value, from);
}

Check checkLayers(const Place &, Value, const PlanningText &problem) {
  const size_t count = problem.layers.size();
  if (count > maxLayers)
    return TextFault("there are " + std::to_string(count) +
                     " layers; at most " + std::to_string(maxLayers) +
                     " can be planned; group them");
  if (const int64_t bytes = problem.layers.back().outputBytes)
    return TextFault("output_bytes of the last layer is " +
                     std::to_string(bytes) +
                     "; nothing follows it, so it must be 0");
  return {};
}

#include "formats/json/PlanningKeys.def"

ChainProblem toChain(const PlanningText &text) {
  ChainProblem problem;
  problem.name = text.name;
  problem.microbatches = static_cast<int32_t>(text.microbatches);
  problem.latencyInsideNs = text.latency.inside;
  problem.latencyAcrossNs = text.latency.across;
  problem.bytesPerUs = text.rates;
  for (const LayerText &layer : text.layers) {
    problem.layers.push_back(layer);
    problem.layers.back().stateBytes = static_cast<int64_t>(
        std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(
                               layer.parameterBytes, text.stateMultiplier),
                           std::numeric_limits<int64_t>::max()));
  }
  const DevicesText &devices = text.devices;
  problem.nodeOf.assign(devices.nodes.begin(), devices.nodes.end());
  problem.memoryBytes = devices.memoryOfAll;
  const auto &bytes = devices.memoryBytes;
  if (!bytes.empty())
    problem.memoryBytes = *llvm::max_element(bytes);
  if (llvm::any_of(bytes,
                   [&](int64_t own) { return own != problem.memoryBytes; }))
    for (int64_t own : bytes)
      problem.memoryLess.push_back(problem.memoryBytes - own);
  if (llvm::any_of(devices.speeds, [](int64_t speed) { return speed != 100; }))
    problem.speedPercent = devices.speeds;
  // The NICs' numbers become those of their order in the list.
  std::map<int64_t, int32_t> numbers;
  for (int64_t nic : devices.nics)
    problem.nicOf.push_back(
        nic < 0 ? -1
                : numbers.insert({nic, int32_t(numbers.size())}).first->second);
  if (numbers.empty())
    problem.nicOf.clear();
  return problem;
}

} // namespace

const TableBase &planningTable() { return planningText(); }

static Check readOne(StringRef text, ChainProblem &problem) {
  if (text.trim().empty())
    return "the file is empty; expected one rondo-planning/1 object";
  if (auto fault = checkSyntax(text))
    return fault;
  // Objects of other formats lack keys too.
  if (std::optional<Value> format = findMember(Value(text), "format");
      format && format->string() != "rondo-planning/1")
    return "format is " + format->excerpt() + ", not \"rondo-planning/1\"";
  Context context;
  PlanningText read;
  Check fault =
      planningText().read(Place(context, "the problem"), Value(text), read);
  problem = toChain(read);
  if (!fault)
    if (std::optional<Fault> broken = problem.check())
      fault = describe(*broken);
  if (fault && !problem.name.empty())
    fault = withWords("problem " + quoted(problem.name) + ": ", *fault);
  return fault;
}

Result<std::vector<ChainProblem>> readPlanningProblems(StringRef fileName,
                                                       StringRef contents) {
  std::vector<ChainProblem> problems;
  llvm::StringSet<> names;
  for (const Document &document : splitDocuments(fileName, contents)) {
    ChainProblem &problem = problems.emplace_back();
    Check fault = readOne(document.text, problem);
    if (!fault && !names.insert(problem.name).second)
      fault = "a second problem named " + quoted(problem.name);
    if (fault)
      return TextFault(document.where() + describe(*fault));
  }
  if (problems.empty())
    return TextFault(
        "no problem in it; expected a rondo-planning/1 object a line");
  return problems;
}

} // namespace rondo::json
