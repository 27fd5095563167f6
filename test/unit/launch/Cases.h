//===- Cases.h - Runs for both tools ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unit tests write and read these; test/clients/command_lines.py gives
// what is written to the tools' own parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_LAUNCH_CASES_H
#define RONDO_TEST_UNIT_LAUNCH_CASES_H

#include "planning/groups/Run.h"
#include "test/unit/planning/GroupExamples.h"

#include <string>
#include <vector>

namespace rondo::launch {

using groups::llama;
using groups::llama70B;
inline groups::Transformer llama8B() { return llama(32, 4096, 32, 14336); }
inline groups::Transformer llama405B() { return llama(126, 16384, 128, 53248); }

inline groups::Transformer gpt() {
  groups::Transformer model;
  model.layers = 24;
  model.hidden = 2048;
  model.heads = model.keyHeads = 16;
  model.queryWidth = model.valueWidth = 128;
  model.ffn = 8192;
  model.vocab = 51200;
  model.sequence = 2048;
  model.isTied = model.hasDropout = true;
  return model;
}

inline groups::Transformer mixtral() {
  groups::Transformer model = llama8B();
  model.vocab = 32000;
  model.experts = groups::Experts{8, 2, 14336, 0, 0};
  return model;
}

inline groups::Transformer qwen30B() {
  groups::Transformer model = llama(48, 2048, 32, 0);
  model.keyHeads = 4;
  model.vocab = 151936;
  model.sequence = 4096;
  model.experts = groups::Experts{128, 8, 768, 0, 0};
  return model;
}

inline groups::Transformer deepseek() {
  groups::Transformer model = llama(61, 7168, 128, 18432);
  model.keyHeads = 128;
  model.queryWidth = 192;
  model.vocab = 129280;
  model.sequence = 4096;
  model.latent = groups::LatentAttention{1536, 512, 64};
  model.experts = groups::Experts{256, 8, 2048, 1, 3};
  return model;
}

/// tp, cp, pp, chunks, dp; micro-batches of 1 sample.
inline groups::Run runOf(const char *name, groups::Transformer model,
                         std::vector<int64_t> degrees, int64_t globalBatch) {
  groups::Run run;
  run.name = name;
  run.model = std::move(model);
  run.layout.tensor = degrees[0];
  run.layout.context = degrees[1];
  run.layout.pipeline = degrees[2];
  run.layout.chunks = degrees[3];
  run.layout.data = degrees[4];
  run.layout.globalBatch = globalBatch;
  run.layout.sequenceParallel = degrees[0] > 1;
  run.layout.zero = 1;
  return run;
}

/// Runs of Megatron as its reader gives them.
std::vector<groups::Run> megatronRuns();
/// Runs of torchtitan as its reader gives them.
std::vector<groups::Run> torchtitanRuns();

/// A run that a tool refuses, with words of Rondo's fault and of the tool's.
struct RefusedRun {
  groups::Run run;
  const char *fault = "";
  const char *theirs = "";
};
/// The layout's own fault, or the tool's. Even cuts are the rule of the former,
/// so a list of stages has only the latter.
inline std::string faultOf(const groups::Run &run, std::string ofTool) {
  std::string fault;
  if (run.stageLayers.empty())
    fault = groups::fault(run.model, run.layout);
  return fault.empty() ? std::move(ofTool) : fault;
}

/// Those whose flags Megatron's validation rejects.
std::vector<RefusedRun> megatronRefusals();
/// Those whose flags torchtitan's validation rejects.
std::vector<RefusedRun> torchtitanRefusals();

} // namespace rondo::launch

#endif // RONDO_TEST_UNIT_LAUNCH_CASES_H
