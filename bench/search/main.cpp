//===- main.cpp - The search against optima, peers and size ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   search [--oracles=FOLDER] [--limit-ms=N] [--every=N] [--from=N]
//          [--only=PART,...] [--clock=wall|cpu] [--threads=N] [--show=N]
//          [--match=TEXT] [--without=NAME]
//
// PART is small, mixed, offload, makespan, span, neighbours, tight, growth or,
// with
// --threads, threads. presets runs only if it is named, and takes minutes: it
// chooses a table of presets like that of schedule/search/PatternPresets.cpp.
// FOLDER holds small.problems.jsonl, small.optima.json, the same for mixed and
// offload, peers.problems.jsonl and peers.best.json, by default
// ../shared/oracles if it exists. Takes every N-th problem or case (default 9),
// starting at number
// --from, whose name contains TEXT. --clock=cpu limits the processor time of
// the search, so that figures are valid on a busy machine. --threads is how
// many work on a problem, by wall time. --show prints the names of the N worst
// cases. --without leaves out a bound or a part of the search, such as LB5 (or
// L5, its name in JSON) or steady-state.
//
//===----------------------------------------------------------------------===//

#include "bench/search/measure.h"
#include "schedule/search/SearchParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace rondo;

/// The name in its table of a bound or a part of the search; empty if there is
/// none.
static std::string nameInTable(const std::string &name) {
  for (const BoundArgument &row : boundArguments())
    if (name == row.name || name == printedBound(row.name))
      return row.name;
  for (const SearchPart &row : searchParts())
    if (name == row.name)
      return name;
  return "";
}

static Settings readArgumentsOrExit(int argc, char **argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    auto [key, value] = llvm::StringRef(argv[i]).split('=');
    bool isGood = true;
    auto number = [&](auto &into, int64_t least) {
      int64_t read = 0;
      isGood = !value.getAsInteger(10, read) && read >= least;
      into = read;
    };
    if (key == "--oracles") {
      settings.oracles = value.str();
      settings.isGiven = true;
    } else if (key == "--limit-ms") {
      number(settings.limitMs, 1);
    } else if (key == "--every") {
      number(settings.every, 1);
    } else if (key == "--from") {
      number(settings.from, 0);
    } else if (key == "--show") {
      number(settings.show, 0);
    } else if (key == "--threads") {
      number(settings.threads, 1);
    } else if (key == "--only") {
      settings.only = value.str();
    } else if (key == "--match") {
      settings.match = value.str();
    } else if (key == "--without") {
      settings.without = nameInTable(value.str());
      isGood = !settings.without.empty();
    } else if (key == "--clock") {
      settings.isProcessorClock = value == "cpu";
      isGood = value == "cpu" || value == "wall";
    } else {
      isGood = false;
    }
    if (!isGood) {
      fprintf(stderr,
              "cannot take '%s': see the head of bench/search/main.cpp\n",
              argv[i]);
      exit(2);
    }
  }
  if (settings.isProcessorClock && settings.threads > 1) {
    fprintf(stderr, "--clock=cpu is the time of one thread\n");
    exit(2);
  }
  return settings;
}

int main(int argc, char **argv) {
  const Settings settings = readArgumentsOrExit(argc, argv);
  if (settings.isGiven || access(settings.oracles.c_str(), R_OK) == 0) {
    if (settings.takes("small"))
      measureOptima(settings, "small");
    if (settings.takes("mixed"))
      measureOptima(settings, "mixed");
    if (settings.takes("offload"))
      measureOptima(settings, "offload");
    if (settings.takes("makespan"))
      measurePeers(settings, Objective::Makespan);
    if (settings.takes("span"))
      measurePeers(settings, Objective::Span);
  }
  if (settings.takes("neighbours"))
    measureNeighbours(settings);
  if (settings.takes("tight"))
    measureTight(settings);
  if (settings.takes("growth"))
    measureGrowth(settings);
  if (!settings.only.empty() && settings.takes("presets"))
    measurePresets(settings);
  if (settings.threads > 1 && settings.takes("threads"))
    measureThreads(settings);
  return 0;
}
