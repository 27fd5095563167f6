//===- store.h - What connects the processes of a run -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_STORE_H
#define RONDO_RUNTIME_LAUNCH_STORE_H

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/world.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Values that the processes of a run share, other than a program's messages:
/// identifiers of communicators, results of an iteration, traces, failures.
/// Thread-safe. Functions that wait throw Error with
/// Exit::RunFailure on a time-out, and PeerFailed as soon as another process
/// has failed.
class Store {
public:
  virtual ~Store();
  /// Each key may be set once.
  virtual void set(const std::string &key, const std::string &value) = 0;
  /// Blocks until the key is set.
  virtual std::string get(const std::string &key) = 0;
  /// Returns once all processes of the run have called it with this name.
  virtual void barrier(const std::string &name) = 0;
  /// The limit of an exchange.
  enum class Patience {
    /// Up to the time-out.
    Usual,
    /// As long as they report() progress.
    WhileReported,
    /// As long as their processes answer, whatever they do.
    WhileAlive,
  };
  /// Gives every process the values of all, in the order of processes. A name
  /// may be reused once all calls have returned.
  virtual std::vector<std::string>
  exchange(const std::string &name, const std::string &value,
           Patience patience = Patience::Usual) = 0;
  /// give() hands a value to the one process that calls take(). Both block
  /// until then, so that only one copy of a large value is held.
  virtual void give(const std::string &key, const std::string &value) = 0;
  virtual std::string take(const std::string &key) = 0;

  /// Throws PeerFailed if another process has failed, and Error if process 0 is
  /// lost or does not answer.
  virtual void check() = 0;
  /// This process begins a phase. Errors of other processes that wait for it
  /// name the last one.
  virtual void enter(Phase) {}
  /// Ends all other processes with this exit code; the caller ends as well.
  /// Process 0 prints `why`, unless it is empty or the run has already failed,
  /// in which case this is a consequence. Returns false if nobody received the
  /// message.
  virtual bool fail(Exit code, const std::string &why) = 0;
  /// Ends a successful run: returns once all processes have called it. A
  /// process whose store is destroyed without this call counts as lost.
  virtual void leave() = 0;
  /// Reports what this process is doing; reports() returns each process's last
  /// report.
  virtual void report(const std::string &text) = 0;
  struct Report {
    /// Empty: no report yet.
    std::string text;
    /// Since anything was received from the process.
    double silentSeconds = 0;
  };
  /// Throws Error if process 0 does not answer within a few seconds.
  virtual std::vector<Report> reports() = 0;
  /// Numeric addresses, which need no name lookup: where other processes reach
  /// this one, unless it is on process 0's machine, and where it reached
  /// process 0.
  /// `atFirst` is the latter as process 0's machine calls it, which a network
  /// may translate.
  struct Addresses {
    std::string own, ofFirst, atFirst;
  };
  virtual Addresses addresses() = 0;
  /// The shared secret of the run, for further connections between its
  /// processes; empty: none, and the run is open.
  virtual std::string secret() { return std::string(); }
  /// Offset to add to nowNs() here to get process 0's; 0 on one machine.
  virtual int64_t clockOffsetNs() = 0;
};

/// For a run of one process.
std::unique_ptr<Store> makeLocalStore();

/// A process may be silent for the time-out and this time. Waits that can name
/// what they wait for expire first.
inline constexpr double silenceSeconds = 2;

/// Which processes take part in a run.
struct StoreParams {
  int32_t process = 0, processes = 1;
  /// The run and its program, equal in all its processes. Processes with other
  /// values are refused.
  std::string job, program;
  /// Equal in all processes. Empty: process 0 makes one if it can send
  /// it to the others by a file or a broadcast; otherwise anyone who can reach
  /// its port may join.
  std::string secret;
  /// Limits of the time in which all processes join, and of the time in which
  /// one may then keep the others waiting; 0 for the second: no limit. A
  /// process that does not answer ends the run silenceSeconds later in any
  /// case.
  double joinSeconds = 60, timeoutSeconds = 600;
  /// The clock by which process 0 measures both, and another process the
  /// silence of process 0, each in one thread; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
  /// Kill the process if it is still alive 5 s after the run has failed.
  bool endsStuckProcess = true;
  /// Reports a failure in process 0; null: prints an error on standard error.
  std::function<void(const std::string &)> say;
  /// Reports a note; null: prints it on standard error.
  std::function<void(const std::string &)> note;
  /// For tests: called in this process when it has entered a phase; may be
  /// null.
  std::function<void(Phase)> entered;
};

/// The place where processes find process 0.
struct Rendezvous {
  /// Gives all processes the text of process 0; null: use the fields below.
  std::string (*broadcast)(const std::string &text) = nullptr;
  /// The file to which process 0 writes its address and the run's secret;
  /// empty: use `host` and `port`.
  std::string file;
  std::string host;
  int port = 0;
  /// Process 0 takes the first free port of this many, starting at `port`.
  int numPorts = 1;
  /// All processes are on one machine: use only its loopback interface,
  /// whatever `host` says.
  bool isLocal = false;
};

/// Process 0 listens and serves in a thread; all processes connect to it.
/// Returns when all have arrived. Throws Error if the address is in use or this
/// process is turned away, and with Exit::RunFailure if processes do not arrive
/// in time.
std::unique_ptr<Store> joinStore(const StoreParams &params,
                                 const Rendezvous &rendezvous);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_STORE_H
