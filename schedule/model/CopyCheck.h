//===- CopyCheck.h - Validation of copies of problems -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of Problem::check().
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_COPYCHECK_H
#define RONDO_SCHEDULE_MODEL_COPYCHECK_H

#include "schedule/model/Fault.h"

#include <optional>

namespace rondo {

/// The lists of host memory are empty or have an entry for each rank or
/// replica, and their figures are in range.
std::optional<Fault> checkHostMemory(const Problem &problem);
/// P6: SAVE and LOAD move the same bytes, no more than F holds until then.
/// Precondition: all else of costs has been checked.
std::optional<Fault> checkCopies(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_COPYCHECK_H
