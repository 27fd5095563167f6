//===- executable.h - The tables of an emitted program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codegen writes one Executable, and the runtime reads it. It has a list of
// programs (program_tables.h), and names the parts of the runtime that it can
// use (program_parts.h).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_EXECUTABLE_H
#define RONDO_RUNTIME_MODEL_EXECUTABLE_H

#include "runtime/model/layer.h"
#include "runtime/model/program_parts.h"
#include "runtime/model/program_tables.h"

#include <cstdint>

/// The version of these tables and of the functions that emitted code calls
/// (runtime/execution/actions.h). Raise it with every change of either: an
/// emitted program compiles only against the version that it was written for.
#define RONDO_TABLES_VERSION 19

namespace rondo::runtime {

/// A directed link between two ranks, as the plan assumed it.
struct LinkDesc {
  int32_t from, to;
  int64_t latencyNs;
  /// 0: a message does not occupy it.
  int64_t bytesPerUs;
};

/// A model's state and a list of programs over it.
struct Executable {
  const char *name;
  /// Sized for the first program's micro-batches.
  int32_t numLayers;
  const LayerDesc *layers;
  int32_t numStages;
  const StageDesc *stages;
  /// Ordered by stage, and within a stage by replica. The first of a stage owns
  /// its tensors: it counts for the norm and writes the checkpoint.
  int32_t numReplicas;
  const ReplicaDesc *replicas;
  /// Edges of activations come before those of gradients, and these before
  /// those of what R makes. A task takes its inputs, and adds its output
  /// gradients, in this order.
  int32_t numEdges;
  const EdgeDesc *edges;
  /// Ranks that hold state; each has an arena.
  int32_t numRanks;
  /// Bytes of each rank's arena: the most that any program needs.
  const int64_t *arenaBytes;
  int32_t numPrograms;
  const ProgramDesc *programs;
  /// Null: the CPU, with all ranks in one process.
  const Backend *backend = nullptr;
  /// The links that carry messages of a pipeline, as the plan assumed them.
  int32_t numLinks = 0;
  const LinkDesc *links = nullptr;
  /// Moments of each weight that arenas have room for: what the optimizer that
  /// memory was planned for keeps (kinds/Optimizers.h).
  int32_t moments = 2;
  Extras extras = {};
  /// Bytes of each rank's arena on its host; null: no program copies.
  const int64_t *hostArenaBytes = nullptr;
  /// One entry per rank; null: no program copies.
  const HostLinkDesc *hostLinks = nullptr;
};

/// Micro-batches of the program that has most of them.
inline int64_t maxMicrobatches(const Executable &executable) {
  int64_t most = 0;
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    if (executable.programs[p].microbatches > most)
      most = executable.programs[p].microbatches;
  return most;
}

/// Runs what the command line asks for and returns the exit code.
int run_executable(const Executable &executable, int argc, char **argv);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_EXECUTABLE_H
