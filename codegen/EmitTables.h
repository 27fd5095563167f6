//===- EmitTables.h - The constant tables of an executable ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of the tables defined in runtime/model/executable.h, made from values
// only.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_CODEGEN_EMITTABLES_H
#define RONDO_CODEGEN_EMITTABLES_H

#include "codegen/BatchLimitsTable.h"
#include "codegen/RankCode.h"
#include "lowering/ForEach.h"
#include "runtime/model/executable.h"
#include "schedule/program/Program.h"
#include "schedule/simulate/DelayTable.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::codegen {

/// A stage as the executable describes it.
struct StageText {
  std::string name;
  int32_t firstLayer, numLayers, momentShards;
};

/// Layers, replicas' shares and edges for one micro-batch size.
struct SizesText {
  int32_t samples = 0;
  std::vector<runtime::LayerDesc> layers;
  Replicas replicas;
  /// Indexed by replica.
  std::vector<ReplicaBuffers> buffers;
};

/// The weights that tasks read if iterations overlap.
struct OverlapText {
  DelayTable delays;
  int32_t iterationsEach = 1;
  /// Indexed by replica.
  std::vector<VersionPolicy> policies;
};

/// Micro-batches that differ.
struct UnevenText {
  /// [size]: its tables of layers, shares and edges.
  std::vector<int32_t> tables;
  /// [micro-batch]: its size.
  std::vector<int32_t> sizeOf;
  /// [micro-batch]: lengths of its documents. Empty: these are samples.
  std::vector<std::vector<int64_t>> documents;
  /// Set if the program draws documents; the above are then the largest batch.
  std::optional<BatchLimitsText> limits;
};

/// One program of the executable and its predictions.
struct ProgramText {
  std::string name;
  /// The namespace of its tables.
  std::string space;
  /// Which tables of layers, shares and edges describe its micro-batches.
  int32_t sizes = 0;
  int32_t samples = 0;
  bool accumulatesInIndexOrder = true;
  runtime::ProgramKind kind = runtime::ProgramKind::Pipeline;
  int32_t microbatches = 0;
  const Program *program = nullptr;
  std::vector<int32_t> rankOfReplica;
  int64_t predictedNs = 0, predictedWorkNs = 0;
  std::vector<int64_t> peakMemoryBytes;
  /// Set if iterations overlap.
  std::optional<OverlapText> overlap;
  /// The number of its unevenTable(); -1: micro-batches are equal.
  int32_t uneven = -1;
  /// The order in which gradients are added; empty: by index.
  std::vector<int32_t> sumOrder;
};

/// Text after the include of the header: a check that its version is the one
/// these tables are written for. executableText() closes it.
std::string versionCheck();

/// Declares the bodies that custom layers name; the linker finds their
/// definitions.
std::string bodyDeclarations(llvm::ArrayRef<runtime::LayerDesc> layers);
/// `sizes` numbers the tables, one for each micro-batch size.
std::string layerTable(llvm::ArrayRef<runtime::LayerDesc> layers,
                       int32_t sizes);
std::string stageTable(llvm::ArrayRef<StageText> stages);
std::string replicaTable(const Replicas &replicas);
std::string shareTable(const SizesText &text, int32_t sizes);
std::string edgeTable(const Problem &problem, llvm::ArrayRef<StageText> stages,
                      const SizesText &text, int32_t sizes);

/// A table of micro-batches that differ; `number` numbers those of an
/// executable.
std::string unevenTable(const UnevenText &uneven, bool hasEdges,
                        int32_t number);

/// Pools, slots, places, collectives and ranks of a program. `functions`
/// covers every rank of the program.
std::string programTables(const ProgramText &program, const Problem &problem,
                          llvm::ArrayRef<SharedFunction> functions,
                          const ForEach &forEach);

struct ExecutableText {
  std::string name;
  size_t numLayers = 0, numStages = 0;
  /// The runtime's object for the target.
  std::string backend;
  /// The runtime's objects that Extras names, in its order; empty: none.
  std::vector<std::string> extras;
  /// The number for each weight.
  int32_t moments = 2;
};

/// The list of programs, the executable and main(). The problem is one of its
/// plans'.
std::string executableText(const ExecutableText &executable,
                           llvm::ArrayRef<ProgramText> programs,
                           const Problem &problem);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_EMITTABLES_H
