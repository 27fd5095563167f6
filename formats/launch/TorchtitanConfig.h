//===- TorchtitanConfig.h - Runs as flags of torchtitan ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchtitan 0.3.0, the module torchtitan.train. Later versions have other keys
// for batches. test/clients/command_lines.py runs torchtitan's own parser.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_LAUNCH_TORCHTITANCONFIG_H
#define RONDO_FORMATS_LAUNCH_TORCHTITANCONFIG_H

#include "formats/launch/Command.h"

namespace rondo::launch {

inline constexpr llvm::StringRef torchtitanVersion = "torchtitan 0.3.0";

/// A function of yours that makes the configuration of the model: --module and
/// --config. Empty: torchtitan's own one with the sizes of the run.
struct TorchtitanSource {
  std::string module, config;
};

/// All of the layout, recomputation and overlap as flags, also where they are
/// the configuration's defaults. Data, tokenizer and optimizer are those of the
/// configuration. If torchtitanFault() or groups::fault() of the layout is not
/// empty, then torchtitan refuses the result or does something else.
WrittenRun torchtitanArguments(const groups::Run &run,
                               const TorchtitanSource &source = {});

/// Why torchtitan does not run it, with the numbers and the rule, one sentence;
/// empty if only groups::fault() can object.
std::string torchtitanFault(const groups::Run &run,
                            const TorchtitanSource &source = {});

/// A command line of torchtitan.train or run_train.sh, or its flags alone.
/// Without a flag the configuration's value counts; of a configuration that is
/// not known here, `options.model` is the model, and the values are
/// torchtitan's defaults.
ReadRun readTorchtitanArguments(llvm::StringRef text,
                                const ReadOptions &options);

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_TORCHTITANCONFIG_H
