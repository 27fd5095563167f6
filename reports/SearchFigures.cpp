//===- SearchFigures.cpp - What a search has found, in words --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/SearchFigures.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Objective.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace rondo {

std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs) {
  if (isProvenOptimal)
    return "proven optimal";
  std::string text;
  raw_string_ostream(text) << "at most "
                           << format("%.2f",
                                     100.0 * double(reachedNs - boundNs) /
                                         double(std::max<int64_t>(boundNs, 1)))
                           << " % above the optimum";
  return text;
}

/// `3.10 %`.
static std::string percentText(double percent) {
  std::string text;
  raw_string_ostream(text) << format("%.2f", percent) << " %";
  return text;
}

std::string figuresOf(const Problem &problem, const SearchResult &result) {
  const int64_t reached = objectiveOf(problem, result.simulation);
  if (result.givenNs)
    return std::string(objectiveName(problem)) + " " + formatNs(reached) +
           ", " + gapText(result.provenOptimal, reached, result.bound.ns) +
           "; peak memory " + formatBytes(fullestPeak(result.simulation)) +
           "; micro-batches in the given order take " +
           formatNs(*result.givenNs) + ", their order gains " +
           percentText(100.0 * double(*result.givenNs - reached) /
                       double(std::max<int64_t>(*result.givenNs, 1)));
  return std::string(objectiveName(problem)) + " " + formatNs(reached) + ", " +
         gapText(result.provenOptimal, reached, result.bound.ns) +
         "; peak memory " + formatBytes(fullestPeak(result.simulation)) +
         ", the least found for this " + objectiveName(problem);
}

/// `90 ns`, `181 ns for 2 iterations`.
static std::string textOf(const SettledTime &time) {
  if (time.ns % time.iterations == 0)
    return formatNs(time.ns / time.iterations);
  const int64_t common = std::gcd(time.ns, int64_t(time.iterations));
  return formatNs(time.ns / common) + " for " +
         countOf(time.iterations / common, "iteration");
}

std::string figuresOf(const WindowSearchResult &result) {
  const WindowFigures &figures = result.figures;
  std::string text =
      "iteration " + textOf(figures.time) +
      (figures.time.isExact ? ", " : " in the mean of its window, ");
  if (result.isOptimal)
    text += "optimal";
  else
    text += gapText(false, figures.time.ns,
                    result.boundNs * figures.time.iterations);
  const int64_t most =
      *std::max_element(figures.heldBytes.begin(), figures.heldBytes.end());
  text += "; " + (result.policy.empty() ? "" : result.policy + ", ") +
          result.origin + "; " +
          countOf(result.problem.microbatchesEach(), "micro-batch") +
          (figures.delay == 0
               ? ", no task late, "
               : ", at most " + countOf(figures.delay, "update") + " late, ") +
          countOf(figures.copies, "version") + ", " + formatBytes(most) +
          " on a rank";
  if (!result.unlimited)
    return text;
  const WindowFigures &unlimited = *result.unlimited;
  text += "; " + textOf(unlimited.time) + " would take ";
  if (result.shortRank >= 0) {
    const int32_t rank = result.shortRank;
    const int64_t held = unlimited.heldBytes[rank];
    const int64_t missing = held - result.problem.memoryCaps[rank];
    text += formatBytes(held) + " on rank " + std::to_string(rank) +
            (missing > 0 ? ", " + formatBytes(missing) + " more than it has"
                         : ", which its program's messages do not leave");
  }
  text += (result.shortRank >= 0 ? ", and " : "") + std::string("a delay of ") +
          countOf(unlimited.delay, "update");
  return text;
}

json::SearchRecord recordOf(const WindowSearchResult &result,
                            const SearchOptions &options) {
  json::SearchRecord record;
  // The bound is per iteration; the record is of the whole window.
  record.lowerBoundNs = result.boundNs * result.problem.iterations;
  record.bound = "L1";
  record.provenOptimal = result.simulation.makespanNs == record.lowerBoundNs;
  record.seed = options.seed;
  record.effort = result.effort;
  record.seconds = result.seconds;
  record.stopped = stopName(result.stop);
  const SettledTime &time = result.figures.time;
  record.iteration = {time.ns,
                      time.iterations,
                      time.isExact,
                      result.boundNs,
                      result.isOptimal,
                      result.policy,
                      result.figures.heldBytes};
  return record;
}

} // namespace rondo
