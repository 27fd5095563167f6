//===- Print.cpp - Prints runs with their flags as JSON -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Cases.h"

#include "formats/launch/MegatronArguments.h"
#include "formats/launch/StageCut.h"
#include "formats/launch/TorchtitanConfig.h"
#include "formats/launch/TorchtitanModels.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace rondo;
using namespace rondo::launch;
using llvm::json::Array;
using llvm::json::Object;

namespace {

Object objectOf(const groups::Transformer &model) {
  const groups::Experts experts = model.experts.value_or(groups::Experts());
  return Object{{"layers", model.layers},
                {"hidden", model.hidden},
                {"heads", model.heads},
                {"key_heads", model.keyHeads},
                {"query_width", model.queryWidth},
                {"value_width", model.valueWidth},
                {"ffn", model.ffn},
                {"vocab", model.vocab},
                {"sequence", model.sequence},
                {"tied", model.isTied},
                {"predictions", model.extraPredictions},
                {"window_layers", model.windowedLayers},
                {"dense_layers", model.numDense()},
                {"experts", experts.count},
                {"experts_per_token", experts.perToken},
                {"expert_ffn", experts.ffn},
                {"shared_experts", experts.shared}};
}

const char *nameOf(groups::Recompute recompute) {
  const char *const names[] = {"none",   "selective", "full",
                               "layers", "norms",     "operation"};
  return names[size_t(recompute)];
}

const char *nameOf(groups::Precision precision) {
  const char *const names[] = {"bf16",      "fp16",  "fp8",
                               "fp8blocks", "mxfp8", "nvfp4"};
  return names[size_t(precision)];
}

Object objectOf(const groups::Run &run, const WrittenRun &written,
                const std::string &fault, const char *theirs) {
  const groups::Layout &layout = run.layout;
  Array words, stages;
  for (const Flag &flag : written.command.flags) {
    words.push_back(flag.name);
    for (const std::string &value : flag.values)
      words.push_back(value);
  }
  for (int64_t layers : cutOf(run).layers)
    stages.push_back(layers);
  Object environment;
  for (const auto &[name, value] : written.command.environment)
    environment[name] = value;
  return Object{{"name", run.name},
                {"model", objectOf(run.model)},
                {"tensor", layout.tensor},
                {"context", layout.context},
                {"expert", layout.expert},
                {"pipeline", layout.pipeline},
                {"chunks", layout.chunks},
                {"data", layout.data},
                {"microbatch", layout.microbatch},
                {"global_batch", layout.globalBatch},
                {"microbatches", layout.microbatches()},
                {"zero", layout.zero},
                {"stages", std::move(stages)},
                {"sequence_parallel", layout.sequenceParallel},
                {"recompute", nameOf(layout.recompute)},
                {"recomputed_layers", layout.recomputedLayers},
                {"precision", nameOf(run.execution.precision)},
                {"overlaps_tensor", run.execution.overlapsTensor},
                {"overlaps_experts", run.execution.overlapsExperts},
                {"offloaded_layers", run.execution.offloadedLayers},
                {"expert_tensor", 1},
                {"arguments", std::move(words)},
                {"environment", std::move(environment)},
                {"devices", layout.devices()},
                {"fault", fault},
                {"theirs", theirs}};
}

Array megatron() {
  Array all;
  for (const groups::Run &run : megatronRuns())
    all.push_back(
        objectOf(run, megatronArguments(run), megatronFault(run), ""));
  for (const auto &[run, fault, theirs] : megatronRefusals())
    all.push_back(objectOf(run, megatronArguments(run),
                           faultOf(run, megatronFault(run)), theirs));
  return all;
}

Array torchtitan() {
  Array all;
  for (const groups::Run &run : torchtitanRuns())
    all.push_back(
        objectOf(run, torchtitanArguments(run), torchtitanFault(run), ""));
  for (const auto &[run, fault, theirs] : torchtitanRefusals())
    all.push_back(objectOf(run, torchtitanArguments(run),
                           faultOf(run, torchtitanFault(run)), theirs));
  return all;
}

Array models() {
  Array all;
  for (const TorchtitanModel &model : torchtitanModels()) {
    all.push_back(Object{{"module", model.module},
                         {"config", model.config},
                         {"model", objectOf(model.sizes)},
                         {"local_batch", model.localBatch},
                         {"tensor", model.tensor},
                         {"expert", model.expert},
                         {"interleaved", model.isInterleaved},
                         {"recompute", nameOf(model.recompute)},
                         {"compiled", model.isCompiled},
                         {"overlaps_tensor", model.overlapsTensor},
                         {"disables_graphs", model.disablesGraphs},
                         {"max_sequence", model.maxSequence}});
  }
  return all;
}

/// Prints the flags of standard input, one a line, that a reader takes for
/// mistyped ones.
int printMistyped(llvm::StringRef tool) {
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  if (!buffer)
    return 1;
  llvm::SmallVector<llvm::StringRef> names;
  (*buffer)->getBuffer().split(names, '\n', -1, /*KeepEmpty=*/false);
  ReadOptions options;
  options.devices = 1;
  for (llvm::StringRef name : names) {
    const ReadRun read =
        tool == "megatron"
            ? readMegatronArguments("--num-layers 1 --hidden-size 8 "
                                    "--num-attention-heads 1 --seq-length 8 "
                                    "--vocab-size 8 --micro-batch-size 1 "
                                    "--bf16 " +
                                        name.str(),
                                    options)
            : readTorchtitanArguments(
                  "--module llama3 --config llama3_8b " + name.str(), options);
    if (llvm::StringRef(read.fault).contains("is no flag of"))
      llvm::outs() << read.fault << "\n";
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2)
    return printMistyped(argv[1]);
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(Object{
                                             {"megatron", megatron()},
                                             {"torchtitan", torchtitan()},
                                             {"torchtitan_models", models()}}))
               << "\n";
  return 0;
}
