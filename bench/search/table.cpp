//===- table.cpp - Tables of results --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/table.h"
#include "schedule/partial/FlatProblem.h"

#include <algorithm>
#include <cstdio>

using namespace rondo;

void Ratios::add(const std::string &name, int64_t found, int64_t reference,
                 std::string note) {
  // If no task takes time, both are 0.
  const double ratio =
      found == reference ? 1 : double(found) / double(reference);
  rows.push_back({ratio, name, found, reference, std::move(note)});
  sum += rows.back().ratio;
  worse += found > reference;
  better += found < reference;
}

double Ratios::worst() const {
  double most = 0;
  for (const Row &row : rows)
    most = std::max(most, row.ratio);
  return most;
}

void Ratios::show(size_t most) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.ratio > b.ratio;
  });
  for (size_t i = 0; i < rows.size(); ++i)
    if (i < most || (most > 0 && rows[i].found > rows[i].reference))
      fprintf(stderr, "%s: %lld ns, reference %lld ns, ratio %.4f%s\n",
              rows[i].name.c_str(), (long long)rows[i].found,
              (long long)rows[i].reference, rows[i].ratio,
              rows[i].note.c_str());
}

CaseTable::CaseTable(const Settings &settings, const char *reference)
    : settings(settings) {
  printf("| cases | objective | better than %s | equal | worse | mean ratio "
         "| worst ratio | mean gap to the bound | worst gap "
         "| mean gap of a placement | worst | mean seconds a problem "
         "| longest |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
         reference);
}

void CaseTable::add(const std::string &name, std::vector<Problem *> placements,
                    int64_t reference) {
  int64_t best = never, bound = never;
  std::string note;
  for (Problem *problem : placements) {
    Run run = searchOne(*problem, settings, settings.limitMs);
    bound = std::min(bound, run.result.bound.ns);
    if (run.objective < best) {
      best = run.objective;
      note = ", " + problem->name.substr(problem->name.find('/') + 1) + " by " +
             run.result.origin;
    }
    placementGaps.add(problem->name, run.objective, run.result.bound.ns);
    seconds += run.seconds;
    longest = std::max(longest, run.result.seconds);
    ++searched;
  }
  note += ", bound " + std::to_string(bound);
  ratios.add(name, best, reference, note);
  gaps.add(name, best, bound);
}

void CaseTable::print(const char *objective) {
  if (!ratios.count())
    return;
  printf("| %lld | %s | %lld | %lld | %lld | %.4f | %.4f | %.2f %% | %.2f %% "
         "| %.2f %% | %.2f %% | %.3f | %.3f |\n\n",
         ratios.count(), objective, ratios.better,
         ratios.count() - ratios.better - ratios.worse, ratios.worse,
         ratios.mean(), ratios.worst(), 100 * (gaps.mean() - 1),
         100 * (gaps.worst() - 1), 100 * (placementGaps.mean() - 1),
         100 * (placementGaps.worst() - 1), seconds / double(searched),
         longest);
  fflush(stdout);
  ratios.show(settings.show);
}
