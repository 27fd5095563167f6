//===- ComparePlans.cpp - Families on plans of different shapes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/PlanArenas.h"
#include "plans/PlanFactory.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Simulate.h"

namespace rondo::driver {

int comparePlans(const SimulateRequest &request, const ShapeRequest &wanted) {
  ModuleFile file;
  pipe::PlanOp base;
  if (int code = readBasePlan(file, request.path, base))
    return code;
  std::vector<PlanShape> shapes;
  if (int code = chooseShapes(wanted, base, shapes))
    return code;
  pipe::PlanFactory factory(base);
  std::vector<PlanCandidate> candidates = makeCandidates(
      pipe::shapeSpace(factory), shapes, request.search->objective, Deadline());
  if (request.style == Style::Csv)
    llvm::outs() << csvHead();
  const auto without = planless(candidates);
  std::vector<Outcome> outcomes;
  for (PlanCandidate &candidate : candidates) {
    const std::string name =
        base.getSymName().str() + " " + candidate.shape.text();
    if (!candidate.plan) {
      if (auto said = without.find(&candidate); said != without.end())
        reportNote(base.getSymName() + " " + said->second + ": " +
                   reasonOf(candidate, candidates));
      continue;
    }
    if (!candidate.isOpen()) {
      reportNote(name + ": " + reasonOf(candidate, candidates));
      continue;
    }
    candidate.plan->problem.name = name;
    Comparison comparison(candidate.plan->problem, request.style);
    comparison.showArenas(candidate.plan->figures);
    comparison.addSearched(runSearch(candidate.plan->problem, *request.search,
                                     &candidate.plan->figures),
                           *request.search, request.allRanks);
    for (const FamilyChoice &choice : request.choices) {
      Candidate made = evaluate(
          choice, candidate.plan->problem, comparison.needsTimes(),
          PlanArenas(candidate.plan->figures, candidate.plan->problem));
      addArena(made, candidate.plan->problem, candidate.plan->figures);
      comparison.add(made);
    }
    outcomes.push_back(comparison.finish());
    if (request.curves)
      request.curves->push_back(comparison.curve());
    if (Interrupt::happened())
      return Interrupted;
  }
  if (outcomes.empty())
    return reportError(base.getSymName() +
                       ": no plan has any of these shapes; see the notes");
  return exitCodeOf(outcomes);
}

} // namespace rondo::driver
