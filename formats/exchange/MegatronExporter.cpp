//===- MegatronExporter.cpp - Flags of Megatron-LM ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Megatron-LM takes no file with a schedule. It runs 1F1B, and an interleaved
// schedule with a group size; what differs from these cannot be said.
//
//===----------------------------------------------------------------------===//

#include "formats/StageEdges.h"
#include "formats/exchange/Adapt.h"
#include "formats/exchange/MegatronLayout.h"
#include "formats/exchange/OnePipeline.h"
#include "formats/exchange/Placement.h"
#include "schedule/transforms/Recomputed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

namespace {

/// The schedule with every adjacent I and W as B; a W of its own stays.
Schedule withWholeBackwards(const Schedule &schedule) {
  Schedule whole;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    const ActionRange order = schedule.rank(rank);
    for (int64_t i = 0; i < order.size(); ++i) {
      const bool isWhole = order[i].kind() == ActionKind::InputGrad &&
                           i + 1 < order.size() &&
                           order[i + 1] == Action(ActionKind::WeightGrad,
                                                  int64_t(order[i].subject),
                                                  int64_t(order[i].index));
      whole.append(isWhole
                       ? Action(ActionKind::Backward, int64_t(order[i].subject),
                                int64_t(order[i].index))
                       : order[i]);
      i += isWhole;
    }
    whole.endRank();
  }
  return whole;
}

/// Forwards of rank 0's first chunk before the first of its second.
int64_t groupSizeOf(const Schedule &schedule) {
  int64_t size = 0;
  for (Action action : schedule.rank(0))
    if (action.kind() == ActionKind::Forward) {
      if (action.subject != 0)
        break;
      ++size;
    }
  return size;
}

/// The first difference of two schedules of one problem; nothing if they are
/// equal.
std::optional<Fault> compare(const Problem &problem, const Schedule &given,
                             const Schedule &megatron, const Twine &what) {
  for (int32_t rank = 0; rank < given.numRanks(); ++rank) {
    const ActionRange mine = given.rank(rank), theirs = megatron.rank(rank);
    for (int64_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
      if (mine[i] != theirs[i])
        return fail("rank " + Twine(rank) + " runs " +
                    actionName(mine[i], problem) + " where " + what + " runs " +
                    actionName(theirs[i], problem) +
                    "; Megatron-LM has 1F1B and interleaved schedules alone, "
                    "without weight gradients of their own");
    if (mine.size() != theirs.size())
      return fail("rank " + Twine(rank) + " has " +
                  countOf(mine.size(), "task") + ", not " +
                  Twine(theirs.size()) + " as in " + what);
  }
  return std::nullopt;
}

/// The flags of what the replicas of the pipeline share.
std::optional<Fault> writeState(const ExchangedSchedule &schedule,
                                llvm::raw_ostream &os) {
  const Surroundings &around = schedule.around;
  const Result<ShardedState> state = stateOfAll(schedule, "Megatron-LM");
  if (!state)
    return state.fault();
  for (auto [flag, value] : megatronStateFlags(*state))
    os << flag << (*value ? " " : "") << value << "\n";
  if (around.shards > 1 && around.replicas > around.shards)
    os << "--num-distributed-optimizer-instances "
       << around.replicas / around.shards << "\n";
  return std::nullopt;
}

/// The flags of recomputation: of all blocks, or of as many first ones in each
/// stage.
std::optional<Fault> writeRecompute(const ExchangedSchedule &schedule,
                                    llvm::raw_ostream &os,
                                    std::vector<std::string> &notes) {
  const Result<bool> areBlocks =
      recomputesBlocks(schedule, "Megatron-LM", notes);
  if (!areBlocks)
    return areBlocks.fault();
  if (!*areBlocks)
    return std::nullopt;
  const char *method = "uniform";
  int64_t number = 1;
  if (firstThatKeeps(schedule) >= 0) {
    method = "block";
    number = 0;
    for (const StageLayers &stage : schedule.layers)
      number = std::max(number, stage.recomputed);
    for (auto [place, stage] : llvm::enumerate(schedule.layers))
      if (stage.recomputed != std::min(number, stage.blocks) ||
          !stage.recomputesFirst)
        return failIn(
            int32_t(place),
            "stage " + Twine(place) + " recomputes " + Twine(stage.recomputed) +
                " of its " + countOf(stage.blocks, "block") +
                (stage.recomputesFirst ? "" : ", not the first ones") +
                ", and another stage " + Twine(number) +
                "; Megatron-LM recomputes all, or as many first ones in each "
                "stage (--recompute-method block)");
  }
  os << "--recompute-granularity full\n--recompute-method " << method
     << "\n--recompute-num-layers " << number << "\n";
  notes.push_back(noteOfBlocks("Megatron-LM"));
  return std::nullopt;
}

void noteUneven(const Problem &problem, std::vector<std::string> &notes) {
  if (!problem.isUneven())
    return;
  if (!problem.unevenBytes.empty())
    notes.push_back("messages differ by micro-batch: set variable_seq_lengths "
                    "in Megatron-LM's configuration, and --seq-length to the "
                    "longest micro-batch");
  notes.push_back("micro-batches differ: without --calculate-per-token-loss "
                  "Megatron-LM weighs each micro-batch equally, whatever its "
                  "number of tokens");
}

std::optional<Fault> write(const ExchangedSchedule &given,
                           const ExportOptions &, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  const Problem &problem = given.problem;
  const PlacementKind placement = placementOf(problem);
  if (placement != PlacementKind::Linear && placement != PlacementKind::Loop)
    return fail("Megatron-LM places stage s on rank s mod P; here " +
                describePlacement(problem));
  ExchangedSchedule schedule = given;
  dropSteps(schedule, notes);
  dropLinkOrders(schedule, notes);
  const Schedule whole = withWholeBackwards(schedule.schedule);
  const int64_t ranks = problem.numRanks(),
                chunks = problem.numStages() / ranks,
                microbatches = problem.microbatches;
  const int64_t groupSize = chunks == 1 ? microbatches : groupSizeOf(whole);
  if (std::string why = whyNoGroups({ranks, chunks, microbatches, groupSize});
      !why.empty())
    return fail(why);
  const std::string what = chunks == 1
                               ? "its 1F1B"
                               : "its interleaved schedule in groups of " +
                                     std::to_string(groupSize);
  if (std::optional<Fault> fault =
          compare(problem, whole, megatronSchedule(problem, groupSize), what))
    return fault;
  os << "--pipeline-model-parallel-size " << ranks << "\n";
  if (!given.layers.empty()) {
    os << "--pipeline-model-parallel-layout '" << megatronLayout(given.layers)
       << "'\n";
  } else {
    if (chunks > 1)
      os << "--num-virtual-stages-per-pipeline-rank " << chunks << "\n";
    notes.push_back("the layers of the stages are not known, and these flags "
                    "cut a model evenly; for another cut add "
                    "--pipeline-model-parallel-layout");
  }
  if (chunks > 1)
    os << "--microbatch-group-size-per-virtual-pipeline-stage " << groupSize
       << "\n";
  if (!given.shared.has_value())
    notes.push_back("whether the head has the embedding's weight is not known: "
                    "add --untie-embeddings-and-output-weights if it does not");
  else if (!*given.shared)
    os << "--untie-embeddings-and-output-weights\n";
  if (problem.statesSamples)
    os << "--micro-batch-size " << problem.samples << "\n"
       << "--global-batch-size "
       << problem.samples * microbatches * given.around.replicas << "\n";
  else
    notes.push_back("--global-batch-size is " + std::to_string(microbatches) +
                    " times --micro-batch-size, times the data-parallel size");
  noteUneven(problem, notes);
  if (std::optional<Fault> fault = writeState(given, os))
    return fault;
  return writeRecompute(given, os, notes);
}

/// A layout is of stages and what they hold: replicas, recompute and sharded
/// state change nothing in it.
std::optional<Fault> writeLayout(const ExchangedSchedule &schedule,
                                 const ExportOptions &, llvm::raw_ostream &os,
                                 std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  if (const int32_t stage = firstOutsideChain(problem); stage >= 0)
    return fail("the stages are no chain, in which each feeds the next alone, "
                "since stage " +
                Twine(stage) +
                (stage == 0
                     ? " is fed by another"
                     : " is not fed by stage " + Twine(stage - 1) + " alone") +
                "; Megatron-LM's layouts have chains");
  const int32_t groups = numGroupsInLoop(problem);
  if (groups == 0)
    return fail("a layout places stage s on rank s mod P, or on the s mod P-th "
                "group of its replicas; here " +
                describePlacement(problem));
  if (groups == 1 && problem.numStages() > 1)
    return fail(whyNoGroups({1, problem.numStages(), problem.microbatches, 1}));
  if (schedule.layers.empty())
    return fail("a layout says which layers a stage has, so it needs the plan "
                "(.mlir) of a model with an embedding, blocks and a head");
  os << megatronLayout(schedule.layers) << "\n";
  std::string without;
  for (auto [isThere, what] :
       {std::pair(problem.replicas.isReplicated(), "replicas"),
        {problem.replicas.areSharded(), "sharded state"},
        {hasRecomputation(problem), "recompute"}})
    if (isThere)
      without += (without.empty() ? "" : ", ") + std::string(what);
  if (!without.empty())
    notes.push_back("a layout does not say " + without +
                    "; its --pipeline-model-parallel-size is " +
                    std::to_string(groups));
  return std::nullopt;
}

} // namespace

Exporter exchange::megatronExporter() {
  return {"megatron",
          "txt",
          "the flags of Megatron-LM that give this schedule, where it has it",
          {Part::Schedule},
          {"pad"},
          write,
          /*hasWindows=*/false,
          "Megatron-LM's schedules",
          /*hasCopies=*/false,
          UnevenForm::Any,
          /*ascends=*/true};
}

Exporter exchange::megatronLayoutExporter() {
  return {"megatron-layout",
          "txt",
          "the stages' layers as --pipeline-model-parallel-layout takes them",
          {Part::Layers},
          {},
          writeLayout,
          /*hasWindows=*/false,
          /*who=*/nullptr,
          /*hasCopies=*/false,
          UnevenForm::Any};
}
