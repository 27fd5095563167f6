//===- VersionClaims.h - What a schedule says of its versions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_VERSIONCLAIMS_H
#define RONDO_FORMATS_JSON_VERSIONCLAIMS_H

#include "formats/json/ScheduleReader.h"
#include "schedule/simulate/VersionAnalysis.h"

#include "llvm/Support/JSON.h"

namespace rondo::json {

/// Reads `versions` of a schedule, the policies of the stages of its window.
/// Leaves `policies` empty if it states none.
std::optional<TextFault> readPolicies(const ScheduleText &text,
                                      int32_t numStages,
                                      std::vector<VersionPolicy> &policies);

/// `versions` of a schedule, held against those of the problem.
std::optional<TextFault> judgePolicies(const ScheduleText &text,
                                       const Problem &problem);

/// Writes them.
void writePolicies(llvm::json::OStream &json, const Problem &window);

/// `weight_copies` and `delay` of a schedule, held against what follows from
/// its order.
std::optional<TextFault> judgeVersionClaims(const ScheduleText &text,
                                            const Problem &problem,
                                            const VersionAnalysis &versions);

/// The number of iterations by which the norm of all gradients is late in the
/// program of an order, which runs a backward for each micro-batch; nothing
/// where the window is too short. The schedule keeps S1 to S4 and has all
/// steps.
std::optional<int64_t> programNormDelay(const Problem &problem,
                                        const Schedule &schedule);

/// `norm_delay`, held against that.
std::optional<TextFault> judgeNormDelay(const ScheduleText &text,
                                        const Problem &problem,
                                        const Schedule &schedule);

/// Writes both.
void writeVersionClaims(llvm::json::OStream &json, const Problem &problem,
                        const VersionAnalysis &versions);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERSIONCLAIMS_H
