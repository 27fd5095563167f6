//===- option_checks.h - Which flags fit together ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_OPTION_CHECKS_H
#define RONDO_RUNTIME_TRAINER_OPTION_CHECKS_H

#include "runtime/trainer/options.h"

namespace rondo::runtime {

/// Throws Error with Exit::Usage if flags exclude or need each other.
/// `isVerify`, `isCheck`: whether --verify and --check-bodies are given, of
/// which options have the last one.
void checkTogether(const Options &options, bool isVerify, bool isCheck);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_OPTION_CHECKS_H
