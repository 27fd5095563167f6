//===- options.h - The command line of an executable ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_OPTIONS_H
#define RONDO_RUNTIME_TRAINER_OPTIONS_H

#include "runtime/adaptive/tuner.h"
#include "runtime/device/device.h"
#include "runtime/execution/fault.h"
#include "runtime/launch/discovery.h"
#include "runtime/optimizer/rule.h"
#include "runtime/trainer/schedules.h"
#include "runtime/transport/transport.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

struct Options {
  enum class Mode : uint8_t {
    Train,
    Verify,
    Profile,
    CheckBodies,
    Generate,
    Help
  };
  Mode mode = Mode::Train;
  /// Without `hasIterations`, the mode's default.
  int64_t iterations = 0;
  bool hasIterations = false;
  std::vector<std::string> data;
  double heldOut = 0.05;
  // For programs that draw documents; empty: the default.
  /// The token between documents of llm.c's files.
  std::optional<int32_t> endToken;
  /// Effort of the search for the schedule of each batch, in units of 1,000
  /// tasks, after the one that finds the order of sums.
  std::optional<int64_t> searchEffort;
  int64_t evalEvery = 0;
  double learningRate = 1e-3, minLearningRate = 1e-4;
  int64_t warmup = 20;
  /// Iteration that reaches the smallest learning rate; 0: the last one.
  int64_t decay = 0;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  /// Whether the command line names it; if not, chooseOptimizer() does.
  bool hasOptimizer = false;
  double weightDecay = 0.1, clip = 1;
  std::optional<double> momentum;
  // For iterations that overlap.
  /// The pipeline is drained after every `drainEvery` iterations.
  int64_t drainEvery = 100;
  /// Steps over which the rates of late stages rise to the common one.
  int64_t delayAnneal = 0;
  /// Decay of the mean change of weights over the steps between a forward and
  /// its backward: e^-2.
  double extrapolationDecay = 0.1353352832366127;
  std::optional<uint64_t> seed;
  /// Weights to begin with.
  std::string init;
  std::string save, resume, profile, trace, jsonLog, linksFile;
  int64_t saveEvery = 0;
  /// Empty: the program's first schedule, or all if it adapts.
  std::vector<ScheduleTurn> schedules;
  /// Whether the run changes its schedule with the network; by default an
  /// adaptive executable does, unless `schedules` names some.
  std::optional<bool> adapts;
  /// And searches for further schedules.
  bool searches = false;
  /// Bytes of each rank's arena, for schedules that the search finds; 0: as the
  /// compiled schedules need.
  int64_t adaptMemory = 0;
  TunerOptions tuner;
  /// The prompt of --generate: a text or tokens.
  std::string prompt;
  std::vector<int32_t> promptTokens;
  /// Number of tokens to add.
  std::optional<int64_t> newTokens;
  /// Divides the logits; 0: the most likely token.
  std::optional<double> temperature;
  /// The file for the logits of the prompt.
  std::string logits;
  ImposedLink link;
  /// The file with changes of links; empty: they do not change.
  std::string linkTrace;
  /// Period of the trace in its ms or iterations; 0: it is not repeated.
  int64_t linkTraceRepeat = 0;
  /// Folder for the last actions of ranks if the run fails; empty: none.
  std::string failureDir;
  /// Threads of each rank that compute; 0: its share of the cores.
  int32_t threads = 0;
  double timeoutSeconds = 600, joinSeconds = 60;
  LaunchFlags launch;
  /// Whether checksums travel with messages.
  bool checksMessages = false;
  /// For tests.
  Fault fault;
  bool quiet = false;
  /// Print what the channels have measured.
  bool showLinks = false;
  /// Copies to the host take as long as the plan's host links say.
  bool imposeHostLinks = false;
  /// Repeat a recorded iteration, on devices that can.
  bool useGraph = true;
  Attention attention = Attention::Fastest;
  /// The file of measured algorithms; empty: the library's first ones.
  std::string tune;
};

/// Fills in the mode's iterations and their decay, and what generating needs,
/// if the command line does not set them. Throws Error with Exit::Usage.
Options parseOptions(int argc, char **argv);
/// Completes the options with the optimizer that the program's memory is
/// planned for, if none is named. Throws Error if it has too little for the
/// one that is, or if --momentum is given without need.
void chooseOptimizer(const Executable &executable, Options &options);

/// Throws Error with Exit::Usage that points to --help.
[[noreturn]] void usage(const std::string &message);

/// The flags that must be equal in all processes: name, space and a word, one
/// flag per line. Of paths, which may differ between machines, the word says
/// whether they are given.
std::string commonFlags(const Options &options, const Executable &executable);

/// The text of --help.
std::string helpText(const std::string &program, const Executable &executable);

/// Throws Error with Exit::Usage if flags exclude or need each other.
/// `isVerify`, `isCheck`: whether --verify and --check-bodies are given, of
/// which options have the last one.
void checkTogether(const Options &options, bool isVerify, bool isCheck);

/// Throws Error with Exit::Usage if an output is the file of another output or
/// of an input; only --save may name the file of --resume. Opens no file.
/// Devices may be named several times.
void checkOwnFiles(const Options &options);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_OPTIONS_H
