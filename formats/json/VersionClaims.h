//===- VersionClaims.h - What a schedule says of its versions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_VERSIONCLAIMS_H
#define RONDO_FORMATS_JSON_VERSIONCLAIMS_H

#include "formats/json/ScheduleReader.h"
#include "schedule/VersionAnalysis.h"

#include "llvm/Support/JSON.h"

namespace rondo::json {

/// `weight_copies` and `delay` of a schedule, held against what follows from
/// its order.
std::optional<TextFault> judgeVersionClaims(const ScheduleText &text,
                                            const Problem &problem,
                                            const VersionAnalysis &versions);

/// Writes both.
void writeVersionClaims(llvm::json::OStream &json, const Problem &problem,
                        const VersionAnalysis &versions);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERSIONCLAIMS_H
