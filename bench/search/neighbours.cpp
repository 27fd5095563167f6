//===- neighbours.cpp - Compared with peers and families ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/ranks.h"
#include "bench/search/table.h"
#include "schedule/families/Family.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/rules/Legality.h"

#include <algorithm>

using namespace rondo;

/// The least objective of a family that fits.
static int64_t bestFamily(const Problem &problem) {
  int64_t best = never;
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult made = generate(choice, problem);
    Simulation simulation;
    if (made)
      if (!checkAndSimulate(problem, *made, simulation))
        best = std::min(best, objectiveOf(problem, simulation));
  }
  return best;
}

/// Cases like the peers' with different costs, ranks and micro-batches, against
/// the families.
void measureNeighbours(const Settings &settings) {
  const Costs rows[] = {
      {"even", 9000, 9000, 9000, 200, 0, 0},
      {"slow links", 10000, 11500, 7000, 2400, 0, 0},
      {"light W", 8000, 9600, 3200, 320, 0, 0},
      {"heavy W", 10000, 9000, 12000, 700, 0, 0},
      {"heavy ends", 10000, 10400, 6400, 240, 900, 3600},
  };
  for (Objective objective : {Objective::Makespan, Objective::Span}) {
    CaseTable table(settings, "the best family");
    size_t number = 0;
    for (int32_t ranks : {6, 12, 24})
      for (int32_t microbatches : {ranks, ranks + 5, 3 * ranks - 1})
        for (int64_t percent : {60, 100, 150})
          for (const Costs &costs : rows) {
            const std::string name = std::string(costs.name) + "-p" +
                                     std::to_string(ranks) + "-m" +
                                     std::to_string(microbatches) + "-" +
                                     std::to_string(percent) + "%";
            if (!settings.takes(number++, name))
              continue;
            std::vector<Problem> placements;
            const struct {
              const char *name;
              int32_t rows;
              Shape shape;
            } shapes[] = {{"linear", 1, Shape::Looped},
                          {"looped2", 2, Shape::Looped},
                          {"v2", 2, Shape::V},
                          {"looped4", 4, Shape::Looped}};
            int64_t reference = never;
            for (const auto &shape : shapes) {
              placements.push_back(rankProblem(costs, ranks, shape.rows,
                                               microbatches, shape.shape,
                                               8 * ranks * percent / 100));
              placements.back().name = name + "/" + shape.name;
              placements.back().objective = objective;
              reference = std::min(reference, bestFamily(placements.back()));
            }
            std::vector<Problem *> pointers;
            for (Problem &problem : placements)
              pointers.push_back(&problem);
            table.add(name, pointers, reference);
          }
    table.print(objective == Objective::Span ? "span" : "makespan");
  }
}
