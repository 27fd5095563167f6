//===- Evaluate.cpp - A schedule and its figures --------------------------===//

#include "tools/driver/Evaluate.h"

#include "tools/driver/Report.h"

namespace rondo::driver {

Candidate evaluate(std::string name, std::string family, const Problem &problem,
                   Schedule schedule, bool keepTimes) {
  Candidate candidate;
  candidate.name = std::move(name);
  candidate.family = std::move(family);
  candidate.violation =
      checkSchedule(problem, schedule, &candidate.simulation, keepTimes);
  if (candidate.violation) {
    candidate.reason = describe(*candidate.violation, problem);
    return candidate;
  }
  candidate.schedule = std::move(schedule);
  return candidate;
}

Candidate evaluate(const FamilyChoice &choice, const Problem &problem,
                   bool keepTimes) {
  FamilyResult result = generate(choice, problem);
  if (auto *schedule = std::get_if<Schedule>(&result))
    return evaluate(choice.text(), choice.text(), problem, std::move(*schedule),
                    keepTimes);
  Candidate candidate;
  candidate.name = candidate.family = choice.text();
  candidate.reason = std::get<NotApplicable>(result).reason;
  return candidate;
}

std::optional<Shortfall> findShortfall(const Problem &problem) {
  std::vector<int64_t> least(problem.numRanks());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    least[problem.rankOf(stage)] +=
        problem.cost(stage, ActionKind::Forward).acquireBytes;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    int64_t cap = problem.memoryCaps[rank];
    if (least[rank] > cap)
      return Shortfall{rank, "no schedule fits: rank " + std::to_string(rank) +
                                 " may hold " + countOf(cap, "byte") +
                                 ", but one micro-batch of its stages takes " +
                                 countOf(least[rank], "byte") + ", " +
                                 std::to_string(least[rank] - cap) + " more"};
  }
  return std::nullopt;
}

} // namespace rondo::driver
