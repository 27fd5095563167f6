//===- peers.cpp - Against the best public generators ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/oracles.h"
#include "bench/search/table.h"

#include <map>

using namespace rondo;

/// A case is the best of its placements, which share a name up to the slash.
static std::string caseOf(const Problem &problem) {
  return problem.name.substr(0, problem.name.find('/'));
}

void measurePeers(const Settings &settings, Objective objective) {
  const bool isSpan = objective == Objective::Span;
  std::vector<Problem> problems =
      readProblemsOrExit(settings.oracles + "/peers.problems.jsonl");
  llvm::json::Value peers =
      readValueOrExit(settings.oracles + "/peers.best.json");
  std::map<std::string, std::vector<Problem *>> cases;
  for (Problem &problem : problems) {
    problem.objective = objective;
    cases[caseOf(problem)].push_back(&problem);
  }
  CaseTable table(settings, "the best peer");
  size_t number = 0;
  for (auto &[name, placements] : cases)
    if (settings.takes(number++, name))
      table.add(name, placements,
                integerOf(peers, name, isSpan ? "span_ns" : "makespan_ns"));
  table.print(isSpan ? "span" : "makespan");
}
