//===- TorchtitanExporter.cpp - The options for a CSV in torchtitan -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchtitan 0.3.0 reads a compute_only CSV and takes its settings as words of
// a command line. Where stages lie follows from the name of a schedule there,
// so only the placements of named schedules can be said; the Python package
// says any in a function that makes the configuration.
//
//===----------------------------------------------------------------------===//

#include "formats/ShellWord.h"
#include "formats/exchange/Adapt.h"
#include "formats/exchange/OnePipeline.h"
#include "formats/exchange/Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

/// The modules of each stage by torchtitan's names, a word a stage.
void writeModules(llvm::ArrayRef<StageLayers> layers, llvm::raw_ostream &os) {
  os << "--parallelism.module_fqns_per_model_part";
  int64_t block = 0;
  for (const StageLayers &stage : layers) {
    std::vector<std::string> names;
    if (stage.hasEmbedding)
      names.push_back("tok_embeddings");
    for (int64_t i = 0; i < stage.blocks; ++i)
      names.push_back("layers." + std::to_string(block++));
    if (stage.hasHead) {
      names.push_back("norm");
      names.push_back("lm_head");
    }
    os << ' ' << llvm::join(names, ",");
  }
  os << '\n';
}

/// Whether some backward is in two parts.
bool hasWeightGradients(const ExchangedSchedule &schedule) {
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank)
    for (Action action : schedule.schedule.rank(rank))
      if (action.isTask() && action.kind() == ActionKind::WeightGrad)
        return true;
  return false;
}

/// The degrees of the replicas of the pipeline.
std::optional<Fault> writeReplicas(const ExchangedSchedule &schedule,
                                   llvm::raw_ostream &os) {
  const Surroundings &around = schedule.around;
  if (around.replicas == 1)
    return std::nullopt;
  const Result<ShardedState> state = stateOfAll(schedule, "torchtitan");
  if (!state)
    return state.fault();
  if (*state == ShardedState::Optimizer)
    return failIn(0, "replicas share the optimizer's state alone "
                     "(sharded<optimizer>); torchtitan shares weights too "
                     "(FSDP): write sharded<gradients> or sharded<weights>, "
                     "or leave it out");
  os << "--parallelism.data_parallel_replicate_degree "
     << around.replicas / around.shards
     << "\n--parallelism.data_parallel_shard_degree " << around.shards << '\n';
  if (*state != ShardedState::None)
    os << "--parallelism.fsdp_reshard_after_forward "
       << (*state == ShardedState::Weights ? "always" : "never") << '\n';
  return std::nullopt;
}

/// The subcommand of recomputation, which comes last.
std::optional<Fault> writeRecompute(const ExchangedSchedule &schedule,
                                    llvm::raw_ostream &os,
                                    std::vector<std::string> &notes) {
  const Result<bool> areBlocks =
      recomputesBlocks(schedule, "torchtitan", notes);
  if (!areBlocks)
    return areBlocks.fault();
  if (!*areBlocks)
    return std::nullopt;
  if (const int32_t stage = firstThatKeeps(schedule); stage >= 0)
    return failIn(stage,
                  "stage " + llvm::Twine(stage) +
                      " does not recompute all of its blocks, and others do; "
                      "torchtitan recomputes all blocks "
                      "(activation-checkpoint:full) or operations of all: "
                      "write `recompute` on all stages or none, or export "
                      "torch-csv and checkpoint activations in the modules");
  os << "activation-checkpoint:full\n";
  notes.push_back(noteOfBlocks("torchtitan"));
  return std::nullopt;
}

/// The flags of the pipeline, with its micro-batches.
std::optional<Fault> writePipeline(const ExchangedSchedule &schedule,
                                   const ExportOptions &options,
                                   llvm::raw_ostream &os,
                                   std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  llvm::StringRef name;
  switch (placementOf(problem)) {
  case PlacementKind::Linear:
    name = "1F1B";
    break;
  case PlacementKind::Loop:
    name = "Interleaved1F1B";
    break;
  case PlacementKind::V:
    name = schedule.overlap.empty() ? "ZBVZeroBubble" : "DualPipeV";
    break;
  case PlacementKind::Other:
    return fail("torchtitan takes the placement from the name of a schedule: "
                "one stage a rank, as many on each in a loop, or two in a V; "
                "here " +
                describePlacement(problem) +
                "; rondo.torchtitan.use() of the Python package takes any, in "
                "the function that makes the configuration");
  }
  // It is not a default, and PP refuses CUDA graphs.
  os << "--training.disable_cuda_graphs\n"
     << "--parallelism.pipeline_parallel_degree " << problem.numRanks() << '\n'
     << "--parallelism.pipeline_parallel_schedule " << name << '\n'
     << "--parallelism.pipeline_parallel_schedule_csv "
     << shellWord(options.csvPath) << '\n';
  if (problem.statesSamples)
    os << "--parallelism.pipeline_parallel_microbatch_size " << problem.samples
       << "\n--training.local_batch_size "
       << int64_t(problem.samples) * problem.microbatches << '\n';
  else
    notes.push_back(
        "also give --parallelism.pipeline_parallel_microbatch_size, and " +
        std::to_string(problem.microbatches) +
        " times that as --training.local_batch_size");
  return std::nullopt;
}

/// The micro-batches of one stage on one rank, which are steps that add up
/// gradients.
void writeSteps(const ExchangedSchedule &schedule, llvm::raw_ostream &os,
                std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  if (problem.statesSamples)
    os << "--training.local_batch_size " << problem.samples
       << "\n--training.global_batch_size "
       << int64_t(problem.samples) * problem.microbatches *
              schedule.around.replicas
       << '\n';
  else
    notes.push_back(
        "also give --training.local_batch_size, and " +
        std::to_string(problem.microbatches * schedule.around.replicas) +
        " times that as --training.global_batch_size");
  notes.push_back("one rank has no pipeline: torchtitan runs one micro-batch "
                  "after another, and adds up their gradients");
}

std::optional<Fault> write(const ExchangedSchedule &schedule,
                           const ExportOptions &options, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  const bool isPipeline = problem.numRanks() > 1;
  if (!isPipeline && problem.numStages() > 1)
    return fail(countOf(problem.numStages(), "stage") +
                " are on 1 rank; torchtitan's pipelines have 2 ranks or more: "
                "put the stages on more ranks, or all layers in one stage");
  if (!isPipeline)
    writeSteps(schedule, os, notes);
  else if (std::optional<Fault> fault =
               writePipeline(schedule, options, os, notes))
    return fault;
  if (std::optional<Fault> fault = writeReplicas(schedule, os))
    return fault;
  if (isPipeline && !schedule.layers.empty())
    writeModules(schedule.layers, os);
  if (std::optional<Fault> fault = writeRecompute(schedule, os, notes))
    return fault;
  if (hasWeightGradients(schedule))
    notes.push_back(
        "with I and W torchtitan 0.3.0 needs a loss that is not chunked, and "
        "no selective activation checkpoints; rondo.torchtitan.use() checks "
        "both");
  if (!isPipeline)
    return std::nullopt;
  notes.push_back("the CSV itself: `rondo export torch-csv`, to " +
                  options.csvPath);
  noteSharedWeight(schedule, notes);
  if (schedule.layers.empty())
    notes.push_back("the layers of the stages are not known; set "
                    "--parallelism.module_fqns_per_model_part to " +
                    countOf(problem.numStages(), "list") +
                    " such as tok_embeddings,layers.0");
  return std::nullopt;
}

} // namespace

Exporter exchange::torchtitanExporter() {
  return {"torchtitan",
          "txt",
          "the command-line options of torchtitan that go with a CSV of tasks",
          {Part::Schedule},
          {"csv", "pad"},
          write,
          /*hasWindows=*/false,
          "torchtitan's schedules",
          /*hasCopies=*/false,
          UnevenForm::EqualMessages,
          /*ascends=*/true};
}
