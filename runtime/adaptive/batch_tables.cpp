//===- batch_tables.cpp - Tables of the documents of a batch --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/batch_tables.h"

#include "runtime/base/error.h"
#include "runtime/model/documents.h"
#include "runtime/model/stage_sizes.h"

#include <algorithm>
#include <numeric>

using namespace rondo;
using namespace rondo::runtime;

/// Throws Error if a batch exceeds its limits.
static void checkLimits(const BatchLimitsDesc &limits,
                        const DocumentLengths &lengths) {
  auto fail = [](const std::string &what) {
    throw Error("a batch has " + what);
  };
  if (static_cast<int32_t>(lengths.size()) != limits.microbatches)
    fail(std::to_string(lengths.size()) +
         " micro-batches, its program is compiled for " +
         std::to_string(limits.microbatches));
  for (size_t i = 0; i < lengths.size(); ++i) {
    const std::string name = "micro-batch " + std::to_string(i);
    for (int32_t document : lengths[i])
      if (document < 1 || document > limits.documentTokens)
        fail("a document of " + std::to_string(document) + " tokens in " +
             name + ", its program takes 1 to " +
             std::to_string(limits.documentTokens));
    if (const int64_t tokens = rowSize(lengths[i]).tokens;
        tokens < 1 || tokens > limits.rowTokens)
      fail(std::to_string(tokens) + " tokens in " + name +
           ", its program takes 1 to " + std::to_string(limits.rowTokens));
  }
}

/// Buffers of tasks and messages have the size of the micro-batch; others that
/// of the largest.
static void setShare(const LayerDesc *layers, const StageDesc &stage,
                     int32_t microbatches, ShareDesc &share) {
  int64_t own[numBuffers];
  stageBytes(layers + stage.firstLayer, stage.numLayers, microbatches, own);
  auto at = [](int64_t *bytes, Buffer buffer) -> int64_t & {
    return bytes[static_cast<int>(buffer)];
  };
  // Inputs and outputs that a replica which recomputes across stages keeps
  // twice.
  for (auto [again, first] : {std::pair(Buffer::RecomputedInput, Buffer::Input),
                              {Buffer::RecomputedOutput, Buffer::Output}})
    if (at(share.bytes, again) > 0)
      at(own, again) = at(own, first);
  for (const BufferTraits &traits : bufferTable)
    if (traits.kind == Buffer::Data || !traits.isState())
      at(share.bytes, traits.kind) = at(own, traits.kind);
}

BatchTables::Size BatchTables::makeSize(const Executable &exe,
                                        const ProgramDesc &like,
                                        const Problem &problem,
                                        int64_t tokens) {
  Size size;
  size.tokens = tokens;
  for (int32_t l = 0; l < exe.numLayers; ++l)
    size.layers.push_back(
        rowOfDocuments(like.layers[l], static_cast<int32_t>(tokens)));
  size.shares.assign(like.shares, like.shares + exe.numReplicas);
  size.edges.assign(like.edges, like.edges + exe.numEdges);
  std::vector<ReplicaBuffers> buffers(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    setShare(size.layers.data(), exe.stages[exe.replicas[h].stage],
             like.microbatches, size.shares[h]);
    std::copy_n(size.shares[h].bytes, numBuffers, buffers[h].begin());
  }
  // All of a buffer, with what rounds up its size.
  const BufferNumbers numbers(problem);
  for (int32_t e = 0; e < exe.numEdges; ++e)
    size.edges[e].bytes = bytesOf(problem, numbers[numbers.sent(e)], buffers);
  return size;
}

BatchTables::BatchTables(const Executable &executable, const ProgramDesc &like,
                         const Problem &problem, DocumentLengths lengths)
    : documentLengths(std::move(lengths)) {
  const BatchLimitsDesc &limits = *limitsOf(like);
  checkLimits(limits, documentLengths);
  const int64_t grid = rowGrid(like.layers[0].target, limits.rowTokens);
  int64_t all = 0;
  std::vector<int64_t> paddings;
  for (const std::vector<int32_t> &row : documentLengths) {
    starts.emplace_back(1, 0);
    for (int32_t tokens : row)
      starts.back().push_back(starts.back().back() + tokens);
    const int64_t tokens = starts.back().back();
    all += tokens;
    const int64_t padded = paddedRow(tokens, grid, limits.rowTokens);
    for (int64_t end = tokens; end < padded;) {
      end = std::min(end + limits.documentTokens, padded);
      starts.back().push_back(static_cast<int32_t>(end));
    }
    paddings.push_back(padded - tokens);
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::vector<int32_t> &row = starts[i];
    const int64_t tokens = row.back();
    documents.push_back({static_cast<int32_t>(row.size()) - 1, row.data(),
                         rowShare(tokens, all),
                         static_cast<int32_t>(paddings[i])});
    const auto same =
        std::find_if(sizes.begin(), sizes.end(),
                     [&](const Size &size) { return size.tokens == tokens; });
    sizesOf.push_back(static_cast<int32_t>(same - sizes.begin()));
    if (same == sizes.end())
      sizes.push_back(makeSize(executable, like, problem, tokens));
  }
  for (const Size &size : sizes)
    microbatches.push_back(
        {size.layers.data(), size.shares.data(), size.edges.data()});
  uneven = *like.uneven;
  uneven.numSizes = static_cast<int32_t>(sizes.size());
  uneven.sizes = microbatches.data();
  uneven.sizeOf = sizesOf.data();
  uneven.documents = documents.data();
}

std::vector<std::vector<ReplicaBuffers>> BatchTables::buffers() const {
  std::vector<std::vector<ReplicaBuffers>> result;
  for (int32_t size : sizesOf) {
    result.emplace_back();
    for (const ShareDesc &share : sizes[size].shares)
      std::copy_n(share.bytes, numBuffers,
                  result.back().emplace_back().begin());
  }
  return result;
}

RowSize BatchTables::size(int32_t microbatch) const {
  const std::vector<int32_t> &row = starts[microbatch];
  // The first number is 0, the others are the lengths of the documents.
  std::vector<int32_t> tokens(row.size());
  std::adjacent_difference(row.begin(), row.end(), tokens.begin());
  return rowSize(tokens);
}

void BatchTables::setTo(ProgramDesc &program) const {
  program.uneven = &uneven;
}
