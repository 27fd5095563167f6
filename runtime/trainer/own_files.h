//===- own_files.h - Each output has a file of its own ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_OWN_FILES_H
#define RONDO_RUNTIME_TRAINER_OWN_FILES_H

#include "runtime/trainer/options.h"

namespace rondo::runtime {

/// Throws Error with Exit::Usage if an output is the file of another output or
/// of an input; only --save may name the file of --resume. Opens no file.
/// Devices may be named several times.
void checkOwnFiles(const Options &options);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_OWN_FILES_H
