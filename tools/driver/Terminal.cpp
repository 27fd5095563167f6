//===- Terminal.cpp - Ctrl-C and the live line of a search ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Terminal.h"

#include "reports/Figures.h"
#include "schedule/simulate/Objective.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace llvm;

namespace rondo::driver {

/// A signal handler can only reach a global.
static std::atomic<bool> isInterrupted{false};

Interrupt::Interrupt() {
  sys::SetInterruptFunction([] { isInterrupted = true; });
}

Interrupt::~Interrupt() { sys::SetInterruptFunction(nullptr); }

const std::atomic<bool> *Interrupt::flag() { return &isInterrupted; }

bool Interrupt::happened() { return isInterrupted; }

int Interrupt::exitCode(int code) {
  if (code != Success || !happened())
    return code;
  reportNote("interrupted: this is the best schedule found so far");
  return Interrupted;
}

Progress::Progress(size_t count)
    : count(count), begin(std::chrono::steady_clock::now()) {
  if (sys::Process::StandardErrIsDisplayed())
    ticker = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!ticker.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  ending.notify_one();
  ticker.join();
}

void Progress::show(const Problem &problem, const std::string &of,
                    const SearchProgress &now) {
  if (!ticker.joinable())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  name = of;
  objective = objectiveName(problem);
  latest = now;
}

void Progress::step() {
  std::lock_guard<std::mutex> lock(mutex);
  ++done;
}

/// `2 of 9 problems  mid: makespan 251 ms, bound 240 ms (LB5), gap 4.6 %, 0.7
/// s`
std::string Progress::line() const {
  std::string text;
  raw_string_ostream os(text);
  if (count > 1)
    os << done << " of " << count << " problems  ";
  if (objective) {
    os << name << ": ";
    bool isFound = latest.objectiveNs != std::numeric_limits<int64_t>::max();
    if (isFound)
      os << objective << " " << formatNs(latest.objectiveNs);
    else
      os << "no schedule yet";
    os << ", bound " << formatNs(latest.bound.ns) << " ("
       << printedBound(latest.bound.name) << "), ";
    if (isFound && latest.bound.ns > 0)
      os << format("gap %.1f %%, ",
                   100 * (double(latest.objectiveNs) / latest.bound.ns - 1));
  }
  auto passed = std::chrono::steady_clock::now() - begin;
  os << format("%.1f s", std::chrono::duration<double>(passed).count());
  return text;
}

void Progress::run() {
  bool isShown = false;
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending.wait_for(lock, std::chrono::milliseconds(250),
                          [&] { return isEnding; })) {
    // A line that wraps cannot be erased.
    unsigned columns = sys::Process::StandardErrColumns();
    errs() << "\r\x1b[K" << line().substr(0, columns ? columns - 1 : 79);
    isShown = true;
  }
  if (isShown)
    errs() << "\r\x1b[K";
}

} // namespace rondo::driver
