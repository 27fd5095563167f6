//===- rondo_runtime.h - The header of emitted programs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only header that an emitted program includes. The program defines one
// Executable (tables), and functions that run a rank's actions.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_RONDO_RUNTIME_H
#define RONDO_RUNTIME_RONDO_RUNTIME_H

#include "kinds/AffineCost.h"
#include "runtime/execution/actions.h"
#include "runtime/model/executable.h"

#endif // RONDO_RUNTIME_RONDO_RUNTIME_H
