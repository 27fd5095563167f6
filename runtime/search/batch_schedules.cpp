//===- batch_schedules.cpp - Schedules of batches, for tables -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/batches.h"

const rondo::runtime::BatchSchedules rondo::runtime::batchSchedules = {
    openBatches, makeBatchPlanner, makeBatches};
