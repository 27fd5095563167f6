//===- launch.cpp - Fuzzes the readers of command lines -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronArguments.h"
#include "formats/launch/TorchtitanConfig.h"
#include "test/fuzz/Target.h"

#include <numeric>

using namespace rondo;
using namespace rondo::launch;

/// A run that its tool takes is the same after it was written and read.
static void check(const ReadRun &read, const std::string &fault,
                  const Command &command,
                  ReadRun (*readAgain)(llvm::StringRef, const ReadOptions &)) {
  const groups::Layout &layout = read.run.layout;
  fuzz::require(layout.data >= 1 && layout.microbatch >= 1 &&
                    layout.globalBatch >= 1 && layout.chunks >= 1,
                "degrees are 1 or more");
  if (!fault.empty() || (read.run.stageLayers.empty() &&
                         !groups::fault(read.run.model, layout).empty()))
    return;
  const std::vector<int64_t> &stages = read.run.stageLayers;
  fuzz::require(stages.empty() ||
                    std::accumulate(stages.begin(), stages.end(), int64_t(0)) ==
                        read.run.model.layers,
                "every layer is in a stage");
  ReadOptions options;
  options.devices = layout.devices();
  const ReadRun again = readAgain(command.text(), options);
  fuzz::require(again.fault.empty(), "what is written is read");
  fuzz::require(again.run.layout.text() == layout.text() &&
                    again.run.layout.globalBatch == layout.globalBatch &&
                    again.run.layout.zero == layout.zero &&
                    again.run.stageLayers == stages,
                "what is read again is the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  const ReadRun megatron = readMegatronArguments(text, ReadOptions());
  if (megatron.fault.empty())
    check(megatron, megatronFault(megatron.run),
          megatronArguments(megatron.run).command, readMegatronArguments);
  const ReadRun titan = readTorchtitanArguments(text, ReadOptions());
  if (titan.fault.empty())
    check(titan, torchtitanFault(titan.run),
          torchtitanArguments(titan.run).command, readTorchtitanArguments);
  return 0;
}
