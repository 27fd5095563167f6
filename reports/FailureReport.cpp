//===- FailureReport.cpp - Which rank ended a run, in words ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "reports/FailedRun.h"
#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cstdint>

using namespace llvm;

namespace rondo {

namespace {

using Why = FailedRun::Why;

std::string rankText(int64_t rank) { return "rank " + std::to_string(rank); }

/// `1F0 of iteration 3`.
std::string actionText(const json::FailureAction &action) {
  const std::string when =
      action.iteration > 0 ? " of iteration " + std::to_string(action.iteration)
                           : "";
  if (action.kind == "begin")
    return "the beginning" + when;
  if (action.kind == "drain")
    return "the end" + when;
  if (action.kind == "idle")
    return "nothing after the end" + when;
  return action.name + when;
}

/// ` waits for 1F0 from rank 1`.
std::string waitText(const json::FailureWait &wait) {
  if (wait.what == "release")
    return " waits until " + wait.name + " is received by " +
           rankText(wait.rank);
  if (wait.what == "collective")
    return " waits in " + wait.name + " for " + rankText(wait.rank);
  return " waits for " + wait.name + " from " + rankText(wait.rank);
}

/// The state of a rank that waits for no other rank.
std::string stateText(const FailedRun &run, int64_t rank) {
  const json::Failure *file = run.file(rank);
  if (!file)
    return " left no file";
  const json::FailureAction *action = run.last(rank);
  if (!action)
    return " has begun nothing";
  if (action->kind == "idle")
    return " is idle after iteration " + std::to_string(action->iteration);
  return " is at " + actionText(*action) + ", for " +
         formatNs(std::max<int64_t>(0, file->endedNs - action->startNs));
}

/// `rank 2 waits for 1F0 from rank 1, which waits for ...`, as rule L2 says it.
std::string chainText(const FailedRun &run, ArrayRef<int64_t> chain) {
  std::string text = rankText(chain.front());
  for (size_t i = 0; i < chain.size(); ++i) {
    const json::FailureWait *wait = run.wait(chain[i]);
    if (i + 1 == chain.size() && i > 0 && run.isUnderWay(chain[i - 1]))
      return text + ", which has sent it";
    if (i + 1 == chain.size())
      return text +
             (wait ? "" : (i ? ", which" : "") + stateText(run, chain[i]));
    text += (i ? ", which" : "") + waitText(*wait);
  }
  return text;
}

std::string causeText(const FailedRun &run, const FailedRun::Cause &cause) {
  const std::string rank = rankText(cause.rank);
  const json::FailureAction *action = run.last(cause.rank);
  const std::string where = action ? ", at " + actionText(*action) : "";
  switch (cause.why) {
  case Why::Killed:
    return rank + " stopped first: it left no file, so it was killed, or its "
                  "process or machine hangs";
  case Why::Error:
    return rank + " stopped first" + where + ": " + run.file(cause.rank)->error;
  case Why::Runs:
    return rank + " stopped first: it" + stateText(run, cause.rank) +
           ", and others wait for it";
  case Why::Longest:
    return rank + " stopped first: nobody waits for another rank, and it" +
           stateText(run, cause.rank) + ", longer than the others";
  case Why::UnderWay:
    return "no rank stopped first: " + run.wait(cause.rank)->name + " from " +
           rankText(run.wait(cause.rank)->rank) + " to " + rank +
           " has been sent and has not arrived";
  case Why::Cycle:
    return "no rank stopped first: ranks wait for each other in a cycle [L2]";
  case Why::Unknown:
    break;
  }
  return "no rank waits for another one, and none says why the run ended";
}

std::string listOf(ArrayRef<int64_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == ranks.size() ? " and "
                                     : ", ") +
            std::to_string(ranks[i]);
  return text;
}

struct Moment {
  int64_t rank;
  const json::FailureAction *action;
};

/// The last actions of all ranks, in the order in which they began.
std::vector<Moment> lastMoments(const FailedRun &run, size_t most) {
  std::vector<Moment> moments;
  for (int64_t rank = 0; rank < run.numRanks(); ++rank)
    if (const json::Failure *file = run.file(rank))
      for (const json::FailureAction &action : file->actions)
        moments.push_back({rank, &action});
  stable_sort(moments, [](const Moment &a, const Moment &b) {
    return a.action->startNs < b.action->startNs;
  });
  // Unfinished actions are kept, however early they began.
  size_t drop = moments.size() > most ? moments.size() - most : 0;
  llvm::erase_if(moments, [&](const Moment &moment) {
    if (drop == 0 || moment.action->isUnfinished())
      return false;
    --drop;
    return true;
  });
  return moments;
}

void printTimeline(raw_ostream &os, const FailedRun &run, size_t most) {
  const std::vector<Moment> moments = lastMoments(run, most);
  if (moments.empty() || most == 0)
    return;
  int64_t end = INT64_MIN;
  for (const Moment &moment : moments)
    end = std::max({end, moment.action->startNs, moment.action->endNs});
  os << "\nlast actions, before the last one began or ended:\n";
  Table table;
  table.add({"before", "rank", "action", "took", "waits"});
  for (const auto &[rank, action] : moments) {
    std::string waits;
    if (action->isUnfinished() && run.wait(rank))
      waits = StringRef(waitText(*action->wait)).drop_front().str();
    else if (action->wait && action->wait->ns >= 0)
      waits = "waited " + formatNs(action->wait->ns) + " for " +
              action->wait->name + " from " + rankText(action->wait->rank);
    table.add({formatNs(end - action->startNs), std::to_string(rank),
               actionText(*action),
               action->isUnfinished()
                   ? "unfinished"
                   : formatNs(action->endNs - action->startNs),
               waits});
  }
  table.print(os);
}

} // namespace

void writeText(raw_ostream &os, const FailedRun &run, size_t most) {
  const FailedRun::Cause cause = run.cause();
  const std::vector<int64_t> missing = run.missing();
  os << "run " << run.any().run << ": " << countOf(run.numRanks(), "rank")
     << ", schedule '" << run.any().schedule << "'";
  if (!missing.empty())
    os << ", no file of " << listOf(missing);
  os << "\n" << causeText(run, cause) << "\n";
  if (cause.chain.size() > 1)
    os << "waits: " << chainText(run, cause.chain) << "\n";
  for (int64_t rank = 0; rank < run.numRanks(); ++rank) {
    if (is_contained(cause.chain, rank) || !run.file(rank))
      continue;
    const std::vector<int64_t> chain = run.chainFrom(rank);
    os << "also: " << chainText(run, chain) << "\n";
  }
  // Ranks that are threads have one error.
  std::vector<std::string> said;
  if (cause.why == Why::Error)
    said.push_back(run.file(cause.rank)->error);
  for (int64_t rank = 0; rank < run.numRanks(); ++rank)
    if (const json::Failure *file = run.file(rank);
        file && file->ended != json::Failure::Ending::Stopped &&
        !is_contained(said, file->error)) {
      os << rankText(rank) << " says: " << file->error << "\n";
      said.push_back(file->error);
    }
  printTimeline(os, run, most);
}

static StringRef wordOf(Why why) {
  switch (why) {
  case Why::Killed:
    return "no file";
  case Why::Error:
    return "error";
  case Why::Runs:
    return "runs";
  case Why::Longest:
    return "longest";
  case Why::UnderWay:
    return "under way";
  case Why::Cycle:
    return "cycle";
  case Why::Unknown:
    break;
  }
  return "unknown";
}

void writeJson(raw_ostream &os, const FailedRun &run) {
  const FailedRun::Cause cause = run.cause();
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("run", run.any().run);
    json.attribute("program", run.any().program);
    json.attribute("schedule", run.any().schedule);
    json.attribute("ranks", run.numRanks());
    json.attributeArray("missing", [&] {
      for (int64_t rank : run.missing())
        json.value(rank);
    });
    json.attribute("why", wordOf(cause.why));
    if (cause.why != Why::Unknown && cause.why != Why::Cycle &&
        cause.why != Why::UnderWay)
      json.attributeObject("first", [&] {
        json.attribute("rank", cause.rank);
        if (const json::Failure *file = run.file(cause.rank))
          json.attribute("error", file->error);
        if (const json::FailureAction *action = run.last(cause.rank)) {
          json.attribute("action", action->name);
          json.attribute("iteration", action->iteration);
        }
      });
    json.attributeArray("waits", [&] {
      for (int64_t rank = 0; rank < run.numRanks(); ++rank)
        if (const json::FailureWait *wait = run.wait(rank))
          json.object([&] {
            json.attribute("rank", rank);
            json.attribute("for", wait->name);
            json.attribute("of", wait->rank);
            json.attribute("what", wait->what);
          });
    });
  });
  os << "\n";
}

} // namespace rondo
