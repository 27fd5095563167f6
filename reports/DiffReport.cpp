//===- DiffReport.cpp - Prediction and measurement ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/DiffReport.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rondo {

namespace {

struct Part {
  const char *words, *key;
  int64_t TimeUse::*ns;
};
/// Rows before the waits for ranks, and after them.
constexpr Part before[] = {{"tasks", "tasks_ns", &TimeUse::tasksNs}};
constexpr Part behind[] = {
    {"optimizer steps", "steps_ns", &TimeUse::stepsNs},
    {"collectives", "collectives_ns", &TimeUse::collectivesNs},
    {"handing over messages", "messages_ns", &TimeUse::messagesNs},
    {"host, other", "other_ns", &TimeUse::otherNs},
    {"done, others not", "done_ns", &TimeUse::doneNs}};

std::string signedNs(int64_t ns) {
  return ns < 0 ? "-" + formatNs(-ns) : "+" + formatNs(ns);
}

std::string onText(int32_t rank) {
  return rank < 0 ? std::string("nobody") : "rank " + std::to_string(rank);
}

void writeUse(llvm::json::OStream &json, StringRef key, const TimeUse &use) {
  json.attributeObject(key, [&] {
    for (const Part &part : before)
      json.attribute(part.key, use.*part.ns);
    json.attributeObject("waits_ns", [&] {
      for (const auto &[on, ns] : use.waitedNs)
        if (ns > 0)
          json.attribute(std::to_string(on), ns);
    });
    for (const Part &part : behind)
      json.attribute(part.key, use.*part.ns);
  });
}

} // namespace

void DiffReport::writeText(raw_ostream &os) const {
  const int64_t makespan = predicted.timeline.makespanNs;
  os << predicted.title << " of " << predicted.problem.name << ": " << word
     << " " << formatNs(makespan) << ", measured "
     << formatNs(iteration.durationNs);
  if (makespan > 0)
    os << format(" (%+.1f %%)", 100.0 *
                                    double(iteration.durationNs - makespan) /
                                    double(makespan));
  os << " in iteration " << iteration.number
     << (isChosen ? ""
                  : ", the one of median time of " + std::to_string(iterations))
     << "\n";
  Table table;
  table.add({"rank", "time of", word, "measured", "difference"});
  for (size_t rank = 0; rank < predictedUse.size(); ++rank) {
    bool isFirst = true;
    auto add = [&](const std::string &words, int64_t ns, int64_t measuredNs) {
      if (ns == 0 && measuredNs == 0)
        return;
      table.add({isFirst ? std::to_string(rank) : "", words, formatNs(ns),
                 formatNs(measuredNs), signedNs(measuredNs - ns)});
      isFirst = false;
    };
    const TimeUse &use = predictedUse[rank], &measured = measuredUse[rank];
    for (const Part &part : before)
      add(part.words, use.*part.ns, measured.*part.ns);
    std::map<int32_t, std::pair<int64_t, int64_t>> waits;
    for (const auto &[on, ns] : use.waitedNs)
      waits[on].first = ns;
    for (const auto &[on, ns] : measured.waitedNs)
      waits[on].second = ns;
    for (const auto &[on, ns] : waits)
      add("waiting for rank " + std::to_string(on), ns.first, ns.second);
    for (const Part &part : behind)
      add(part.words, use.*part.ns, measured.*part.ns);
  }
  table.print(os);
  if (!iteration.hasWaits)
    os << "the trace has no waits and messages: they are part of host, other\n";
  os << "largest differences\n";
  Table list;
  list.add({"rank", "what", word, "measured", "difference",
            std::string(word) + " at", "measured at",
            std::string("waited for, ") + word + " and measured"});
  for (const Difference &each : differences) {
    const std::string name = actionName(each.action, predicted.problem);
    std::vector<std::string> row = {std::to_string(each.rank),
                                    each.isWait ? "wait before " + name : name,
                                    formatNs(each.predictedNs),
                                    formatNs(each.measuredNs),
                                    signedNs(each.ns()),
                                    formatNs(each.predictedStartNs),
                                    formatNs(each.measuredStartNs)};
    if (each.isWait)
      row.push_back(onText(each.predictedOn) + ", " + onText(each.measuredOn));
    list.add(std::move(row));
  }
  list.print(os);
}

void DiffReport::writeJson(raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "rondo-diff/1");
    json.attribute("problem", predicted.problem.name);
    json.attribute("schedule", predicted.title);
    json.attribute("iteration", iteration.number);
    json.attribute("iterations", iterations);
    json.attribute("predicted_ns", predicted.timeline.makespanNs);
    json.attribute("measured_ns", iteration.durationNs);
    json.attribute("has_waits", iteration.hasWaits);
    json.attributeArray("ranks", [&] {
      for (size_t rank = 0; rank < predictedUse.size(); ++rank)
        json.object([&] {
          writeUse(json, "predicted", predictedUse[rank]);
          writeUse(json, "measured", measuredUse[rank]);
        });
    });
    json.attributeArray("differences", [&] {
      for (const Difference &each : differences)
        json.object([&] {
          json.attribute("what", each.isWait ? "wait" : "task");
          json.attribute("task", actionName(each.action, predicted.problem));
          json.attribute("rank", each.rank);
          json.attribute("predicted_ns", each.predictedNs);
          json.attribute("measured_ns", each.measuredNs);
          json.attribute("predicted_start_ns", each.predictedStartNs);
          json.attribute("measured_start_ns", each.measuredStartNs);
          if (each.predictedOn >= 0)
            json.attribute("predicted_on", each.predictedOn);
          if (each.measuredOn >= 0)
            json.attribute("measured_on", each.measuredOn);
        });
    });
  });
  os << "\n";
}

} // namespace rondo
