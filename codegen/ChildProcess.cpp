//===- ChildProcess.cpp - Runs a program that ends with this one ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/ChildProcess.h"

#include "llvm/Support/Program.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>

using namespace rondo::codegen;

// A signal handler reaches only globals.
static std::atomic<pid_t> child{0};
static std::atomic<int> received{0};

/// The child leads a group, as soon as it has started.
static void passOn(int signal) {
  if (const pid_t pid = child)
    if (kill(-pid, signal) != 0)
      kill(pid, signal);
}

static void handle(int signal) {
  const int before = errno;
  received = signal;
  passOn(signal);
  errno = before;
}

namespace {

/// While it exists, signals go to the child and are kept.
class SignalsToChild {
public:
  SignalsToChild() {
    child = 0;
    received = 0;
    struct sigaction action = {};
    action.sa_handler = handle;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(signals); ++i) {
      sigaction(signals[i], nullptr, &before[i]);
      // A signal that is ignored, as under nohup, stays ignored.
      if (before[i].sa_handler != SIG_IGN)
        sigaction(signals[i], &action, nullptr);
    }
  }
  ~SignalsToChild() {
    child = 0;
    for (size_t i = 0; i < std::size(signals); ++i)
      sigaction(signals[i], &before[i], nullptr);
    if (const int signal = received)
      raise(signal);
  }

  void setChild(pid_t pid) {
    child = pid;
    if (const int signal = received)
      passOn(signal);
  }

private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before[std::size(signals)];
};

} // namespace

int rondo::codegen::runChild(
    llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
    llvm::ArrayRef<std::optional<llvm::StringRef>> redirects,
    std::string &message) {
  SignalsToChild forward;
  bool failed = false;
  const llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      program, arguments, std::nullopt, redirects, 0, &message, &failed,
      /*AffinityMask=*/nullptr, /*DetachProcess=*/true);
  if (failed)
    return -1;
  forward.setChild(process.Pid);
  return llvm::sys::Wait(process, std::nullopt, &message).ReturnCode;
}
