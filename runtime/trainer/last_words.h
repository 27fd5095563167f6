//===- last_words.h - What ranks did when a run failed ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_LAST_WORDS_H
#define RONDO_RUNTIME_TRAINER_LAST_WORDS_H

#include "runtime/execution/program_run.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

namespace rondo::runtime {

/// Writes a file per rank into a folder when a run has failed: how it ended,
/// and the rank's last actions. docs/reliability.md has the format, which
/// `rondo blame` reads.
class LastWords {
public:
  /// All processes of the run make it at the same time. Throws Error if the
  /// folder cannot be written to.
  LastWords(const std::string &folder, const Executable &executable,
            const World &world);

  /// Records what the ranks of this process do now. Returns a function that
  /// writes the files, or notes why it cannot. Only the first call has an
  /// effect. `run`: the run that failed; null: it failed between two
  /// iterations. `rank`: the rank that has thrown; -1: none.
  std::function<void()> note(Connections &connections, const ProgramRun *run,
                             int32_t rank, const std::exception_ptr &why);

private:
  /// The end of the run for a rank.
  struct Ending {
    /// `error`, `timeout` or `stopped`.
    const char *word;
    std::string text;
  };
  std::string textOf(const ActionRing &ring, int32_t rank, const RankWait &wait,
                     const Ending &ending) const;

  const std::string folder;
  const Executable &exe;
  const World &world;
  /// Equal in all processes of the run, and in no other run.
  std::string name;
  /// When the run began, and what to add to this process's clock to get
  /// process 0's.
  int64_t originNs = 0, offsetNs = 0;
  Ticks ticks;
  bool isNoted = false;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LAST_WORDS_H
