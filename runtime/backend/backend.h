//===- backend.h - What an executable's ranks run on ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend is a kind of device and the transports between such devices. An
// executable names its backend (rondo_runtime.h); the library that defines that
// name is linked.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BACKEND_BACKEND_H
#define RONDO_RUNTIME_BACKEND_BACKEND_H

#include "runtime/device/device.h"
#include "runtime/launch/secret.h"
#include "runtime/launch/world.h"
#include "runtime/model/executable.h"
#include "runtime/transport/transport.h"

#include <memory>
#include <vector>

namespace rondo::runtime {

/// Choices that a backend makes by measuring, as text for the next run.
class ChoiceTuner {
public:
  virtual ~ChoiceTuner() = default;
  /// Everything chosen so far.
  virtual std::string text() const = 0;
  /// Adds what another process has chosen and this one has not. Throws Error if
  /// it is of another kind of device.
  virtual void add(const std::string &text) = 0;
};

/// Parameters of ChoiceTuner.
struct TuningParams {
  /// The text's name in errors: "--tune 'FILE'".
  std::string name;
  /// The choices of earlier runs; empty: none.
  std::string text;
  /// Whether to choose what the text lacks.
  bool mayMeasure = true;
  /// Gets the text after each new choice; may be empty.
  std::function<void(const std::string &text)> changed;
};

/// Functions of a backend whose ranks run as processes, through which alone the
/// core of the runtime reaches the code that finds and connects processes.
struct ProcessSupport {
  const char *name;
  // The next three may be null.
  /// Called once, before anything else. Throws Error if the process was not
  /// started as the backend requires, and PeerFailed if another process reports
  /// a failure.
  void (*start)(const Launch &launch);
  /// Gives all processes the text of process 0.
  std::string (*broadcast)(const std::string &text);
  /// Called at the end of a successful run.
  void (*stop)();

  Launch (*discover)(const LaunchFlags &flags,
                     const Environment &environment) = discoverLaunch;
  std::string (*secret)(const std::string &file,
                        const Environment &environment) = secretFrom;
  std::unique_ptr<Store> (*join)(const StoreParams &params,
                                 const Rendezvous &rendezvous) = joinStore;
};

struct Backend {
  /// The device of a rank held by this process, in an executable with `ranks`
  /// ranks. Throws Error, with Exit::NoDevice if this machine has none.
  std::unique_ptr<Device> (*makeDevice)(int32_t rank, int32_t ranks,
                                        const World &world);
  /// Connects the ranks of a program: rank r works on devices[r], which is null
  /// if another process holds it. All processes make the same transports in the
  /// same order. The devices outlive the transport.
  std::unique_ptr<Transport> (*makeTransport)(
      const TransportParams &params, const std::vector<Device *> &devices,
      const TransportOptions &options, const World &world);
  /// Null: ranks are threads of one process.
  const ProcessSupport *processes = nullptr;
  /// Limits of what its transports stage to add.
  SumLimits sums = sumsOfProcesses;
  /// Starts choosing by measuring, for all devices made while the object lives;
  /// one object at a time. Throws Error if the text is malformed. Null: there
  /// is nothing to choose.
  std::unique_ptr<ChoiceTuner> (*makeTuner)(const TuningParams &params) =
      nullptr;
  /// Which attention devices take that are made from now on. Null: there is
  /// only one.
  void (*useAttention)(Attention attention) = nullptr;
  /// Whether ranks compute in threads of the process.
  bool usesThreads = true;
};

/// Ranks on a CPU as threads of this process.
extern const Backend cpuBackend;

/// The backend that an executable names.
inline const Backend &backendOf(const Executable &executable) {
  return executable.backend ? *executable.backend : cpuBackend;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BACKEND_BACKEND_H
