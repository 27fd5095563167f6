//===- MegatronReader.h - Reads flags of Megatron-LM ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_LAUNCH_MEGATRONREADER_H
#define RONDO_FORMATS_LAUNCH_MEGATRONREADER_H

#include "formats/launch/FlagReader.h"

namespace rondo::launch {

/// Fills a run from flags; the first fault ends it.
class MegatronReader {
public:
  MegatronReader(const Command &command, const ReadOptions &options)
      : command(command), options(options), flags(command) {}

  ReadRun read();

private:
  // Sizes of the model (MegatronModel.cpp).
  void need(llvm::StringRef name, int64_t &value);
  void refuseOtherModels();
  void readModel();
  void readAttention();
  void readLatent();
  void readWindow();
  void readVocab();
  void readExperts();
  void readExpertLayers(groups::Experts &experts);
  // The run (MegatronReader.cpp).
  void readDegrees();
  void readDevices();
  void readCut();
  void readLayout(const Flag &flag);
  void readEnds(int64_t embedding, int64_t loss);
  void readFirstAndLast();
  void readBatch();
  void readState();
  void readFsdp();
  void checkConnections(bool isFsdp);
  void readRecompute();
  void readModules();
  void readPrecision();
  void readKernels();
  void noteRest();
  void note(const llvm::Twine &text) { result.notes.push_back(text.str()); }

  const Command &command;
  const ReadOptions &options;
  FlagReader flags;
  ReadRun result;
  groups::Run &run = result.run;
  groups::Transformer &model = run.model;
  groups::Layout &layout = run.layout;
  groups::Execution &execution = run.execution;
};

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_MEGATRONREADER_H
