//===- MegatronArguments.h - Runs as flags of Megatron-LM -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Megatron Core 0.19.2, the program pretrain_gpt.py. Flags are those of its
// parser, rules those of its validation; test/clients/command_lines.py runs
// both.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_LAUNCH_MEGATRONARGUMENTS_H
#define RONDO_FORMATS_LAUNCH_MEGATRONARGUMENTS_H

#include "formats/launch/Command.h"

namespace rondo::launch {

inline constexpr llvm::StringRef megatronVersion = "Megatron Core 0.19.2";

/// Sizes, layout, state, recomputation, precision and overlap as flags, with
/// the environment that they need. Data, tokenizer and learning rate are left
/// out. If megatronFault() or groups::fault() of the layout is not empty, then
/// Megatron refuses the result.
WrittenRun megatronArguments(const groups::Run &run);

/// Why Megatron does not run it, with the numbers and the rule, one sentence;
/// empty if only groups::fault() can object.
std::string megatronFault(const groups::Run &run);

/// A command line of pretrain_gpt.py, or its flags alone. Without a flag
/// Megatron's default counts. A run whose layout is refused is read as well.
ReadRun readMegatronArguments(llvm::StringRef text, const ReadOptions &options);

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_MEGATRONARGUMENTS_H
