//===- FileKind.h - What a file is, by its content --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_FILEKIND_H
#define RONDO_FORMATS_FILEKIND_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::formats {

/// Kinds of files that people give to commands. Those of Rondo come first.
enum class FileKind : uint8_t {
  /// Ops of the language.
  Plans,
  Problem,
  Schedule,
  Planning,
  Cluster,
  Costs,
  /// A layout on groups of devices, and what a stack reaches on them.
  Layout,
  Rates,
  /// The trace that a program writes for --trace.
  ProgramTrace,
  /// A prediction, of `rondo show`.
  Timeline,
  /// A rank's state when a run failed.
  Failure,
  /// PyTorch's compute_only CSV, and compute_comms, which has messages.
  TorchCsv,
  TorchComms,
  MegatronLayout,
  Torchtitan,
  ModelConfig,
  CheckpointIndex,
  Safetensors,
  Topology,
  /// A trace of PyTorch's profiler.
  TorchTrace,
  /// The graph.txt of PipeDream's profiler.
  GraphProfile,
  Gzip,
  Zip,
};

/// Recognizes a file by its content alone, which may have mistakes; nothing if
/// it is of no kind above or could be of several. O(text).
std::optional<FileKind> fileKindOf(llvm::StringRef text);

/// A noun with its article: `a schedule of PyTorch in CSV`.
llvm::StringRef describe(FileKind kind);

/// The next step for such a file, a clause that begins with the command if one
/// reads it: "`rondo import model config.json -o model.mlir` reads it". `text`
/// is the content of `file`.
std::string nextStep(FileKind kind, llvm::StringRef file, llvm::StringRef text);

} // namespace rondo::formats

#endif // RONDO_FORMATS_FILEKIND_H
