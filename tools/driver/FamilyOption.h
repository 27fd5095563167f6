//===- FamilyOption.h - What --family asks for ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_FAMILYOPTION_H
#define RONDO_TOOLS_DRIVER_FAMILYOPTION_H

#include "schedule/families/Family.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Adds the families that one value of --family asks for: a family with its
/// parameters, or all. Returns what is wrong with it, if anything.
std::optional<std::string> chooseFamilies(const std::string &text,
                                          std::vector<FamilyChoice> &choices);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_FAMILYOPTION_H
