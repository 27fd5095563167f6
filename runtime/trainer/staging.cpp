//===- staging.cpp - Samples where layers read them -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/trainer.h"

#include <algorithm>

using namespace rondo::runtime;

void Trainer::stageData(ProgramRun &run, const Sample &sample) {
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const int32_t stage = exe.replicas[h].stage;
    if (embeddingStage < 0 || !programState.holds(h) ||
        (stage != embeddingStage && stage != headStage))
      continue;
    for (int64_t i = 0; i < run.program().microbatches; ++i)
      if (takes(run.program().shares[h], i))
        stageMicrobatch(run, h, i, sample);
  }
}

void Trainer::stageMicrobatch(ProgramRun &run, int32_t replica,
                              int64_t microbatch, const Sample &sample) {
  const ProgramDesc &program = run.program();
  const ShareDesc &share = program.shares[replica];
  const std::vector<LayerBinding> &layers =
      programState.replicas(program)[replica].layers;
  const int64_t sequence = layerOf(embeddingStage, embeddingLayer).sequence;
  const int64_t firstSample =
      microbatch % program.microbatches * program.samples + share.firstSample;
  std::vector<int32_t> window(sequence + 1), inputs(share.samples * sequence),
      targets(share.samples * sequence);
  for (int64_t b = 0; b < share.samples; ++b) {
    sample(firstSample + b, sequence + 1, window.data());
    std::copy(window.begin(), window.end() - 1, inputs.begin() + b * sequence);
    std::copy(window.begin() + 1, window.end(), targets.begin() + b * sequence);
  }
  char *slot = run.data(replica, microbatch);
  auto write = [&](int32_t stage, int32_t layer,
                   const std::vector<int32_t> &values) {
    if (exe.replicas[replica].stage == stage)
      programState.write(replica, slot + layers[layer].dataOffset,
                         values.data(),
                         4 * static_cast<int64_t>(values.size()));
  };
  write(embeddingStage, embeddingLayer, inputs);
  write(headStage, headLayer, targets);
}
