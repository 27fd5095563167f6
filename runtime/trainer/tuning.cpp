//===- tuning.cpp - The file of measured choices --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/tuning.h"

#include "runtime/base/files.h"
#include "runtime/launch/store.h"

#include <filesystem>

using namespace rondo::runtime;

static void writeChoices(const std::string &path, const std::string &text) {
  writeTextFile(path, "'" + path + "'", text);
}

static std::string readChoices(const std::string &path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return "";
  return readTextFile("--tune", path);
}

Tuning::Tuning(const Executable &executable, const Options &options,
               const World &world)
    : path(options.tune), world(world) {
  if (path.empty())
    return;
  const Backend &backend = backendOf(executable);
  if (!backend.makeTuner)
    throwInAll(world, Error("--tune chooses among algorithms of GPUs, and '" +
                                std::string(executable.name) +
                                "' is for CPUs: leave it out",
                            Exit::Usage));
  TuningParams params;
  params.name = "--tune '" + path + "'";
  if (world.isFirst())
    params.text = readChoices(path);
  if (world.isAlone()) {
    params.changed = [path = path](const std::string &text) {
      writeChoices(path, text);
    };
  } else {
    params.text = world.store->exchange("--tune", params.text).front();
    // The sequential reference of process 0 must choose what the others do.
    params.mayMeasure = options.mode != Options::Mode::Verify;
  }
  try {
    tuner = backend.makeTuner(params);
  } catch (const Error &error) {
    throwInAll(world, error);
  }
}

void Tuning::finish() {
  if (!tuner || world.isAlone())
    return;
  // Process 0 may have been the only one with work.
  const std::vector<std::string> all = world.store->exchange(
      "the end of --tune", tuner->text(), Store::Patience::WhileAlive);
  if (!world.isFirst())
    return;
  for (const std::string &text : all)
    tuner->add(text);
  writeChoices(path, tuner->text());
}
