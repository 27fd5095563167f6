//===- LayoutText.cpp - Layouts of models on groups of devices ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/LayoutText.h"

#include "formats/json/Cluster.h"
#include "formats/json/GroupWords.h"
#include "formats/json/Rows.h"
#include "schedule/model/Problem.h"

#include <numeric>

using llvm::StringRef;

namespace rondo::json {

using Check = std::optional<TextFault>;

namespace {

constexpr int64_t maxSize = int64_t(1) << 24;
constexpr Range size = {1, maxSize}, sizeOrNone = {0, maxSize},
                layers = {1, 1 << 14};
constexpr int64_t maxDevices = 1 << 20;
constexpr Range degree = {1, maxDevices}, rate = {1000, int64_t(1) << 40};

/// Machines as the file has them.
struct MachinesText {
  std::string device;
  groups::Generation generation = groups::Generation::Hopper;
  int64_t bf16FlopsPerUs = 0, fp8FlopsPerUs = 0, fp4FlopsPerUs = 0;
  int64_t memoryBytesPerUs = 0, linkBytesPerUs = 0, networkBytesPerUs = 0;
  int64_t memoryBytes = 0, domain = 0, domains = 1;
  bool hasSlowFabric = false, hasNearHost = false;
};

struct LayoutDocument {
  std::string name;
  groups::Transformer model;
  MachinesText machines;
  groups::Layout layout;
  groups::Execution execution;
  std::vector<int64_t> stageLayers;
  std::optional<int64_t> predictedNs, predictedBytes;
};

Check checkTransformer(const Place &place, Value value,
                       const groups::Transformer &model) {
  auto most = [&](const char *key, int64_t number, int64_t layers) {
    return number <= layers
               ? Check()
               : Check(place[key].fault(
                     value, " is " + llvm::Twine(number) + ", more than the " +
                                llvm::Twine(layers) + " layers"));
  };
  if (model.heads % model.keyHeads != 0)
    return place["heads"].fault(
        value, " is " + llvm::Twine(model.heads) + ", not a multiple of the " +
                   llvm::Twine(model.keyHeads) + " heads of keys (key_heads)");
  if (Check fault = most("windowed_layers", model.windowedLayers, model.layers))
    return fault;
  if (model.latent && model.latent->rotaryWidth > model.queryWidth)
    return place["latent"]["rotary_width"].fault(
        value, " is " + llvm::Twine(model.latent->rotaryWidth) +
                   ", more than the " + llvm::Twine(model.queryWidth) +
                   " of a head (query_width)");
  if (model.numDense() > 0 && model.ffn == 0)
    return place["ffn"].fault(value, " is 0, but " +
                                         llvm::Twine(model.numDense()) +
                                         " layers have an ordinary "
                                         "feed-forward part");
  if (!model.experts)
    return {};
  if (model.experts->perToken > model.experts->count)
    return place["experts"]["per_token"].fault(
        value, " is " + llvm::Twine(model.experts->perToken) +
                   ", more than the " + llvm::Twine(model.experts->count) +
                   " experts");
  return most("experts.dense_layers", model.experts->denseLayers, model.layers);
}

Check checkDocument(const Place &place, Value value,
                    const LayoutDocument &document) {
  const groups::Layout &layout = document.layout;
  const MachinesText &machines = document.machines;
  const int64_t devices = machines.domain * machines.domains;
  if (layout.devices() != devices)
    return place["layout"].fault(
        value, " uses " + llvm::Twine(layout.devices()) +
                   " devices (tensor x context x pipeline x data), but "
                   "machines has " +
                   llvm::Twine(devices) + " (domain x domains)");
  if (machines.domains > 1 && machines.networkBytesPerUs == 0)
    return place["machines"].fault(
        value, " has " + llvm::Twine(machines.domains) +
                   " domains, but network_bytes_per_us is 0");
  if (const std::string fault = groups::fault(document.model, layout);
      !fault.empty())
    return place["layout"].fault(value, llvm::Twine(": ") + fault);
  const std::vector<int64_t> &stages = document.stageLayers;
  if (stages.empty())
    return {};
  const auto sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
  const int64_t count = layout.pipeline * layout.chunks;
  if (static_cast<int64_t>(stages.size()) != count ||
      sum != document.model.layers)
    return place["stage_layers"].fault(
        value, " has " + llvm::Twine(sum) + " layers in " +
                   llvm::Twine(stages.size()) + " stages, but the model has " +
                   llvm::Twine(document.model.layers) + " and the layout has " +
                   llvm::Twine(count) + " stages");
  return {};
}

#include "formats/json/LayoutKeys.def"

groups::Machines machinesOf(const MachinesText &text) {
  auto orElse = [](int64_t number, int64_t otherwise) {
    return number > 0 ? number : otherwise;
  };
  groups::Machines machines;
  groups::DeviceSheet &device = machines.device;
  device.generation = text.generation;
  const int64_t fp8 = orElse(text.fp8FlopsPerUs, text.bf16FlopsPerUs);
  device.flopsPerUs = {text.bf16FlopsPerUs, fp8,
                       orElse(text.fp4FlopsPerUs, fp8)};
  device.memoryBytesPerUs = text.memoryBytesPerUs;
  device.linkBytesPerUs = text.linkBytesPerUs;
  device.networkBytesPerUs = text.networkBytesPerUs;
  device.memoryBytes = text.memoryBytes;
  machines.domain = text.domain;
  machines.domains = text.domains;
  machines.hasSlowFabric = text.hasSlowFabric;
  machines.hasNearHost = text.hasNearHost;
  return machines;
}

MachinesText textOf(const NamedMachines &named) {
  const groups::Machines &machines = named.machines;
  const groups::DeviceSheet &device = machines.device;
  MachinesText text;
  text.device = named.device;
  text.generation = device.generation;
  text.bf16FlopsPerUs = device.flopsPerUs[0];
  text.fp8FlopsPerUs = device.flopsPerUs[1];
  text.fp4FlopsPerUs = device.flopsPerUs[2];
  text.memoryBytesPerUs = device.memoryBytesPerUs;
  text.linkBytesPerUs = device.linkBytesPerUs;
  text.networkBytesPerUs = device.networkBytesPerUs;
  text.memoryBytes = device.memoryBytes;
  text.domain = machines.domain;
  text.domains = machines.domains;
  text.hasSlowFabric = machines.hasSlowFabric;
  text.hasNearHost = machines.hasNearHost;
  return text;
}

} // namespace

const TableBase &layoutTable() { return layoutDocument(); }

Result<PlannedRun> readLayout(StringRef text) {
  LayoutDocument document;
  Context context;
  context.text = text;
  Check fault;
  if (text.trim().empty())
    fault = "the file is empty; expected one rondo-layout/1 object";
  else if (!(fault = checkSyntax(text)))
    fault =
        layoutDocument().read(Place(context, "layout"), Value(text), document);
  else
    fault = withWords("", *fault,
                      "; expected one rondo-layout/1 object, which is JSON");
  if (fault)
    return *fault;
  PlannedRun run;
  run.run = {document.name.empty() ? "run" : document.name, document.model,
             document.layout, document.execution, document.stageLayers};
  run.on = {document.machines.device, machinesOf(document.machines)};
  run.predictedNs = document.predictedNs;
  run.predictedBytes = document.predictedBytes;
  return run;
}

void writeLayout(const PlannedRun &run, llvm::raw_ostream &os) {
  const LayoutDocument document = {run.run.name,      run.run.model,
                                   textOf(run.on),    run.run.layout,
                                   run.run.execution, run.run.stageLayers,
                                   run.predictedNs,   run.predictedBytes};
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "rondo-layout/1");
    layoutDocument().write(json, document);
  });
  os << "\n";
}

} // namespace rondo::json
