//===- MegatronReader.cpp - Reads flags of Megatron-LM --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronReader.h"

#include "formats/launch/MegatronArguments.h"
#include "formats/launch/MegatronFlags.h"
#include "formats/launch/StageCut.h"
#include "kinds/Counts.h"
#include "planning/model/GivenCuts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;
using llvm::StringRef;
using llvm::Twine;

void MegatronReader::readDegrees() {
  flags.read("--tensor-model-parallel-size", layout.tensor);
  flags.read("--context-parallel-size", layout.context);
  flags.read("--expert-model-parallel-size", layout.expert);
  flags.read("--pipeline-model-parallel-size", layout.pipeline);
  const bool isSequence = flags.isSet("--sequence-parallel");
  layout.sequenceParallel = isSequence && layout.tensor > 1;
  if (isSequence && layout.tensor == 1)
    note("--sequence-parallel has no effect with a tensor group of 1");
  int64_t expertTensor = layout.tensor;
  flags.read("--expert-tensor-parallel-size", expertTensor);
  if (model.experts && expertTensor > 1)
    note("experts are cut into " + Twine(expertTensor) +
         " (--expert-tensor-parallel-size, by default the tensor group); the "
         "costs are those of whole experts");
  readDevices();
}

void MegatronReader::readDevices() {
  const int64_t devices = flags.readDevices(options.devices);
  if (devices == 0)
    return;
  layout.data = devices;
  for (int64_t degree : {layout.tensor, layout.context, layout.pipeline}) {
    if (layout.data % degree != 0) {
      flags.fail(countOf(devices, "device") + " do not divide by tensor " +
                 Twine(layout.tensor) + ", context " + Twine(layout.context) +
                 " and pipeline " + Twine(layout.pipeline) +
                 "; Megatron needs world size % (tp * cp * pp) = 0");
      return;
    }
    layout.data /= degree;
  }
}

void MegatronReader::readCut() {
  int64_t chunks = 0, chunkLayers = 0;
  const bool hasChunks =
      flags.read("--num-virtual-stages-per-pipeline-rank", chunks);
  const bool hasLayers =
      flags.read("--num-layers-per-virtual-pipeline-stage", chunkLayers);
  const Flag *cut = flags.find("--pipeline-model-parallel-layout");
  if (hasChunks + hasLayers + (cut != nullptr) > 1) {
    flags.fail("more than one of --num-layers-per-virtual-pipeline-stage, "
               "--num-virtual-stages-per-pipeline-rank and "
               "--pipeline-model-parallel-layout; Megatron takes one");
    return;
  }
  const int64_t embedding =
      flags.isSet("--account-for-embedding-in-pipeline-split");
  const int64_t loss = flags.isSet("--account-for-loss-in-pipeline-split");
  if (flags.hasFailed())
    return;
  if (cut) {
    readLayout(*cut);
    return;
  }
  if (hasChunks)
    layout.chunks = chunks;
  if (hasLayers) {
    const int64_t layers = model.layers + embedding + loss;
    if (layers % (layout.pipeline * chunkLayers) != 0) {
      flags.failAt(*flags.find("--num-layers-per-virtual-pipeline-stage"),
                   "a divisor of the " + Twine(layers) + " layers on " +
                       countOf(layout.pipeline, "rank"));
      return;
    }
    layout.chunks = layers / layout.pipeline / chunkLayers;
  }
  if (layout.pipeline * layout.chunks > model.layers + 2)
    flags.fail(countOf(layout.pipeline, "rank") + " with " +
               countOf(layout.chunks, "chunk") +
               " each have more stages than " + countOf(model.layers, "layer") +
               " with embedding and head");
  else if (embedding || loss)
    readEnds(embedding, loss);
  else
    readFirstAndLast();
}

void MegatronReader::readLayout(const Flag &flag) {
  const LayoutLetters expanded =
      expandLayout(llvm::join(flag.values, ""), /*mayPredict=*/true);
  if (!expanded.fault.empty()) {
    flags.failAt(flag, "a layout such as Ett|tt|ttL; here " + expanded.fault);
    return;
  }
  llvm::SmallVector<StringRef> stages;
  StringRef(expanded.letters).split(stages, '|');
  if (int64_t(stages.size()) % layout.pipeline != 0) {
    flags.failAt(flag, "stages in a multiple of the " +
                           countOf(layout.pipeline, "pipeline rank") +
                           "; there are " + Twine(stages.size()));
    return;
  }
  const StringRef letters = expanded.letters;
  if (!letters.starts_with("E") || letters.count('E') != 1 ||
      !letters.ends_with("L") || letters.count('L') != 1) {
    flags.failAt(flag, "E first and L last, each once");
    return;
  }
  if (int64_t(letters.count('t')) != model.layers ||
      int64_t(letters.count('m')) != model.extraPredictions) {
    flags.failAt(flag, Twine(model.layers) + " t and " +
                           Twine(model.extraPredictions) +
                           " m, as --num-layers and --mtp-num-layers say; "
                           "there are " +
                           Twine(letters.count('t')) + " and " +
                           Twine(letters.count('m')));
    return;
  }
  layout.chunks = int64_t(stages.size()) / layout.pipeline;
  std::vector<int64_t> layers;
  for (StringRef stage : stages)
    layers.push_back(int64_t(stage.count('t')));
  setStageLayers(run, std::move(layers));
}

/// The embedding or the head counts as a layer of its stage.
void MegatronReader::readEnds(int64_t embedding, int64_t loss) {
  const int64_t stages = layout.pipeline * layout.chunks;
  const int64_t all = model.layers + embedding + loss;
  if (all % stages != 0) {
    flags.fail(Twine(all) + " layers, with " + Twine(embedding + loss) +
               " for embedding and loss, do not divide into " +
               countOf(stages, "stage") + "; Megatron needs an even cut");
    return;
  }
  std::vector<int64_t> layers(size_t(stages), all / stages);
  layers.front() -= embedding;
  layers.back() -= loss;
  setStageLayers(run, std::move(layers));
}

/// The layers of the first and the last rank, and an even cut between.
void MegatronReader::readFirstAndLast() {
  int64_t first = 0, last = 0;
  const bool hasFirst =
      flags.read("--decoder-first-pipeline-num-layers", first);
  const bool hasLast = flags.read("--decoder-last-pipeline-num-layers", last);
  if (!hasFirst && !hasLast)
    return;
  const int64_t others = layout.pipeline - hasFirst - hasLast;
  const int64_t rest = model.layers - first - last;
  const int64_t middle = others > 0 ? rest / others : 0;
  if (rest < 0 || others < 0 || middle * others != rest ||
      first % layout.chunks != 0 || last % layout.chunks != 0 ||
      middle % layout.chunks != 0) {
    flags.fail(countOf(model.layers, "layer") + " without " + Twine(first) +
               " on the first rank and " + Twine(last) +
               " on the last do not divide into " + countOf(others, "rank") +
               " with " + countOf(layout.chunks, "chunk") +
               " each (--decoder-first-pipeline-num-layers, "
               "--decoder-last-pipeline-num-layers)");
    return;
  }
  std::vector<int64_t> layers(size_t(layout.pipeline * layout.chunks),
                              middle / layout.chunks);
  for (int64_t chunk = 0; chunk < layout.chunks; ++chunk) {
    if (hasFirst)
      layers[size_t(chunk * layout.pipeline)] = first / layout.chunks;
    if (hasLast)
      layers[size_t((chunk + 1) * layout.pipeline - 1)] = last / layout.chunks;
  }
  setStageLayers(run, std::move(layers));
}

void MegatronReader::readBatch() {
  need("--micro-batch-size", layout.microbatch);
  layout.globalBatch = layout.microbatch * layout.data;
  flags.read("--global-batch-size", layout.globalBatch);
  if (layout.globalBatch > maxNumber)
    flags.fail("--micro-batch-size " + Twine(layout.microbatch) + " on " +
               countOf(layout.data, "replica") +
               ": an iteration has more than " + Twine(maxNumber) + " samples");
}

void MegatronReader::readState() {
  layout.zero = flags.isSet("--use-distributed-optimizer") ? 1 : 0;
  const bool sumsEarly = flags.isSet("--overlap-grad-reduce");
  const bool gathersLate = flags.isSet("--overlap-param-gather");
  execution.overlapsData = sumsEarly;
  readFsdp();
  if (flags.hasFailed())
    return;
  if (gathersLate && (!sumsEarly || layout.zero == 0))
    flags.fail("--overlap-param-gather needs --overlap-grad-reduce and "
               "--use-distributed-optimizer or --use-megatron-fsdp");
  else if (sumsEarly && layout.zero > 0 && !gathersLate &&
           execution.stack != Stack::Fsdp)
    note("gathers of weights do not overlap without --overlap-param-gather; "
         "the costs are those of gathers that do");
}

void MegatronReader::readFsdp() {
  const bool isTorch = flags.isSet("--use-torch-fsdp2");
  const bool keepsWeights =
      flags.isSet("--torch-fsdp2-no-reshard-after-forward");
  const bool isMegatron = flags.isSet("--use-megatron-fsdp");
  const size_t strategy =
      flags.choose("--data-parallel-sharding-strategy",
                   {"no_shard", "optim", "optim_grads", "optim_grads_params"},
                   /*ifAbsent=*/3);
  const std::string format = flags.word("--ckpt-format");
  flags.isSet("--no-gradient-accumulation-fusion");
  if (isTorch) {
    if (layout.zero == 1)
      flags.fail("--use-torch-fsdp2 with --use-distributed-optimizer; Megatron "
                 "takes one of the two");
    layout.zero = keepsWeights ? 2 : 3;
    execution.stack = Stack::Fsdp;
    // PyTorch's FSDP always sums early.
    execution.overlapsData = true;
  } else if (isMegatron) {
    layout.zero = int(strategy);
    if (format != "fsdp_dtensor")
      flags.fail("--use-megatron-fsdp without --ckpt-format fsdp_dtensor; "
                 "Megatron needs it");
    const std::string optimizer = flags.word("--optimizer");
    if (!optimizer.empty() && optimizer != "adam" && optimizer != "sgd")
      flags.failAt(*flags.find("--optimizer"),
                   "adam or sgd, as --use-megatron-fsdp needs");
  }
  checkConnections(isTorch || isMegatron);
}

/// If the text sets the number of a device's connections, it must be the one
/// that Megatron needs.
void MegatronReader::checkConnections(bool isFsdp) {
  const bool hasGroups = layout.tensor > 1 || layout.context > 1;
  for (const auto &[name, value] : command.environment) {
    if (name != "CUDA_DEVICE_MAX_CONNECTIONS")
      continue;
    if (isFsdp && value == "1")
      flags.fail(
          "CUDA_DEVICE_MAX_CONNECTIONS is 1; Megatron's FSDP needs more, "
          "or no value");
    else if (!isFsdp && hasGroups && value != "1")
      note("CUDA_DEVICE_MAX_CONNECTIONS is '" + value +
           "'; before Blackwell Megatron needs 1 with tensor or context "
           "groups, unless messages to experts overlap");
  }
}

void MegatronReader::readRecompute() {
  const bool isOld = flags.isSet("--recompute-activations");
  size_t granularity =
      flags.choose("--recompute-granularity", {"", "selective", "full"});
  if (isOld)
    granularity = 1;
  const size_t method =
      flags.choose("--recompute-method", {"", "uniform", "block"});
  int64_t layers = 0;
  const bool hasLayers = flags.read("--recompute-num-layers", layers);
  flags.read("--cpu-offloading-num-layers", execution.offloadedLayers, 0);
  if (granularity == 1 && (method != 0 || hasLayers))
    flags.fail("--recompute-granularity selective with --recompute-method or "
               "--recompute-num-layers; Megatron takes them with full");
  else if (granularity == 1)
    readModules();
  else if (granularity == 2 && (method == 0 || !hasLayers))
    flags.fail("--recompute-granularity full needs --recompute-method and "
               "--recompute-num-layers");
  else if (granularity == 2 && method == 1) {
    layout.recompute = Recompute::Full;
    if (layers > 1)
      note("--recompute-num-layers " + Twine(layers) +
           ": the costs are those of keeping each layer's input, not that of "
           "every " +
           Twine(layers) + " layers");
  } else if (granularity == 2) {
    layout.recompute = Recompute::Layers;
    // A layout may have more stages than layers.
    layout.recomputedLayers =
        std::min(model.layers, std::min(layers, model.layers) *
                                   layout.pipeline * layout.chunks);
    if (layout.recomputedLayers == model.layers) {
      layout.recompute = Recompute::Full;
      layout.recomputedLayers = 0;
    }
  }
}

void MegatronReader::readModules() {
  const Flag *flag = flags.find("--recompute-modules");
  layout.recompute = Recompute::Selective;
  if (!flag)
    return;
  const llvm::ArrayRef<std::string> modules = flag->values;
  if (modules.empty()) {
    flags.failAt(*flag, "a module, such as core_attn");
    return;
  }
  auto has = [&](StringRef name) { return llvm::is_contained(modules, name); };
  if (llvm::all_of(modules, [](StringRef name) {
        return name == "layernorm" || name == "moe_act" ||
               name == "mla_up_proj";
      })) {
    layout.recompute = Recompute::NormsAndActivations;
    if (has("mla_up_proj"))
      note("the product that mla_up_proj recomputes is not in the costs");
    return;
  }
  if (modules.size() == 1 && has("core_attn"))
    return;
  for (StringRef name : modules)
    if (!llvm::is_contained({"core_attn", "layernorm", "moe_act", "mla_up_proj",
                             "mlp", "moe", "shared_experts", "gdn_norm_out"},
                            name)) {
      flags.failAt(*flag, "modules of core_attn, moe_act, layernorm, "
                          "mla_up_proj, mlp, moe, shared_experts");
      return;
    }
  if (!has("core_attn"))
    layout.recompute = Recompute::NormsAndActivations;
  note("--recompute-modules " + llvm::join(modules, " ") +
       ": the costs are those of " +
       (has("core_attn") ? "core_attn" : "norms and activation functions") +
       " alone");
}

void MegatronReader::readPrecision() {
  const bool isHalf = flags.isSet("--fp16");
  const bool isBrain = flags.isSet("--bf16");
  const size_t format = flags.choose("--fp8-format", {"", "e4m3", "hybrid"});
  const size_t recipe = flags.choose(
      "--fp8-recipe", {"delayed", "tensorwise", "blockwise", "mxfp8"});
  const size_t narrow = flags.choose("--fp4-format", {"", "e2m1"});
  flags.word("--fp4-recipe");
  const bool sumsNarrow = flags.isSet("--grad-reduce-in-bf16");
  const bool sumsWide = flags.isSet("--accumulate-allreduce-grads-in-fp32");
  if (isHalf && isBrain)
    flags.fail("--fp16 and --bf16; Megatron takes one");
  else if (format != 0 && narrow != 0)
    flags.fail("--fp8-format and --fp4-format; Megatron takes one");
  else if (!isHalf && !isBrain)
    flags.fail("neither --bf16 nor --fp16: Megatron would train in fp32, "
               "which has no costs here");
  if (isHalf) {
    execution.precision = Precision::Fp16;
    execution.gradientBytes = sumsWide ? 4 : 0;
  } else {
    execution.gradientBytes = sumsNarrow ? 2 : 0;
  }
  if (narrow != 0)
    execution.precision = Precision::NvFp4;
  if (format == 0)
    return;
  const Precision recipes[] = {Precision::Fp8, Precision::Fp8,
                               Precision::Fp8Blocks, Precision::MxFp8};
  execution.precision = recipes[recipe];
}

void MegatronReader::readKernels() {
  const size_t backend = flags.choose(
      "--attention-backend", {"auto", "flash", "fused", "unfused", "local"});
  int64_t version = 3;
  flags.read("--flash-attention-version", version, 2);
  flags.isSet("--use-flash-attn");
  const bool isSeparate = flags.isSet("--no-masked-softmax-fusion");
  if (backend >= 3)
    execution.attention =
        isSeparate ? Attention::Separate : Attention::FusedSoftmax;
  else
    execution.flashVersion = int(std::min<int64_t>(version, 3));
  execution.overlapsTensor = flags.isSet("--tp-comm-overlap");
  if (flags.isSet("--no-overlap-p2p-communication")) {
    if (layout.chunks > 1 && layout.pipeline < 3)
      flags.fail("--no-overlap-p2p-communication with " +
                 countOf(layout.chunks, "chunk") + " on each of " +
                 countOf(layout.pipeline, "rank") +
                 "; Megatron needs 3 ranks or more");
    note("--no-overlap-p2p-communication is not in the costs: messages "
         "between stages");
  }
  execution.overlapsExperts = flags.isSet("--overlap-moe-expert-parallel-comm");
}

/// Names flags that change costs and are not in them, and counts the others. A
/// name one or two letters from a known one is a fault: its value would be
/// lost.
void MegatronReader::noteRest() {
  for (StringRef name : plainFlags)
    flags.find(name);
  std::vector<std::string> others;
  for (const Flag *flag : flags.rest()) {
    const auto *cost = llvm::find_if(costFlags, [&](const FlagMeaning &one) {
      return one.name == flag->name;
    });
    if (cost != std::end(costFlags)) {
      if (flag->values != std::vector<std::string>{cost->harmless.str()})
        note(flag->name +
             (flag->values.empty() ? "" : " " + llvm::join(flag->values, " ")) +
             " is not in the costs: " + cost->meaning);
      continue;
    }
    if (std::string name = flags.intended(*flag); !name.empty()) {
      flags.fail(flags.placeOf(*flag) + flag->name +
                 " is no flag of Megatron; did you mean " + name + "?");
      return;
    }
    others.push_back(flag->name);
  }
  if (!others.empty())
    note("not read: " + llvm::join(others, ", "));
}

ReadRun MegatronReader::read() {
  run.name = options.name;
  execution.stack = Stack::MegatronCore;
  using Step = void (MegatronReader::*)();
  for (Step step :
       {&MegatronReader::refuseOtherModels, &MegatronReader::readModel,
        &MegatronReader::readExperts, &MegatronReader::readDegrees,
        &MegatronReader::readCut, &MegatronReader::readBatch,
        &MegatronReader::readState, &MegatronReader::readRecompute,
        &MegatronReader::readPrecision, &MegatronReader::readKernels,
        &MegatronReader::noteRest}) {
    (this->*step)();
    if (flags.hasFailed())
      break;
  }
  result.fault = flags.fault();
  return std::move(result);
}

ReadRun launch::readMegatronArguments(StringRef text,
                                      const ReadOptions &options) {
  const ReadCommand read = readCommand(text);
  if (read.fault.empty())
    return MegatronReader(read.command, options).read();
  ReadRun result;
  result.fault = read.fault;
  return result;
}
