//===- BatchFixture.h - A program that draws documents ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_BATCHFIXTURE_H
#define RONDO_TEST_UNIT_RUNTIME_BATCHFIXTURE_H

#include "Training.h"

#include "runtime/adaptive/batch_programs.h"
#include "runtime/model/documents.h"
#include "runtime/trainer/extras.h"

#include <optional>
#include <vector>

namespace rondo::runtime::test {

inline constexpr int32_t numMicrobatches = 4, rowTokens = 24,
                         documentTokens = 8;

/// A program of two ranks whose tables have the largest batch: four rows of
/// three documents.
struct BatchExecutable {
  /// `slots` of messages and activations; 0: one for each micro-batch.
  explicit BatchExecutable(int slots = 0, Lists pipeline = {}) {
    Spec spec = gpt({2, 2}, {0, 1}, /*tied=*/false);
    for (LayerDesc &layer : spec.layers)
      layer = rowOfDocuments(layer, rowTokens);
    spec.messageSlots = spec.savedSlots = slots;
    spec.hasDataFirst = true;
    spec.pipeline = std::move(pipeline);
    program.emplace(spec);
    costs.resize(static_cast<size_t>(program->exe.numReplicas) *
                 numCostColumns);
    for (int32_t h = 0; h < program->exe.numReplicas; ++h)
      for (ActionKind kind :
           {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad})
        costs[h * numCostColumns + costColumn(kind)] = {1000, 100 + 20 * h, 50,
                                                        1};
    const ProgramDesc &first = program->programs.front();
    size = {first.layers, first.shares, first.edges};
    starts = {0, 8, 16, 24};
    documents.assign(numMicrobatches, {3, starts.data(), 0.25});
    sizeOf.assign(numMicrobatches, 0);
    caps.assign(program->exe.numRanks, int64_t(1) << 40);
    limits = {rowTokens, documentTokens, numMicrobatches,
              rowTokens, caps.data(),    costs.data()};
    uneven = {1, &size, sizeOf.data(), documents.data(), checkUneven, &limits};
    for (ProgramDesc &desc : program->programs)
      desc.uneven = &uneven;
    program->exe.extras.batchSearch = &batchSearch;
    program->exe.extras.batches = &batchRuns;
  }
  BatchExecutable(const BatchExecutable &) = delete;

  const Executable &exe() const { return program->exe; }
  /// Ranks may hold the activations of one row of the most tokens.
  void limitToOneRow() {
    for (int32_t h = 0; h < exe().numReplicas; ++h) {
      const ShareDesc &share = program->programs.front().shares[h];
      int64_t &cap = caps[exe().replicas[h].rank] = 0;
      for (Buffer saved :
           {Buffer::SavedForInputGrad, Buffer::SavedForWeightGrad,
            Buffer::KeptForWeightGrad})
        cap += share.bytes[static_cast<int>(saved)];
    }
  }

  std::optional<rondo::runtime::test::Program> program;

private:
  std::vector<AffineCost> costs;
  MicrobatchDesc size{};
  std::vector<int32_t> starts, sizeOf;
  std::vector<DocumentsDesc> documents;
  std::vector<int64_t> caps;
  BatchLimitsDesc limits{};
  UnevenDesc uneven{};
};

using Rows = std::vector<std::vector<int32_t>>;

inline PackedBatch batchOf(const Rows &lengths) {
  PackedBatch batch;
  int64_t position = 0;
  for (const std::vector<int32_t> &row : lengths) {
    batch.rows.emplace_back();
    for (int32_t tokens : row) {
      batch.rows.back().push_back({position, tokens});
      position += 100;
    }
  }
  return batch;
}

inline const PackedBatch someBatch =
    batchOf({{8, 8, 8}, {1}, {2, 3}, {8, 8, 1, 1, 1}});

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_BATCHFIXTURE_H
