//===- samples.cpp - The samples of a trainer -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/trainer.h"

#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/model/documents.h"
#include "runtime/trainer/extras.h"

#include <algorithm>

using namespace rondo::runtime;

void Trainer::openData(bool useGeneratedData) {
  const std::vector<StreamDesc> declared = streamsOf(exe.layers, exe.numLayers);
  if (needsData(exe) && declared.empty() &&
      (embeddingStage < 0 || headStage < 0))
    throw Error("'" + std::string(exe.name) +
                "' has layers that read data but no embedding or no head");
  auto open = [&] {
    if (!declared.empty()) {
      const StreamReading *reading = exe.extras.streams;
      if (!reading)
        throw Error("'" + std::string(exe.name) +
                    "' has layers that declare streams, but does not name "
                    "streamReading among its extras");
      streams = useGeneratedData
                    ? reading->generate()
                    : reading->open(options.data, options.heldOut, declared);
      return;
    }
    if (exe.extras.batches) {
      // Timed layers have no vocabulary.
      const int32_t vocab =
          needsData(exe) ? layerOf(embeddingStage, embeddingLayer).vocab : 1;
      documents = exe.extras.batches->open(options, vocab, useGeneratedData);
      return;
    }
    const LayerDesc &layer = layerOf(embeddingStage, embeddingLayer);
    tokens = useGeneratedData ? generateData(layer.vocab)
                              : runtime::openData(options.data, options.heldOut,
                                                  layer.vocab, layer.sequence);
  };
  const World &world = this->world();
  enter(world, Phase::Data);
  if (world.isFirst())
    open();
  if (world.isAlone())
    return;
  // Process 0 alone reports errors in the data.
  world.store->barrier("data");
  bool reads = false;
  for (int32_t s = 0; s < exe.numStages; ++s)
    reads |= readsData(s) && holdsStage(s);
  if (!world.isFirst() && reads)
    open();
}

const DataSource &Trainer::data() const {
  if (tokens)
    return *tokens;
  if (documents)
    return *documents;
  return *streams;
}

bool Trainer::readsData(int32_t stage) const {
  const LayerDesc *first = exe.layers + exe.stages[stage].firstLayer;
  return std::any_of(first, first + exe.stages[stage].numLayers,
                     runtime::readsData);
}

bool Trainer::hasHeldOut() {
  if (!hasLoss())
    return false;
  const bool mine = (tokens || streams || documents) && data().hasHeldOut();
  if (world().isAlone())
    return mine;
  return world().store->exchange("held-out data", mine ? "1" : "0").front() ==
         "1";
}

/// Tokens that have a target.
static int64_t tokensIn(const DocumentsDesc &documents) {
  return documents.starts[documents.count] - documents.padding;
}

int64_t Trainer::tokensOf(const ProgramDesc &program) const {
  if (embeddingStage < 0)
    return 0;
  if (documentsOf(program, 0)) {
    int64_t tokens = 0;
    for (int32_t i = 0; i < program.microbatches; ++i)
      tokens += tokensIn(*documentsOf(program, i));
    return tokens;
  }
  const LayerDesc &layer = layerOf(embeddingStage, embeddingLayer);
  return int64_t(program.microbatches) * program.samples * layer.sequence;
}

Trainer::Samples Trainer::trainingSamples(uint64_t seed,
                                          int64_t iteration) const {
  Samples samples;
  samples.tokens = [=](int64_t sample, int64_t count, int32_t *out) {
    tokens->trainingSample(seed, iteration, sample, count, out);
  };
  samples.row = [=](int64_t sample) {
    return streams->trainingRow(seed, iteration, sample);
  };
  return samples;
}

Trainer::Samples Trainer::heldOutSamples(int64_t number) const {
  Samples samples;
  samples.tokens = [=](int64_t sample, int64_t count, int32_t *out) {
    tokens->heldOutSample(sample, number, count, out);
  };
  samples.row = [=](int64_t sample) {
    return streams->heldOutRow(sample, number);
  };
  return samples;
}

void Trainer::stageData(ProgramRun &run, const Samples &samples) {
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    if (!programState.holds(h) || !readsData(exe.replicas[h].stage))
      continue;
    for (int64_t i = 0; i < run.program().microbatches; ++i)
      if (takes(run.program().shares[h], i))
        stageMicrobatch(run.program(), h, i, samples,
                        [&, slot = run.data(h, i)](
                            int64_t offset, const void *values, int64_t bytes) {
                          programState.write(h, slot + offset, values, bytes);
                        });
  }
}

void Trainer::stageMicrobatch(const ProgramDesc &program, int32_t replica,
                              int64_t microbatch, const Samples &samples,
                              const WriteData &write) {
  if (embeddingStage >= 0)
    stageTokens(program, replica, microbatch, samples, write);
  else
    stageStreams(program, replica, microbatch, samples, write);
}

/// The number of the first sample of a replica in a micro-batch.
static int64_t firstSampleOf(const ProgramDesc &program, int32_t replica,
                             int64_t microbatch) {
  return microbatch % program.microbatches * program.samples +
         program.shares[replica].firstSample;
}

void Trainer::stageTokens(const ProgramDesc &program, int32_t replica,
                          int64_t microbatch, const Samples &samples,
                          const WriteData &write) {
  const std::vector<LayerBinding> &layers =
      programState.replicas(program, sizeOf(program, microbatch))[replica]
          .layers;
  std::vector<int32_t> window, inputs, targets;
  // Appends the first tokens of a sample, and the one after each.
  auto append = [&](int64_t sample, int64_t count) {
    window.resize(count + 1);
    samples.tokens(sample, count + 1, window.data());
    inputs.insert(inputs.end(), window.begin(), window.end() - 1);
    targets.insert(targets.end(), window.begin() + 1, window.end());
  };
  const DocumentsDesc *row = documentsOf(program, microbatch);
  if (row && samples.documents) {
    const size_t padded = tokensIn(*row) + row->padding;
    inputs.assign(padded, 0);
    targets.assign(padded, noTarget);
    samples.documents(microbatch, inputs.data(), targets.data());
  } else if (row) {
    int64_t first = 0;
    for (int64_t i = 0; i < microbatch; ++i)
      first += documentsOf(program, i)->count;
    for (int32_t k = 0; k < row->count; ++k)
      append(first + k, row->starts[k + 1] - row->starts[k]);
  } else {
    const int64_t firstSample = firstSampleOf(program, replica, microbatch);
    for (int64_t b = 0; b < program.shares[replica].samples; ++b)
      append(firstSample + b, layerOf(embeddingStage, embeddingLayer).sequence);
  }
  auto writeOf = [&](int32_t stage, int32_t layer,
                     const std::vector<int32_t> &values) {
    if (exe.replicas[replica].stage == stage)
      write(layers[layer].dataOffset, values.data(),
            4 * static_cast<int64_t>(values.size()));
  };
  writeOf(embeddingStage, embeddingLayer, inputs);
  writeOf(headStage, headLayer, targets);
}

void Trainer::stageStreams(const ProgramDesc &program, int32_t replica,
                           int64_t microbatch, const Samples &samples,
                           const WriteData &write) {
  const int64_t firstSample = firstSampleOf(program, replica, microbatch);
  std::vector<char> values;
  for (const LayerBinding &layer :
       programState.replicas(program)[replica].layers) {
    const CustomDesc &custom = layer.desc->custom;
    for (int32_t s = 0; s < custom.numStreams; ++s) {
      const StreamDesc &stream = custom.streams[s];
      const int64_t bytes = rowBytes(stream);
      values.resize(layer.desc->batch * bytes);
      for (int64_t b = 0; b < layer.desc->batch; ++b)
        streams->read(samples.row(firstSample + b), stream,
                      values.data() + b * bytes);
      write(layer.dataOffset + streamOffset(*layer.desc, s), values.data(),
            static_cast<int64_t>(values.size()));
    }
  }
}
