//===- ScheduleMetadata.h - What a schedule says of itself ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_SCHEDULEMETADATA_H
#define RONDO_FORMATS_JSON_SCHEDULEMETADATA_H

#include "formats/json/Fields.h"

namespace rondo::json {

/// Checks the members that no rule judges: `family`, `bound`, `search`, `clip`,
/// `provenance` and `infeasible`, as far as they are present. Version 1 leaves
/// their types open, so only the keys of `search` are checked there.
std::optional<TextFault> checkMetadata(const Fields &schedule, bool isVersion2);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEMETADATA_H
