//===- Command.h - The shell command of a training job ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_LAUNCH_COMMAND_H
#define RONDO_FORMATS_LAUNCH_COMMAND_H

#include "planning/groups/Run.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace rondo::launch {

/// `--name value ...`; `name` has its dashes.
struct Flag {
  std::string name;
  std::vector<std::string> values;
  /// The line of the text that it was read from, from 1 on; 0: none.
  int64_t line = 0;
};

/// A job's environment, launcher, program and flags.
struct Command {
  std::vector<std::pair<std::string, std::string>> environment;
  /// Such as `torchrun --nnodes 4`.
  std::vector<std::string> launcher;
  /// A script, or `-m` and a module; empty if the text has flags alone.
  std::vector<std::string> program;
  std::vector<Flag> flags;

  void add(std::string name) { flags.push_back({std::move(name), {}}); }
  void add(std::string name, std::string value) {
    flags.push_back({std::move(name), {std::move(value)}});
  }
  void add(std::string name, int64_t value) {
    add(std::move(name), std::to_string(value));
  }

  /// As a shell takes it, one flag a line, joined by backslashes.
  std::string text() const;
};

/// No job has more devices, and no number of a flag is larger: products of two
/// fit 64 bits.
inline constexpr int64_t maxNumber = 1000000000;

/// Devices by torchrun's --nnodes and --nproc-per-node, or by WORLD_SIZE or
/// NGPU; 0: not stated.
int64_t devicesOf(const Command &command);

/// Sets torchrun as the launcher: `devices` in nodes of `nodeDevices`.
void launchByTorchrun(Command &command, int64_t devices, int64_t nodeDevices);

struct ReadCommand {
  Command command;
  /// One sentence; empty if the text was read.
  std::string fault;
};

/// Reads the command with the most flags of a shell script. Knows quotes,
/// comments, continued lines, assignments, `export`, arrays, and variables that
/// the text sets. A line that begins with `--` continues the command before it.
/// Other parts of scripts are skipped. A variable without a value stays as its
/// text.
ReadCommand readCommand(llvm::StringRef text);

/// Values that a command line may not state.
struct ReadOptions {
  std::string name = "run";
  /// 0: by the launcher's flags.
  int64_t devices = 0;
  /// Tokens of the vocabulary; 0: by the flags.
  int64_t vocab = 0;
  /// The model, if the flags name one whose sizes are not known here.
  std::optional<groups::Transformer> model;
};

struct WrittenRun {
  Command command;
  /// Properties of the run that the flags do not state, a sentence each.
  std::vector<std::string> notes;
};

struct ReadRun {
  groups::Run run;
  /// Flags that were not read, and assumptions; a sentence each.
  std::vector<std::string> notes;
  /// The flag, its value and the rule, in one sentence; empty if nothing is
  /// wrong. The run is whole only then.
  std::string fault;
};

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_COMMAND_H
