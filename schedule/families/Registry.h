//===- Registry.h - The entries of the table of families --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_REGISTRY_H
#define RONDO_SCHEDULE_FAMILIES_REGISTRY_H

#include "schedule/families/Placement.h"

namespace rondo {

// One function per file.
Family gpipe();
Family oneFOneB();
Family eager1F1B();
Family kfkb();
Family interleaved1F1B();
Family loopedBfs();
Family interleavedZb();
Family zbH1();
Family zbH2();
Family zbAuto();
Family zbv();
Family zbvAuto();
Family vHalf();
Family vMin();
Family dualPipeV();
Family wave();
Family blockwise();
Family spp();
Family pipeDream();
Family twoBufferedWeights();
Family pipeMare();
Family timePrest();

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_REGISTRY_H
