//===- TorchtitanReader.cpp - Reads flags of torchtitan -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/FlagReader.h"
#include "formats/launch/StageCut.h"
#include "formats/launch/TorchtitanConfig.h"
#include "formats/launch/TorchtitanModels.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;
using llvm::StringRef;
using llvm::Twine;

namespace {

struct KeyMeaning {
  StringRef name, meaning;
};

/// Keys of other versions; `meaning` is what 0.3.0 has.
constexpr KeyMeaning otherVersions[] = {
    {"--training.num-tokens-per-microbatch-per-dp-rank",
     "--training.local_batch_size"},
    {"--training.num-tokens-per-train-step", "--training.global_batch_size"},
    {"--training.max-context-length", "--training.seq_len"},
    {"--parallelism.num-pp-microbatches",
     "--parallelism.pipeline_parallel_microbatch_size"},
    {"--job.config-file", "--module and --config"},
    {"--model.name", "--module and --config"},
    {"--model.flavor", "--module and --config"},
};

/// Keys that change time or memory, and are not in the cost model.
constexpr KeyMeaning costKeys[] = {
    {"--parallelism.context-parallel-load-balancer",
     "the balance of context groups"},
    {"--parallelism.enable-fsdp-symm-mem", "messages of replicas"},
    {"--parallelism.pipeline-parallel-schedule-csv", "the order of tasks"},
    {"--training.dtype", "bytes of weights and of the optimizer's state"},
    {"--training.enable-cpu-offload", "memory and messages of shared state"},
};

/// Keys whose costs are none, of the sections that are read.
constexpr StringRef plainKeys[] = {
    "--training.steps",
    "--training.max-norm",
    "--training.gc-freq",
    "--training.gc-debug",
    "--training.no-gc-debug",
    "--training.mixed-precision-reduce",
    "--training.no-enable-cpu-offload",
    "--parallelism.spmd-backend",
    "--parallelism.no-enable-fsdp-symm-mem",
    "--parallelism.context-parallel-ptrr-mask-key",
    "--compile.components",
    "--compile.backend",
};

constexpr StringRef checkpointing = "activation-checkpoint:";

/// Names with dashes, as tyro takes either; its subcommand as a flag.
Command normalized(Command command) {
  std::vector<Flag> flags;
  for (Flag &flag : command.flags) {
    auto withDashes = [](std::string &text) {
      std::replace(text.begin(), text.end(), '_', '-');
    };
    Flag subcommand;
    llvm::erase_if(flag.values, [&](std::string value) {
      withDashes(value);
      if (!StringRef(value).starts_with(checkpointing))
        return false;
      subcommand = {StringRef(value).lower(), {}, flag.line};
      return true;
    });
    withDashes(flag.name);
    if (StringRef(flag.name).starts_with(checkpointing))
      flag.name = StringRef(flag.name).lower();
    flags.push_back(std::move(flag));
    if (!subcommand.name.empty())
      flags.push_back(std::move(subcommand));
  }
  command.flags = std::move(flags);
  return command;
}

/// Fills a run from flags; the first fault ends it.
class Reader {
public:
  Reader(const Command &command, const ReadOptions &options)
      : command(command), options(options), flags(command) {}

  ReadRun read();

private:
  std::string variable(StringRef name) const;
  bool readSwitch(StringRef section, StringRef key, bool ifAbsent);
  bool readDegree(StringRef key, int64_t &value, int64_t least = 1);
  void refuseOtherVersions();
  void readModel();
  void readDegrees();
  void readDevices();
  void readState();
  void readBatch();
  void readPipeline();
  void readModules(const Flag &flag);
  void readEvenStages(bool isLoop);
  void readKernels();
  void readCheckpointing();
  void noteRest();
  void note(const Twine &text) { result.notes.push_back(text.str()); }

  const Command &command;
  const ReadOptions &options;
  FlagReader flags;
  TorchtitanModel defaults;
  int64_t replicate = 1, shard = -1;
  ReadRun result;
  Run &run = result.run;
  Transformer &model = run.model;
  Layout &layout = run.layout;
  Execution &execution = run.execution;
};

std::string Reader::variable(StringRef name) const {
  for (const auto &[key, value] : command.environment)
    if (name == key)
      return value;
  return "";
}

/// `--section.key` or `--section.no-key`; the later one counts.
bool Reader::readSwitch(StringRef section, StringRef key, bool ifAbsent) {
  const std::string on = ("--" + section + "." + key).str();
  const std::string off = ("--" + section + ".no-" + key).str();
  const bool isOn = flags.isSet(on), isOff = flags.isSet(off);
  if (isOn && isOff)
    return flags.find(on) > flags.find(off);
  return isOn || (ifAbsent && !isOff);
}

bool Reader::readDegree(StringRef key, int64_t &value, int64_t least) {
  return flags.read(("--parallelism." + key).str(), value, least);
}

void Reader::refuseOtherVersions() {
  for (const KeyMeaning &key : otherVersions)
    if (const Flag *flag = flags.find(key.name))
      flags.failAt(*flag, key.meaning + ": the flags are those of " +
                              torchtitanVersion);
}

void Reader::readModel() {
  std::string module = flags.word("--module");
  std::string config = flags.word("--config");
  if (module.empty())
    module = variable("MODULE");
  if (config.empty())
    config = variable("CONFIG");
  if (config.empty()) {
    flags.fail("--config is missing: it names the model");
    return;
  }
  const auto *found =
      llvm::find_if(torchtitanModels(), [&](const TorchtitanModel &known) {
        return config == known.config && module == known.module;
      });
  if (found != torchtitanModels().end()) {
    defaults = *found;
  } else if (options.model) {
    defaults.sizes = *options.model;
    note("the defaults of --config " + config +
         " are not known; those of torchtitan count where a flag is missing");
  } else {
    std::vector<std::string> names;
    for (const TorchtitanModel &known : torchtitanModels())
      names.emplace_back(known.config);
    flags.fail("--module '" + Twine(module) + "' --config '" + config +
               "' is not known here, and flags do not have the sizes of a "
               "model; give the model, or one of " +
               llvm::join(names, ", "));
    return;
  }
  model = defaults.sizes;
  execution.precision = defaults.precision;
  if (options.vocab > 0)
    model.vocab = options.vocab;
  flags.read("--training.seq-len", model.sequence);
}

void Reader::readDegrees() {
  layout.tensor = defaults.tensor;
  layout.expert = defaults.expert;
  readDegree("tensor-parallel-degree", layout.tensor);
  readDegree("context-parallel-degree", layout.context);
  readDegree("expert-parallel-degree", layout.expert);
  readDegree("pipeline-parallel-degree", layout.pipeline);
  readDegree("data-parallel-replicate-degree", replicate);
  readDegree("data-parallel-shard-degree", shard, -1);
  layout.sequenceParallel =
      readSwitch("parallelism", "enable-sequence-parallel", true) &&
      layout.tensor > 1;
  // It has no effect on a model without experts.
  if (!model.experts)
    layout.expert = 1;
  readDevices();
}

void Reader::readDevices() {
  const int64_t devices = flags.readDevices(options.devices);
  if (devices == 0)
    return;
  int64_t rest = devices;
  bool divides = true;
  for (int64_t degree :
       {layout.tensor, layout.context, layout.pipeline, replicate}) {
    divides = divides && rest % degree == 0;
    rest /= degree;
  }
  if (shard < 1)
    shard = rest;
  if (!divides || shard != rest) {
    flags.fail("replicate " + Twine(replicate) + ", shard " + Twine(shard) +
               ", context " + Twine(layout.context) + ", tensor " +
               Twine(layout.tensor) + " and pipeline " +
               Twine(layout.pipeline) + " on " + countOf(devices, "device") +
               "; torchtitan needs their product to be the world size");
    return;
  }
  layout.data = replicate * shard;
}

void Reader::readState() {
  const size_t keeps = flags.choose("--parallelism.fsdp-reshard-after-forward",
                                    {"default", "always", "never"});
  if (shard * layout.context == 1) {
    layout.zero = 0;
    return;
  }
  layout.zero = keeps == 1 || (keeps == 0 && layout.pipeline == 1) ? 3 : 2;
  if (replicate > 1)
    note("state is shared by " + Twine(shard) + " of " + Twine(layout.data) +
         " replicas (data_parallel_replicate_degree " + Twine(replicate) +
         "); the costs are those of state that all share");
}

void Reader::readBatch() {
  int64_t local = defaults.localBatch, global = -1;
  flags.read("--training.local-batch-size", local);
  flags.read("--training.global-batch-size", global, -1);
  layout.globalBatch = global > 0 ? global : local * layout.data;
  layout.microbatch = local;
  if (layout.globalBatch > maxNumber)
    flags.fail("--training.local_batch_size " + Twine(local) + " on " +
               countOf(layout.data, "replica") + ": a step has more than " +
               Twine(maxNumber) + " samples");
  int64_t microbatch = 1;
  readDegree("pipeline-parallel-microbatch-size", microbatch);
  if (layout.globalBatch % (local * layout.data) != 0) {
    flags.fail("--training.global_batch_size " + Twine(layout.globalBatch) +
               " does not divide by " + Twine(local * layout.data) +
               ", --training.local_batch_size times " +
               countOf(layout.data, "replica"));
    return;
  }
  if (layout.pipeline == 1)
    return;
  layout.microbatch = microbatch;
  if (local % microbatch != 0)
    flags.fail("--training.local_batch_size " + Twine(local) +
               " does not divide by "
               "--parallelism.pipeline_parallel_microbatch_size " +
               Twine(microbatch));
  else if (layout.globalBatch > local * layout.data)
    note("a step runs the pipeline " +
         Twine(layout.globalBatch / (local * layout.data)) +
         " times; the costs are those of one run with all micro-batches");
}

void Reader::readPipeline() {
  const Flag *modules = flags.find("--parallelism.module-fqns-per-model-part");
  const size_t schedule =
      flags.choose("--parallelism.pipeline-parallel-schedule",
                   {"1F1B", "GPipe", "Interleaved1F1B", "LoopedBFS",
                    "InterleavedZeroBubble"},
                   defaults.isInterleaved ? 2 : 0);
  const bool isLoop = schedule >= 2;
  if (layout.pipeline > 1 && schedule != 0 && schedule != 2)
    note("the costs are those of 1F1B or Interleaved1F1B");
  if (modules && modules->values != std::vector<std::string>{"None"}) {
    if (layout.pipeline > 1)
      readModules(*modules);
    return;
  }
  readEvenStages(isLoop);
}

void Reader::readModules(const Flag &flag) {
  std::vector<int64_t> layers;
  for (StringRef stage : flag.values) {
    llvm::SmallVector<StringRef> names;
    stage.split(names, ',');
    layers.push_back(llvm::count_if(
        names, [](StringRef name) { return name.starts_with("layers."); }));
  }
  const auto stages = int64_t(layers.size());
  if (stages == 0 || stages % layout.pipeline != 0 ||
      std::accumulate(layers.begin(), layers.end(), int64_t(0)) !=
          model.layers) {
    flags.failAt(flag, countOf(model.layers, "layer") +
                           " in lists, a multiple of the " +
                           countOf(layout.pipeline, "rank"));
    return;
  }
  layout.chunks = stages / layout.pipeline;
  setStageLayers(run, std::move(layers));
}

/// As torchtitan does: the first stages get the layers that are left over.
void Reader::readEvenStages(bool isLoop) {
  int64_t ofStage = 0, ofFirst = 1, ofLast = 1;
  const bool isGiven =
      readDegree("pipeline-parallel-layers-per-stage", ofStage);
  readDegree("pipeline-parallel-first-stage-less-layers", ofFirst, 0);
  readDegree("pipeline-parallel-last-stage-less-layers", ofLast, 0);
  if (layout.pipeline == 1 || flags.hasFailed())
    return;
  const int64_t all = model.layers + ofFirst + ofLast;
  const int64_t stages = isGiven ? (all + ofStage - 1) / ofStage
                                 : layout.pipeline * (isLoop ? 2 : 1);
  const int64_t least = all / stages;
  if (stages > model.layers + 2 || stages % layout.pipeline != 0 ||
      (stages / layout.pipeline > 1) != isLoop || ofFirst > least ||
      ofLast > least) {
    flags.fail(countOf(model.layers, "layer") + ", " + Twine(ofFirst) +
               " fewer on the first stage and " + Twine(ofLast) +
               " on the last, make " + countOf(stages, "stage") + " on " +
               countOf(layout.pipeline, "rank") +
               "; torchtitan needs one stage a rank with 1F1B, and the same "
               "number of 2 or more with looped schedules");
    return;
  }
  layout.chunks = stages / layout.pipeline;
  std::vector<int64_t> layers(size_t(stages), least);
  for (int64_t s = 0; s < all % stages; ++s)
    ++layers[size_t(s)];
  layers.front() -= ofFirst;
  layers.back() -= ofLast;
  setStageLayers(run, std::move(layers));
}

void Reader::readKernels() {
  execution.stack = Stack::Fsdp;
  // training.mixed_precision_reduce has no other value.
  execution.gradientBytes = 4;
  const bool isCompiled = readSwitch("compile", "enable", defaults.isCompiled);
  execution.overlapsTensor =
      readSwitch("compile", "enable-async-tensor-parallel",
                 defaults.overlapsTensor) &&
      layout.tensor > 1;
  if (execution.overlapsTensor && !isCompiled)
    flags.fail("--compile.enable_async_tensor_parallel without "
               "--compile.enable; torchtitan needs it");
  else if (!isCompiled)
    note("the model is not compiled; the costs are those of compiled layers");
  const bool hasPipeline = layout.pipeline > 1;
  if (!readSwitch("training", "disable-cuda-graphs", defaults.disablesGraphs) &&
      (hasPipeline || layout.expert > 1))
    flags.fail(
        (hasPipeline
             ? "a pipeline of " + countOf(layout.pipeline, "rank")
             : "an expert group of " + countOf(layout.expert, "device")) +
        " with CUDA graphs; torchtitan needs "
        "--training.disable_cuda_graphs");
  if (flags.choose("--training.mixed-precision-param",
                   {"bfloat16", "float32"}) == 1)
    flags.failAt(*flags.find("--training.mixed-precision-param"),
                 "bfloat16: fp32 has no costs here");
}

void Reader::readCheckpointing() {
  layout.recompute = defaults.recompute;
  for (const Flag &flag : command.flags) {
    StringRef name = flag.name;
    if (!name.consume_front(checkpointing))
      continue;
    flags.find(flag.name);
    if (name == "none")
      layout.recompute = Recompute::None;
    else if (name == "full")
      layout.recompute = Recompute::Full;
    else if (name == "selective")
      layout.recompute = Recompute::PerOperation;
    else
      flags.fail(flags.placeOf(flag) + flag.name +
                 " has no costs here; expected none, selective or full");
  }
}

/// Other sections have no costs.
void Reader::noteRest() {
  for (StringRef name : plainKeys)
    flags.find(name);
  std::vector<std::string> others;
  for (const Flag *flag : flags.rest()) {
    const StringRef name = flag->name;
    const auto *cost = llvm::find_if(
        costKeys, [&](const KeyMeaning &key) { return key.name == name; });
    if (cost != std::end(costKeys)) {
      note(name + (flag->values.empty() ? "" : " ") +
           llvm::join(flag->values, " ") +
           " is not in the costs: " + cost->meaning);
      continue;
    }
    const bool isRead = name.starts_with("--training.") ||
                        name.starts_with("--parallelism.") ||
                        name.starts_with("--compile.");
    if (!isRead && name.contains('.')) {
      others.push_back(flag->name);
      continue;
    }
    if (!isRead && (name == "--hf-assets-path" || name == "--dump-folder")) {
      others.push_back(flag->name);
      continue;
    }
    const std::string meant = flags.intended(*flag);
    flags.fail(flags.placeOf(*flag) + flag->name + " is no flag of " +
               torchtitanVersion +
               (meant.empty() ? "" : "; did you mean " + meant + "?"));
    return;
  }
  if (!others.empty())
    note("not read: " + llvm::join(others, ", "));
}

ReadRun Reader::read() {
  run.name = options.name;
  using Step = void (Reader::*)();
  for (Step step :
       {&Reader::refuseOtherVersions, &Reader::readModel, &Reader::readDegrees,
        &Reader::readState, &Reader::readBatch, &Reader::readPipeline,
        &Reader::readKernels, &Reader::readCheckpointing, &Reader::noteRest}) {
    (this->*step)();
    if (flags.hasFailed())
      break;
  }
  result.fault = flags.fault();
  return std::move(result);
}

} // namespace

ReadRun launch::readTorchtitanArguments(StringRef text,
                                        const ReadOptions &options) {
  const ReadCommand read = readCommand(text);
  ReadRun result;
  if (read.fault.empty()) {
    const Command command = normalized(read.command);
    return Reader(command, options).read();
  }
  result.fault = read.fault;
  return result;
}
