//===- MegatronLayoutImporter.cpp - Reads Megatron-LM's layouts -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/ForeignOrder.h"
#include "formats/exchange/MegatronLayout.h"
#include "planning/model/GivenCuts.h"
#include "schedule/rules/Legality.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Megatron-LM's rules for the letters of its stages.
std::optional<Fault> check(llvm::ArrayRef<StringRef> stages, int64_t ranks) {
  std::string letters;
  for (StringRef stage : stages)
    letters += stage;
  const StringRef all = letters;
  if (all.count('E') != 1 || !all.starts_with("E"))
    return fail("E, the embedding, must come first, and once");
  if (all.count('L') != 1 || !all.ends_with("L"))
    return fail("L, the head, must come last, and once");
  if (all.count('t') == 0)
    return fail("there is no t, a decoder layer");
  if (int64_t(stages.size()) % ranks != 0)
    return fail("there are " + countOf(stages.size(), "stage") +
                ", which cannot lie evenly on " + countOf(ranks, "rank"));
  if (all.count('m') == 0)
    return std::nullopt;
  if (all.find('m') < all.rfind('t'))
    return fail("m, multi-token prediction, must come after every t");
  for (size_t s = 0; s < stages.size(); ++s) {
    const size_t here = stages[s].count('m');
    if (here == 0)
      continue;
    if (here != all.count('m'))
      return fail("stage " + Twine(s) + " has " + Twine(here) + " of " +
                  Twine(all.count('m')) + " m; all must be in one stage");
    if (int64_t(s) < int64_t(stages.size()) - ranks)
      return fail("m is in stage " + Twine(s) +
                  ", but must be in the last one of its rank, of the stages "
                  "from " +
                  Twine(int64_t(stages.size()) - ranks) + " on");
  }
  return std::nullopt;
}

Result<ExchangedSchedule> read(StringRef text, const ImportOptions &options,
                               std::vector<std::string> &notes) {
  StringRef layout = text.trim();
  // As on a command line.
  if (layout.size() >= 2 && (layout.front() == '"' || layout.front() == '\'') &&
      layout.back() == layout.front())
    layout = layout.drop_front().drop_back();
  const LayoutLetters expanded =
      expandLayout(layout.str(), /*mayPredict=*/true);
  if (!expanded.fault.empty())
    return fail(expanded.fault);
  if (expanded.isLoose)
    notes.push_back("Megatron-LM refuses blanks, line breaks and groups "
                    "without a number; the same as it takes it: " +
                    expanded.letters);
  llvm::SmallVector<StringRef> stages;
  StringRef(expanded.letters).split(stages, '|');
  const int64_t ranks = options.ranks > 0 ? options.ranks
                        : options.problem ? options.problem->numRanks()
                                          : 0;
  if (ranks == 0)
    return fail("a layout does not state its ranks; give --ranks N");
  if (std::optional<Fault> fault = check(stages, ranks))
    return *fault;
  ExchangedSchedule result;
  if (options.problem) {
    result.problem = *options.problem;
    if (result.problem.numRanks() != ranks ||
        result.problem.numStages() != int64_t(stages.size()))
      return fail("there are " + countOf(stages.size(), "stage") + " on " +
                  countOf(ranks, "rank") + ", but problem '" +
                  result.problem.name + "' has " +
                  countOf(result.problem.numStages(), "stage") + " on " +
                  countOf(result.problem.numRanks(), "rank"));
    for (int32_t stage = 0; stage < result.problem.numStages(); ++stage)
      if (result.problem.replicas.isReplicated() ||
          result.problem.rankOf(stage) != stage % ranks)
        return fail("Megatron-LM places stage s on rank s mod P, and problem "
                    "'" +
                    Twine(result.problem.name) + "' does not");
  } else {
    if (options.microbatches == 0)
      return fail("a layout does not state the micro-batches of an iteration; "
                  "give --microbatches N");
    std::vector<int64_t> rankOf(stages.size());
    for (size_t s = 0; s < stages.size(); ++s)
      rankOf[s] = int64_t(s) % ranks;
    result.problem =
        unitProblem(options.name, ranks, rankOf, options.microbatches);
    for (size_t s = 0; s < stages.size(); ++s) {
      const auto blocks = int64_t(stages[s].count('t') + stages[s].count('m'));
      result.problem.setStageCost(int32_t(s), blocks, blocks, blocks, 0, 0);
    }
    if (std::optional<Fault> fault = result.problem.check())
      return fail(describe(*fault, result.problem));
    notes.push_back("F, I and W take 1 ns for each t and m, and nothing for E "
                    "and L; --problem gives real costs");
  }
  const MegatronGroups groups = {ranks, int64_t(stages.size()) / ranks,
                                 result.problem.microbatches,
                                 options.group > 0 ? options.group : ranks};
  if (groups.chunks == 1 && options.group > 0)
    return fail("each rank has one stage, and the 1F1B schedule of these has "
                "no groups; leave out --group");
  if (std::string why = whyNoGroups(groups); !why.empty())
    return fail(
        why + (groups.microbatches < ranks || ranks == 1
                   ? ""
                   : " (--group " + std::to_string(groups.microbatches) + ")"));
  bool hasPrediction = false;
  for (StringRef stage : stages) {
    result.layers.push_back(
        {stage.contains('E'), stage.contains('L'), int64_t(stage.count('t'))});
    hasPrediction |= stage.contains('m');
  }
  // Other tools have no name for them.
  if (hasPrediction)
    result.layers.clear();
  result.family = groups.chunks == 1 ? "1f1b"
                  : groups.size == ranks
                      ? "interleaved-1f1b"
                      : "interleaved-1f1b:group=" + std::to_string(groups.size);
  result.schedule = megatronSchedule(result.problem, groups.size);
  if (auto fault = checkSchedule(result.problem, result.schedule))
    return fail(describe(*fault, result.problem));
  return result;
}

} // namespace

Importer exchange::megatronLayoutImporter() {
  return {"megatron-layout",
          "a value of --pipeline-model-parallel-layout, with the schedule "
          "that Megatron-LM runs",
          {Part::Layers},
          {"ranks", "microbatches", "group"},
          read};
}
