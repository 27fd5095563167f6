//===- RunFiles.h - Runs of training on groups of devices -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that return an exit code have printed the error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_RUNFILES_H
#define RONDO_TOOLS_DRIVER_RUNFILES_H

#include "formats/json/LayoutText.h"
#include "formats/launch/Command.h"
#include "tools/driver/Arguments.h"

namespace rondo::driver {

/// Reads the machines of the one pipe.cluster of a file. `device` names the
/// data sheet of its devices; empty: the one with their memory and peak.
int readMachines(const std::string &path, llvm::StringRef device,
                 json::NamedMachines &machines);

/// Reads a command line of a tool and writes it as rondo-layout, by the options
/// of options/Run.td.
int importRun(const Arguments &arguments,
              launch::ReadRun (*read)(llvm::StringRef text,
                                      const launch::ReadOptions &options));

/// Writes the command line of a rondo-layout for `kind`, which is megatron or
/// torchtitan, to `output`.
int exportRun(llvm::StringRef kind, const std::string &path,
              const std::string &output);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_RUNFILES_H
