//===- tuning.h - The file of measured choices ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_TUNING_H
#define RONDO_RUNTIME_TRAINER_TUNING_H

#include "runtime/backend/backend.h"
#include "runtime/trainer/options.h"

#include <memory>
#include <string>

namespace rondo::runtime {

/// --tune of a run. Process 0 reads the file for all, if there is one, and
/// writes it. A run of one process writes it after each new choice, several
/// when they end well: then it has the choices of all, of the lowest process
/// where several have chosen.
class Tuning {
public:
  /// Before devices are made. Does nothing without --tune. Throws Error if the
  /// file cannot be read, or if the backend has nothing to choose.
  Tuning(const Executable &executable, const Options &options,
         const World &world);
  /// All processes call it at the end of a run without errors.
  void finish();

private:
  const std::string path;
  const World &world;
  std::unique_ptr<ChoiceTuner> tuner;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_TUNING_H
