//===- ScheduleMetadata.h - What a schedule says of itself ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_SCHEDULEMETADATA_H
#define RONDO_FORMATS_JSON_SCHEDULEMETADATA_H

#include "formats/json/Fields.h"

namespace rondo::json {

/// Checks the members that no rule judges: `family`, `bound`, `search`,
/// `provenance` and `infeasible`, as far as they are present.
std::optional<TextFault> checkMetadata(const Fields &schedule);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEMETADATA_H
