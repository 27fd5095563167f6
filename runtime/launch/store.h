//===- store.h - What connects the processes of a run -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_STORE_H
#define RONDO_RUNTIME_LAUNCH_STORE_H

#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Values that the processes of a run share, apart from messages of programs:
/// identifiers of communicators, results of an iteration, tensors of a
/// checkpoint, failures. Any thread may call. Functions that wait throw Error
/// with Exit::RunFailure if that takes too long, and PeerFailed as soon as
/// another process has failed.
class Store {
public:
  virtual ~Store();
  /// A key is set once.
  virtual void set(const std::string &key, const std::string &value) = 0;
  /// Blocks until the key is set.
  virtual std::string get(const std::string &key) = 0;
  /// Returns once all processes of the run have called it with that name.
  virtual void barrier(const std::string &name) = 0;
  /// For how long processes may be missing at an exchange.
  enum class Patience {
    /// The time-out.
    Usual,
    /// As long as they report() progress.
    WhileReported,
    Endless,
  };
  /// Gives every process the values of all, in the order of processes. A name
  /// may be used again once all have returned.
  virtual std::vector<std::string>
  exchange(const std::string &name, const std::string &value,
           Patience patience = Patience::Usual) = 0;
  /// Hands a value to the one process that takes it; both block until then, so
  /// that a large value lies in one place only.
  virtual void give(const std::string &key, const std::string &value) = 0;
  virtual std::string take(const std::string &key) = 0;

  /// Throws PeerFailed where another process has failed.
  virtual void check() = 0;
  /// Ends all other processes with that code; the caller ends as well. Process
  /// 0 says `why`, if it is not empty, unless the run has failed before: then
  /// this is a consequence. Returns false if nobody has received the message.
  virtual bool fail(Exit code, const std::string &why) = 0;
  /// Returns once all processes have called it: the run has ended as it should.
  /// A process whose store is destroyed without this counts as lost.
  virtual void leave() = 0;
  /// Reports what this process is doing; reports() returns the last report of
  /// each.
  virtual void report(const std::string &text) = 0;
  struct Report {
    /// Empty: no report yet.
    std::string text;
    /// Since anything came from the process.
    double silentSeconds = 0;
  };
  /// Throws Error where process 0 does not answer within some seconds.
  virtual std::vector<Report> reports() = 0;
  /// Numeric addresses that need no names: where others reach this process,
  /// unless it is on process 0's machine, and where it has reached process 0.
  struct Addresses {
    std::string own, ofFirst;
  };
  virtual Addresses addresses() = 0;
  /// What to add to nowNs() here to have process 0's: 0 on one machine.
  virtual int64_t clockOffsetNs() = 0;
};

/// For a run of one process.
std::unique_ptr<Store> makeLocalStore();

/// Who takes part in a run of several processes.
struct StoreParams {
  int32_t process = 0, processes = 1;
  /// Both are the same in all processes of a run: which run it is, and which
  /// program. Others are turned away.
  std::string job, program;
  /// How long processes may take to join, and how long any may keep the others
  /// waiting once all have; the second may be 0: for ever.
  double joinSeconds = 60, timeoutSeconds = 600;
  /// What process 0 measures both by, in one thread; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
  /// Ends the process if it is still there 5 s after the run has failed.
  bool endsStuckProcess = true;
  /// What process 0 does with the message of a failure; null: an error on
  /// standard error.
  std::function<void(const std::string &)> say;
};

/// Where process 0 is found.
struct Rendezvous {
  /// Gives all processes the text of process 0; null: they look below.
  std::string (*broadcast)(const std::string &text) = nullptr;
  /// The file that process 0 writes its address in; empty: `host` and `port`.
  std::string file;
  std::string host;
  int port = 0;
  /// Process 0 takes the first free one of so many ports from `port` on.
  int numPorts = 1;
  /// All are on one machine: they use its loopback interface alone, whatever
  /// `host` says.
  bool isLocal = false;
};

/// Process 0 listens and serves in a thread; all connect to it. Returns when
/// all have come. Throws Error: where the address is in use, where this process
/// is turned away, and with Exit::RunFailure where some do not come in time.
std::unique_ptr<Store> joinStore(const StoreParams &params,
                                 const Rendezvous &rendezvous);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_STORE_H
