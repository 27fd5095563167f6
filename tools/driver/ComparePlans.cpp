//===- ComparePlans.cpp - Families on plans of other shapes ---------------===//

#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/PlanCandidates.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Simulate.h"

namespace rondo::driver {

int comparePlans(const SimulateRequest &request) {
  ModuleFile file;
  pipe::PlanOp base;
  if (int code = readBasePlan(file, request.path, base))
    return code;
  std::vector<pipe::PlanShape> shapes;
  if (int code = chooseShapes(shapeRequest(), base, shapes))
    return code;
  std::vector<Shaped> candidates =
      makeCandidates(base, shapes, pipe::WallLimit(0));
  if (request.style == Style::Csv)
    llvm::outs() << csvHead();
  const auto without = planless(candidates);
  std::vector<Outcome> outcomes;
  for (Shaped &candidate : candidates) {
    const std::string name =
        base.getSymName().str() + " " + candidate.shape.text();
    if (!candidate.plan) {
      if (auto said = without.find(&candidate); said != without.end())
        reportNote(base.getSymName() + " " + said->second + ": " +
                   candidate.why);
      continue;
    }
    if (!candidate.why.empty()) {
      reportNote(name + ": " + candidate.why);
      continue;
    }
    candidate.problem.name = name;
    Comparison comparison(candidate.problem, request.style);
    comparison.showArenas(candidate.figures);
    comparison.addSearched(runSearch(candidate.problem, &candidate.figures),
                           request.allRanks);
    for (const FamilyChoice &choice : request.choices) {
      Candidate made =
          evaluate(choice, candidate.problem, comparison.needsTimes());
      addArena(made, candidate.problem, candidate.figures);
      comparison.add(made);
    }
    outcomes.push_back(comparison.finish());
    if (Interrupt::happened())
      return Interrupted;
  }
  if (outcomes.empty())
    return reportError(base.getSymName() +
                       ": no plan has one of these shapes; the notes say why");
  return exitCodeOf(outcomes);
}

} // namespace rondo::driver
