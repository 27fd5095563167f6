//===- overlap_checks.cpp - Checks tables of iterations that overlap ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only programs whose iterations overlap link it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/state.h"
#include "runtime/model/share.h"

#include <cmath>

using namespace rondo::runtime;

/// Bytes of a replica's buffer, as planned.
static int64_t bytesOf(const ProgramDesc &program, int32_t replica,
                       Buffer buffer) {
  return program.shares[replica].bytes[static_cast<int>(buffer)];
}

void rondo::runtime::checkOverlap(const Executable &exe,
                                  const ProgramDesc &program) {
  auto fail = [&](const std::string &what) {
    throw Error("program '" + std::string(program.name) + "': " + what);
  };
  const OverlapDesc &overlap = *program.overlap;
  if (program.kind != ProgramKind::Pipeline)
    fail("its iterations overlap, which only those of a pipeline do");
  if (overlap.period < 1 || overlap.numDelays < overlap.period ||
      overlap.iterationsEach < 1)
    fail("it lists " + std::to_string(overlap.numDelays) +
         " delays, of which the last " + std::to_string(overlap.period) +
         " repeat, in repetitions of " +
         std::to_string(overlap.iterationsEach) +
         " iterations; all are 1 or more, and no more repeat than are listed");
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    const VersionDesc &versions = overlap.versions[h];
    const std::string name = "stage '" + std::string(stage.name) + "'";
    // Then a micro-batch's number in a run and in its iteration name one
    // replica.
    const int32_t turns = program.shares[h].turns;
    if (program.microbatches % turns != 0)
      fail(name + " assigns the " + std::to_string(program.microbatches) +
           " micro-batches of an iteration to " + std::to_string(turns) +
           " replicas in turn; where iterations overlap, all get as many");
    for (const int16_t *delays :
         {versions.forward, versions.backward, versions.recompute})
      for (int32_t m = 0; m < overlap.numDelays; ++m)
        if (delays[m] < 0 || delays[m] > m / program.microbatches)
          fail(name + " reads weights for micro-batch " + std::to_string(m) +
               " that are " + std::to_string(delays[m]) +
               " steps old, but its iteration is number " +
               std::to_string(m / program.microbatches) + " of the run");
    if (!std::isfinite(versions.meanForward) ||
        !std::isfinite(versions.meanBackward) ||
        !std::isfinite(versions.meanRecompute) || versions.meanForward < 0 ||
        versions.meanBackward < 0 || versions.meanRecompute < 0)
      fail(name + " has mean delays of " +
           std::to_string(versions.meanForward) + ", " +
           std::to_string(versions.meanBackward) + " and " +
           std::to_string(versions.meanRecompute));
    if (versions.recomputesExtrapolated && !versions.extrapolates)
      fail(name + " recomputes with weights moved back, but has no mean of "
                  "their changes, since its backward does not move them");
    if (!versions.extrapolates)
      continue;
    const int64_t gradients = bytesOf(program, h, Buffer::Gradients),
                  changes = bytesOf(program, h, Buffer::WeightChanges);
    if (changes < gradients)
      fail(name + " moves weights back and plans " + std::to_string(changes) +
           " bytes for their changes, it needs " + std::to_string(gradients));
    const std::vector<LayerDesc> layers = layersOf(exe, program, h);
    const int64_t scratch =
        alignedBytes(stageSizes(layers.data(), stage.numLayers).workspace) +
        movedBytes(layers.data(), stage.numLayers);
    if (bytesOf(program, h, Buffer::Workspace) < scratch)
      fail(name + " moves weights back and plans " +
           std::to_string(bytesOf(program, h, Buffer::Workspace)) +
           " bytes of workspace, it needs " + std::to_string(scratch));
  }
}
