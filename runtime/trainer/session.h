//===- session.h - This process's part in a run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_SESSION_H
#define RONDO_RUNTIME_TRAINER_SESSION_H

#include "runtime/execution/fault.h"
#include "runtime/launch/discovery.h"
#include "runtime/launch/world.h"
#include "runtime/model/executable.h"

namespace rondo::runtime {

struct ProcessSupport;

/// Whether this is process 0, judged by the environment alone: the command line
/// is not parsed yet.
bool isFirstProcess(const Executable &executable);

/// Finds out how this process was started and joins the others. Errors that
/// concern all processes are reported by rank 0 alone; the others throw
/// PeerFailed.
class Session {
public:
  /// Throws Error; with Exit::Usage if the number of processes is neither 1 nor
  /// the executable's number of ranks, or if the program cannot run in several
  /// processes. Processes may arrive `joinSeconds` apart, and later keep others
  /// waiting for `timeoutSeconds`.
  /// `fault` is for tests.
  Session(const Executable &executable, const LaunchFlags &flags,
          double joinSeconds, double timeoutSeconds, const Fault &fault = {});

  const World &world() const { return place; }
  /// Ends a run that has finished: waits for all processes. Returns process 0's
  /// status.
  int leave(int status);
  /// Ends a run in which this process has failed; the others end too. True:
  /// process 0 reports the reason, once for all. False: the caller must.
  bool fail(Exit code, const std::string &why) {
    return store->fail(code, why);
  }

private:
  const Launch launch;
  const ProcessSupport *support;
  const double timeoutSeconds;
  std::unique_ptr<Store> store;
  World place;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_SESSION_H
