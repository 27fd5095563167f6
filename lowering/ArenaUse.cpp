//===- ArenaUse.cpp - Bytes of an arena by purpose ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"

#include "schedule/model/BufferNumbers.h"

namespace rondo {

namespace {

/// Bytes of a rank's pools by the purpose of their buffers.
struct ArenaUse {
  enum Part {
    Weights,
    Gradients,
    Moments,
    ControlAndData,
    Workspace,
    Staging,
    Activations,
    Messages,
    /// Pools whose slots hold both activations and messages, one after another.
    Either,
    numParts
  };
  int64_t bytes[numParts] = {};

  int64_t total() const {
    int64_t sum = 0;
    for (int64_t part : bytes)
      sum += part;
    return sum;
  }
};

ArenaUse::Part partOf(BufferKind kind) {
  switch (kind) {
  case BufferKind::Weights:
  case BufferKind::GatheredWeights:
    return ArenaUse::Weights;
  case BufferKind::Gradients:
  case BufferKind::UnreducedGradients:
    return ArenaUse::Gradients;
  case BufferKind::Moments:
  case BufferKind::WeightChanges:
    return ArenaUse::Moments;
  case BufferKind::Control:
  case BufferKind::Data:
    return ArenaUse::ControlAndData;
  case BufferKind::Workspace:
    return ArenaUse::Workspace;
  case BufferKind::SavedForInputGrad:
  case BufferKind::SavedForWeightGrad:
  case BufferKind::Checkpoints:
  case BufferKind::RecomputedForInputGrad:
  case BufferKind::RecomputedForWeightGrad:
  case BufferKind::KeptForWeightGrad:
  case BufferKind::OffloadedForInputGrad:
  case BufferKind::OffloadedForWeightGrad:
  case BufferKind::LoadedForInputGrad:
  case BufferKind::LoadedForWeightGrad:
  case BufferKind::OnHost:
    return ArenaUse::Activations;
  case BufferKind::Input:
  case BufferKind::Output:
  case BufferKind::OutputGrad:
  case BufferKind::InputGrad:
  case BufferKind::RecomputedInput:
  case BufferKind::RecomputedOutput:
    break;
  }
  return ArenaUse::Messages;
}

ArenaUse useOf(const LoweredProgram &lowered, int32_t rank) {
  const Program &program = lowered.program;
  const BufferNumbers buffers(lowered.executing);
  std::vector<int> partOfPool(program.pools.size(), -1);
  for (size_t k = 0; k < program.places.size(); ++k) {
    const Place &place = program.places[k];
    if (place.pool < 0)
      continue;
    int part = partOf(buffers[static_cast<int32_t>(k)].kind);
    int &known = partOfPool[place.pool];
    known = known < 0 || known == part ? part : int(ArenaUse::Either);
  }
  for (int32_t pool : program.staging)
    if (pool >= 0)
      partOfPool[pool] = ArenaUse::Staging;
  ArenaUse use;
  for (size_t p = 0; p < program.pools.size(); ++p)
    if (const Pool &pool = program.pools[p];
        partOfPool[p] >= 0 && pool.rank == rank && !pool.isOnHost)
      use.bytes[partOfPool[p]] += pool.slotBytes * pool.slots;
  return use;
}

} // namespace

const char *wordsFor(ProgramKind kind) {
  switch (kind) {
  case ProgramKind::Sequential:
    return "the sequential reference";
  case ProgramKind::Evaluation:
    return "the evaluation";
  case ProgramKind::Pipeline:
    break;
  }
  return "the pipeline";
}

std::string describeArena(const std::vector<LoweredProgram> &programs,
                          int32_t rank) {
  constexpr const char *names[] = {
      "weights",          "gradients", "optimizer state",
      "control and data", "workspace", "staging",
      "activations",      "messages",  "activations and messages"};
  ArenaUse fullest;
  ProgramKind kind = ProgramKind::Pipeline;
  for (auto lowered = programs.rbegin(); lowered != programs.rend();
       ++lowered) {
    ArenaUse use = useOf(*lowered, rank);
    if (use.total() <= fullest.total())
      continue;
    fullest = use;
    kind = lowered->kind;
  }
  std::string text;
  for (int part = 0; part < ArenaUse::numParts; ++part)
    if (int64_t bytes = fullest.bytes[part]; bytes > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(bytes) +
              (text.empty() ? " bytes of " : " of ") + names[part];
  if (kind != ProgramKind::Pipeline)
    text += std::string(", in ") + wordsFor(kind);
  return text;
}

} // namespace rondo
