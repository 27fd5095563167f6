//===- main.cpp - What an emitted program's main() calls ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/StandardStreams.h"
#include "runtime/backend/backend.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/bodies/linear.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"
#include "runtime/model/executable.h"
#include "runtime/trainer/extras.h"
#include "runtime/trainer/options.h"
#include "runtime/trainer/session.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

using namespace rondo::runtime;

/// Each data file and each connection to another process takes a file
/// descriptor. Shells allow fewer than the system does.
static void allowManyFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  // On failure the limit stays as it was.
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// Past the limit of `ulimit -f`, writing fails like on a full disk instead of
/// ending the process, so that it is reported and the temporary file removed.
static void reportFileLimit() { std::signal(SIGXFSZ, SIG_IGN); }

/// Processes with different flags would wait for messages that nobody sends, or
/// train something else.
static void checkFlags(const Executable &executable, const Options &options,
                       const World &world) {
  if (world.isAlone())
    return;
  std::vector<std::string> all =
      world.store->exchange("the flags", commonFlags(options, executable));
  for (size_t process = 1; process < all.size(); ++process) {
    std::istringstream first(all.front()), other(all[process]);
    std::string name, wanted, found;
    while (first >> name >> wanted && other >> name >> found)
      if (found != wanted)
        throwInAll(world,
                   Error("rank " + std::to_string(process) +
                             " was started with different flags than rank "
                             "0: " +
                             name + " is " + found + " there, " + wanted +
                             " here; start all with the same flags",
                         Exit::Usage));
  }
}

/// Clipping needs a norm; where iterations overlap, each stage has its own.
static void checkClip(const Executable &executable, const Options &options,
                      const World &world) {
  const bool hasWeights =
      std::any_of(executable.programs[0].shares,
                  executable.programs[0].shares + executable.numReplicas,
                  [](const ShareDesc &share) {
                    return share.bytes[static_cast<int>(Buffer::Weights)] > 0;
                  });
  if (options.clip <= 0 || !hasWeights)
    return;
  const bool runsAll =
      options.mode == Options::Mode::Verify && options.schedules.empty();
  const Turns turns(executable, options.schedules);
  for (const ProgramDesc *program :
       runsAll ? pipelinesOf(executable) : turns.programs()) {
    if (computesNorm(*program) || program->overlap)
      continue;
    std::ostringstream said;
    said << "schedule '" << program->name
         << "' computes no norm of the gradients, so it cannot clip them to "
         << options.clip << "; run it with --clip 0";
    throwInAll(world, Error(said.str(), Exit::Usage));
  }
}

/// The arenas of a run that may search, in bytes by rank.
static std::vector<int64_t> arenasOf(const Executable &executable,
                                     const Options &options,
                                     const World &world) {
  std::vector<int64_t> bytes(executable.arenaBytes,
                             executable.arenaBytes + executable.numRanks);
  if (options.adaptMemory == 0)
    return bytes;
  if (!options.searches)
    throwInAll(world, Error("--adapt-memory is for what a search finds: add "
                            "--adapt search",
                            Exit::Usage));
  for (size_t rank = 0; rank < bytes.size(); ++rank) {
    if (bytes[rank] > options.adaptMemory)
      throwInAll(world, Error("--adapt-memory is " +
                                  std::to_string(options.adaptMemory) +
                                  " bytes, but the compiled schedules need " +
                                  std::to_string(bytes[rank]) + " on rank " +
                                  std::to_string(rank),
                              Exit::Usage));
    // A rank without stages needs none.
    if (bytes[rank] > 0)
      bytes[rank] = options.adaptMemory;
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// --tune.
//===----------------------------------------------------------------------===//

namespace {

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

} // namespace

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

//===----------------------------------------------------------------------===//
// Modes.
//===----------------------------------------------------------------------===//

static int checkBodies(const Executable &executable, const Options &options) {
  if (!executable.extras.bodyCheck)
    throw Error("'" + std::string(executable.name) + "' has no custom layer",
                Exit::Usage);
  return executable.extras.bodyCheck->run(executable, options);
}

/// Flags that need a part of the runtime which the program has not linked.
static void checkExtras(const Executable &executable, const Options &options,
                        const World &world) {
  if (options.mode == Options::Mode::Generate && !executable.extras.generation)
    throwInAll(world, headMissing(executable));
  if (options.imposeHostLinks && !executable.hostLinks)
    throwInAll(world, Error("--impose-host-links is for programs that copy "
                            "activations to the host, which this one does not",
                            Exit::Usage));
  for (const auto &[flag, isGiven] :
       {std::pair("--end-token", options.endToken.has_value()),
        std::pair("--search-effort", options.searchEffort.has_value())})
    if (isGiven && !executable.extras.batches)
      throwInAll(world, Error(std::string(flag) +
                                  " is for programs that draw documents: "
                                  "compile a plan with tokens<...>",
                              Exit::Usage));
  if (executable.extras.batches && options.adapts.value_or(false))
    throwInAll(world, Error("--adapt chooses among schedules of equal "
                            "iterations, but this program finds a schedule for "
                            "each batch: leave it out",
                            Exit::Usage));
  if (executable.extras.links)
    return;
  for (const auto &[flag, isGiven] :
       {std::pair("--link", options.link.isImposed()),
        std::pair("--link-trace", !options.linkTrace.empty())})
    if (isGiven)
      throwInAll(world, Error(std::string(flag) + " needs a program that can "
                                                  "impose links: compile it "
                                                  "with --impose-links",
                              Exit::Usage));
}

/// The data that the layers read: tokens, or the names of streams.
static std::string describeData(const Executable &executable) {
  const std::vector<StreamDesc> streams =
      streamsOf(executable.layers, executable.numLayers);
  if (streams.empty())
    return "tokens";
  std::string names;
  for (const StreamDesc &stream : streams)
    names += (names.empty() ? "'" : ", '") + std::string(stream.name) + "'";
  return "samples of " + names + " in safetensors files";
}

static int runMode(const Executable &compiled, const Options &options,
                   const World &world) {
  const std::vector<int64_t> arenas = arenasOf(compiled, options, world);
  Executable executable = compiled;
  executable.arenaBytes = arenas.data();
  if (options.mode == Options::Mode::CheckBodies)
    return world.isFirst() ? checkBodies(executable, options) : 0;
  checkExtras(executable, options, world);
  bool isTraining = options.mode == Options::Mode::Train;
  bool needs = needsData(executable);
  if (isTraining && needs && options.data.empty())
    throwInAll(world,
               Error("this program trains on " + describeData(executable) +
                         ": --data FILE is missing",
                     Exit::Usage));
  if (!needs && !options.data.empty())
    throwInAll(world, Error("'" + std::string(executable.name) +
                                "' has no layer that reads data: leave out "
                                "--data",
                            Exit::Usage));
  // Process 0 alone writes files.
  if (world.isFirst())
    checkOwnFiles(options);
  if (options.mode == Options::Mode::Profile) {
    // Tasks are measured one at a time, by process 0 with all stages.
    if (!world.isFirst())
      return 0;
    Trainer trainer(executable, options, true);
    return profileModel(trainer, options);
  }
  if (isTraining || options.mode == Options::Mode::Verify)
    checkClip(executable, options, world);
  Trainer trainer(executable, options, options.data.empty(), world);
  try {
    if (options.mode == Options::Mode::Generate)
      return executable.extras.generation->run(trainer, options);
    return options.mode == Options::Mode::Verify ? verifyModel(trainer, options)
                                                 : trainModel(trainer, options);
  } catch (...) {
    trainer.failed(std::current_exception());
    throw;
  }
}

static void checkGpuLinks(const Options &options, const World &world) {
  if (options.link.isImposed())
    throwInAll(world,
               Error("--link cannot slow down links between GPUs: leave it out",
                     Exit::Usage));
  if (!options.linkTrace.empty())
    throwInAll(
        world,
        Error("--link-trace cannot change links between GPUs: leave it out",
              Exit::Usage));
}

static int run(const Executable &executable, const Options &options,
               const World &world) {
  turnOffThreadsOfBlas();
  checkFlags(executable, options, world);
  const Backend &backend = backendOf(executable);
  if (options.attention != Attention::Fastest && !backend.useAttention)
    throwInAll(world, Error("--attention chooses between kernels for GPUs: "
                            "leave it out",
                            Exit::Usage));
  if (options.threads > 0 && !backend.usesThreads)
    throwInAll(world, Error("--threads is for programs that compute on CPUs: "
                            "leave it out",
                            Exit::Usage));
  if (!backend.usesThreads)
    checkGpuLinks(options, world);
  if (backend.useAttention)
    backend.useAttention(options.attention);
  Tuning tuning(executable, options, world);
  const int status = runMode(executable, options, world);
  tuning.finish();
  return status;
}

/// Standard output may be on a full disk.
static void checkOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw Error("cannot write to standard output");
}

int rondo::runtime::run_executable(const Executable &executable, int argc,
                                   char **argv) {
  reserveStandardStreams();
  takeKernelsOfProcessor();
  Exit code = Exit::Failure;
  std::string message;
  std::unique_ptr<Session> session;
  try {
    Options options = parseOptions(argc, argv);
    if (options.mode == Options::Mode::Help) {
      if (isFirstProcess(executable))
        std::fputs(
            helpText(argc > 0 ? argv[0] : executable.name, executable).c_str(),
            stdout);
      checkOutput();
      return 0;
    }
    chooseOptimizer(executable, options);
    // Check names before processes meet.
    Turns(executable, options.schedules);
    allowManyFiles();
    reportFileLimit();
    session = std::make_unique<Session>(executable, options.launch,
                                        options.joinSeconds,
                                        options.timeoutSeconds, options.fault);
    int status = run(executable, options, session->world());
    checkOutput();
    return session->leave(status);
  } catch (const Error &error) {
    code = error.code;
    if (session || code != Exit::Usage || isFirstProcess(executable) ||
        dynamic_cast<const OwnError *>(&error))
      message = error.what();
  } catch (const PeerFailed &failure) {
    code = failure.code;
  } catch (const std::exception &error) {
    message = reasonOf(error);
  }
  std::fflush(stdout);
  const bool isSaid = session && session->fail(code, message);
  const bool saysItself = !isSaid && !message.empty();
  if (saysItself)
    sayError(message);
  // Launchers end all processes when the first one ends: let rank 0 report an
  // error of all first, and those that wait for the same lost rank name it.
  if (saysItself ? session && !session->world().isAlone() : !session)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  return static_cast<int>(code);
}
