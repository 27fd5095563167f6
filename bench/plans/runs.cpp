//===- runs.cpp - Predicts published runs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runs FILE [NAME=VALUE...]: FILE has a run in each line, a JSON object with
// model, cluster and config. Prints of each: its id, predicted seconds of an
// iteration, and bytes of state, of activations and of the rest on the fullest
// device; with --parts in place of a constant, the parts of the time as well.
// NAME is a constant, such as `links` or `products.0.0`.
//
//===----------------------------------------------------------------------===//

#include "formats/ClusterPresets.h"
#include "planning/groups/GroupCosts.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace rondo::groups;
using llvm::StringRef;
using Object = llvm::json::Object;

[[noreturn]] static void fail(const std::string &text) {
  fprintf(stderr, "error: %s\n", text.c_str());
  exit(1);
}

static int64_t intOf(const Object &object, StringRef key, int64_t otherwise) {
  return object.getInteger(key).value_or(otherwise);
}
static bool flagOf(const Object &object, StringRef key, bool otherwise) {
  return object.getBoolean(key).value_or(otherwise);
}

static Transformer modelOf(const Object &object) {
  Transformer model;
  model.layers = intOf(object, "layers", 0);
  model.hidden = intOf(object, "hidden", 0);
  model.heads = intOf(object, "heads", 0);
  model.keyHeads = intOf(object, "kv_heads", 0);
  model.queryWidth = intOf(
      object, "qk_dim", intOf(object, "head_dim", model.hidden / model.heads));
  model.valueWidth = intOf(object, "v_dim", model.queryWidth);
  model.ffn = intOf(object, "ffn", 0);
  model.isGated = flagOf(object, "gated", false);
  model.vocab = intOf(object, "vocab", 0);
  model.sequence = intOf(object, "seq", 0);
  model.isTied = flagOf(object, "tied", false);
  model.hasDropout = flagOf(object, "dropout", false);
  model.extraPredictions = intOf(object, "mtp", 0);
  model.window = intOf(object, "window", 0);
  model.windowedLayers = std::llround(
      object.getNumber("window_share").value_or(0) * double(model.layers));
  if (const Object *experts = object.getObject("moe"))
    model.experts =
        Experts{intOf(*experts, "experts", 1), intOf(*experts, "topk", 1),
                intOf(*experts, "ffn", 0), intOf(*experts, "shared", 0),
                intOf(*experts, "dense_layers", 0)};
  if (object.get("q_lora"))
    model.latent = LatentAttention{intOf(object, "q_lora", 0),
                                   intOf(object, "kv_lora", 0)};
  return model;
}

/// Data sheets; a card with less power is assumed to run at the power's 0.4th
/// root.
static DeviceSheet sheetOf(StringRef name) {
  const auto *device =
      rondo::formats::findDevicePreset(name.split('-').first.lower());
  if (!device || !device->rates)
    fail("there is no data sheet of " + name.str());
  DeviceSheet sheet = device->sheet();
  if (name == "A100-40GB") {
    sheet.memoryBytesPerUs = 1555000;
    sheet.memoryBytes = 40000000000;
  } else if (name == "H100-96GB-500W") {
    const double share = std::pow(500.0 / 700, 0.4);
    for (int64_t &rate : sheet.flopsPerUs)
      rate = int64_t(double(rate) * share);
    sheet.memoryBytesPerUs = 2400000;
    sheet.memoryBytes = 96000000000;
  }
  return sheet;
}

static Machines machinesOf(const Object &object) {
  const StringRef name = object.getString("gpu").value_or("");
  Machines machines;
  machines.device = sheetOf(name);
  if (const auto rate = object.getNumber("nic_gbytes"))
    machines.device.networkBytesPerUs = int64_t(*rate * 1e3);
  machines.domain = intOf(object, "per_node", 1);
  machines.domains = intOf(object, "nodes", 1);
  machines.hasSlowFabric = object.getString("fabric").value_or("") == "efa";
  machines.hasNearHost = name.starts_with("GB");
  return machines;
}

static Layout layoutOf(const Object &object, const Machines &machines) {
  Layout layout;
  layout.tensor = intOf(object, "tp", 1);
  layout.context = intOf(object, "cp", 1);
  layout.expert = intOf(object, "ep", 1);
  layout.pipeline = intOf(object, "pp", 1);
  layout.chunks = intOf(object, "vpp", 1);
  layout.data = intOf(object, "dp", machines.devices() / layout.devices());
  layout.microbatch = intOf(object, "mbs", 1);
  layout.globalBatch = intOf(object, "gbs", 1);
  layout.zero = int(intOf(object, "zero", 1));
  layout.sequenceParallel = flagOf(object, "sequence_parallel", false);
  // nanotron cuts where the parts have equal costs.
  layout.isBalanced = object.getString("layout").value_or("") == "balanced" ||
                      object.getString("framework").value_or("") == "nanotron";
  const StringRef recompute = object.getString("recompute").value_or("none");
  if (recompute.starts_with("block:")) {
    layout.recompute = Recompute::Layers;
    recompute.substr(6).getAsInteger(10, layout.recomputedLayers);
    layout.recomputedLayers *= layout.pipeline;
    return layout;
  }
  layout.recompute = llvm::StringSwitch<Recompute>(recompute)
                         .Case("selective", Recompute::Selective)
                         .Case("full", Recompute::Full)
                         .Case("norm_act", Recompute::NormsAndActivations)
                         .Case("sac_op", Recompute::PerOperation)
                         .Default(Recompute::None);
  return layout;
}

static Execution executionOf(const Object &object) {
  Execution execution;
  execution.stack =
      llvm::StringSwitch<Stack>(object.getString("framework").value_or(""))
          .Case("mcore", Stack::MegatronCore)
          .Case("fsdp", Stack::Fsdp)
          .Case("nanotron", Stack::Nanotron)
          .Case("aleph", Stack::Other)
          .Default(Stack::Megatron2021);
  execution.precision =
      llvm::StringSwitch<Precision>(object.getString("precision").value_or(""))
          .Case("fp16", Precision::Fp16)
          .Case("fp8", Precision::Fp8)
          .Case("fp8blk", Precision::Fp8Blocks)
          .Case("mxfp8", Precision::MxFp8)
          .Case("nvfp4", Precision::NvFp4)
          .Default(Precision::Bf16);
  execution.attention =
      llvm::StringSwitch<Attention>(object.getString("attention").value_or(""))
          .Case("unfused", Attention::FusedSoftmax)
          .Case("torch", Attention::Separate)
          .Default(Attention::Flash);
  execution.flashVersion = int(intOf(object, "flash_version", 3));
  execution.hasFusedNorms = flagOf(object, "norm_kernel", true);
  execution.overlapsTensor = flagOf(object, "tp_overlap", false);
  execution.overlapsData = flagOf(object, "dp_overlap", true);
  execution.overlapsExperts = flagOf(object, "ep_overlap", false);
  execution.gradientBytes = int(intOf(object, "grad_bytes", 0));
  execution.offloadedLayers = intOf(object, "offload_layers", 0);
  return execution;
}

static double *constantOf(Constants &constants, StringRef name) {
  const auto [head, rest] = name.split('.');
  const auto [first, second] = rest.split('.');
  size_t row = 0, column = 0;
  first.getAsInteger(10, row);
  second.getAsInteger(10, column);
  if (head == "products" && row < 4 && column < 4)
    return &constants.products[row][column];
  if (head == "attention" && row < 4)
    return &constants.attention[row];
  if (head == "stack" && row < 5)
    return &constants.stack[row];
  if (head == "launches" && row < 5)
    return &constants.launches[row];
  return llvm::StringSwitch<double *>(name)
      .Case("pipelined_tensor_launches", &constants.pipelinedTensorLaunches)
      .Case("expert_launches", &constants.expertLaunches)
      .Case("near_expert_launches", &constants.nearExpertLaunches)
      .Case("operand_traffic", &constants.operandTraffic)
      .Case("element_traffic", &constants.elementTraffic)
      .Case("links", &constants.links)
      .Case("network", &constants.network)
      .Case("slow_fabric", &constants.slowFabric)
      .Case("tensor_backward", &constants.tensorBackward)
      .Case("tensor_overlapped", &constants.tensorOverlapped)
      .Case("visible_sums", &constants.visibleSums)
      .Case("visible_stage_messages", &constants.visibleStageMessages)
      .Case("visible_expert_messages", &constants.visibleExpertMessages)
      .Case("beside_microbatch", &constants.besideMicrobatch)
      .Case("grouped_products", &constants.groupedProducts)
      .Case("early_experts", &constants.earlyExperts)
      .Default(nullptr);
}

int main(int argc, char **argv) {
  if (argc < 2)
    fail("which file? runs FILE [NAME=VALUE...]");
  auto buffer = llvm::MemoryBuffer::getFile(argv[1]);
  if (!buffer)
    fail(std::string("cannot read ") + argv[1]);
  Constants constants;
  bool printsParts = false;
  for (int i = 2; i < argc; ++i) {
    if (StringRef(argv[i]) == "--parts") {
      printsParts = true;
      continue;
    }
    const auto [name, value] = StringRef(argv[i]).split('=');
    double *constant = constantOf(constants, name);
    if (!constant || value.getAsDouble(*constant))
      fail(std::string("there is no constant ") + argv[i]);
  }
  StringRef rest = (*buffer)->getBuffer();
  while (!rest.empty()) {
    const auto [line, after] = rest.split('\n');
    rest = after;
    if (line.trim().empty())
      continue;
    auto value = llvm::json::parse(line);
    if (!value)
      fail(llvm::toString(value.takeError()));
    const Object *run = value->getAsObject();
    const Object *parts[] = {run ? run->getObject("model") : nullptr,
                             run ? run->getObject("cluster") : nullptr,
                             run ? run->getObject("config") : nullptr};
    if (!parts[0] || !parts[1] || !parts[2])
      fail("a run has no model, cluster or config");
    const Transformer model = modelOf(*parts[0]);
    const Machines machines = machinesOf(*parts[1]);
    const Layout layout = layoutOf(*parts[2], machines);
    Execution execution = executionOf(*parts[2]);
    run->getString("date").value_or("2026").take_front(4).getAsInteger(
        10, execution.release);
    const GroupCosts costs(model, machines, layout, execution, constants);
    const DeviceMemory memory = costs.memory();
    const IterationTime time = costs.iterationTime();
    printf("%s %.9g %.9g %.9g %.9g",
           run->getString("id").value_or("?").str().c_str(), time.total,
           memory.state, memory.activations, memory.other);
    if (printsParts)
      printf(" work %.3g recompute %.3g tensor %.3g context %.3g expert %.3g "
             "bubble %.3g imbalance %.3g stages %.3g sums %.3g step %.3g",
             time.work, time.recompute, time.tensor, time.context, time.expert,
             time.bubble, time.imbalance, time.stageMessages, time.dataParallel,
             time.optimizer);
    printf("\n");
  }
}
