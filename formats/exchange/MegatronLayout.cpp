//===- MegatronLayout.cpp - Stages as Megatron-LM writes them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/MegatronLayout.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

std::string textOf(const StageLayers &stage) {
  std::string text = stage.hasEmbedding ? "E" : "";
  // Its parser repeats one letter with t*4.
  if (stage.blocks > 3)
    text += "t*" + std::to_string(stage.blocks);
  else
    text.append(size_t(stage.blocks), 't');
  return text + (stage.hasHead ? "L" : "");
}

/// A forward or backward of a chunk, in the order in which a rank makes them.
struct Turn {
  int64_t chunk = 0, microbatch = 0;
};

} // namespace

std::string exchange::megatronLayout(llvm::ArrayRef<StageLayers> layers) {
  std::string layout;
  for (size_t i = 0; i < layers.size();) {
    const std::string stage = textOf(layers[i]);
    size_t end = i + 1;
    while (end < layers.size() && textOf(layers[end]) == stage)
      ++end;
    // The last stage has no border after it.
    const size_t repeated = std::min(end, layers.size() - 1) - i;
    if (repeated > 1) {
      layout += "(" + stage + "|)*" + std::to_string(repeated);
      i += repeated;
      continue;
    }
    layout += stage + (i + 1 < layers.size() ? "|" : "");
    ++i;
  }
  return layout;
}

std::vector<MegatronFlag> exchange::megatronStateFlags(ShardedState state) {
  std::vector<MegatronFlag> flags;
  if (state != ShardedState::None)
    flags.emplace_back("--use-distributed-optimizer", "");
  if (state < ShardedState::Gradients)
    return flags;
  flags.emplace_back("--use-megatron-fsdp", "");
  flags.emplace_back("--data-parallel-sharding-strategy",
                     state == ShardedState::Gradients ? "optim_grads"
                                                      : "optim_grads_params");
  flags.emplace_back("--ckpt-format", "fsdp_dtensor");
  flags.emplace_back("--no-gradient-accumulation-fusion", "");
  return flags;
}

std::string exchange::whyNoGroups(const MegatronGroups &groups) {
  const auto [ranks, chunks, microbatches, size] = groups;
  if (chunks == 1)
    return "";
  const std::string who = "Megatron-LM's interleaved schedule";
  if (ranks == 1)
    return countOf(chunks, "stage") + " are on 1 rank; " + who +
           " needs 2 ranks or more";
  if (microbatches < ranks)
    return "an iteration has " + countOf(microbatches, "micro-batch") + "; " +
           who + " needs at least as many as there are ranks, " +
           std::to_string(ranks);
  const std::string rule =
      "; " + who + " needs " + std::to_string(ranks) +
      " or more in each group, as many as there are ranks; one group of " +
      std::to_string(microbatches) + " would do";
  if (size > microbatches)
    return "a group of " + countOf(size, "micro-batch") +
           " is larger than the iteration, which has " +
           std::to_string(microbatches) + rule;
  const int64_t last = microbatches % size;
  if (size >= ranks && (last == 0 || last >= ranks))
    return "";
  return "the groups have " + countOf(size, "micro-batch") +
         (last == 0
              ? std::string()
              : ", and the last group of the " + std::to_string(microbatches) +
                    " has " + std::to_string(last)) +
         rule;
}

Schedule exchange::megatronSchedule(const Problem &problem, int64_t groupSize) {
  const int64_t ranks = problem.numRanks(),
                chunks = problem.numStages() / ranks,
                microbatches = problem.microbatches;
  std::vector<Turn> turns;
  for (int64_t begin = 0; begin < microbatches; begin += groupSize)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t i = begin; i < std::min(begin + groupSize, microbatches);
           ++i)
        turns.push_back({chunk, i});
  const auto total = int64_t(turns.size());
  Schedule schedule;
  schedule.reserve(2 * total * ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto append = [&](ActionKind kind, int64_t turn) {
      const bool isForward = kind == ActionKind::Forward;
      const int64_t chunk =
          isForward ? turns[turn].chunk : chunks - 1 - turns[turn].chunk;
      schedule.append(
          Action(kind, chunk * ranks + rank, turns[turn].microbatch));
    };
    const int64_t behind = ranks - rank - 1;
    const int64_t warmup = std::min(
        total, chunks == 1 ? behind : 2 * behind + (chunks - 1) * groupSize);
    for (int64_t turn = 0; turn < warmup; ++turn)
      append(ActionKind::Forward, turn);
    for (int64_t turn = warmup; turn < total; ++turn) {
      append(ActionKind::Forward, turn);
      append(ActionKind::Backward, turn - warmup);
    }
    for (int64_t turn = total - warmup; turn < total; ++turn)
      append(ActionKind::Backward, turn);
    schedule.endRank();
  }
  return schedule;
}
