//===- RondoScheduleImporter.cpp - Reads rondo-schedule -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/ForeignOrder.h"
#include "formats/json/Fields.h"
#include "formats/json/ScheduleReader.h"
#include "schedule/rules/Legality.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// The tasks of the rank lists, without a problem that says what there is.
Result<ForeignOrder> readOrder(const json::Value &ranks) {
  ForeignOrder order;
  std::string storage;
  json::Elements lists(ranks);
  while (std::optional<json::Value> list = lists.next()) {
    const size_t rank = order.size();
    std::vector<ForeignTask> &tasks = order.emplace_back();
    if (!list->isArray())
      return fail("ranks[" + Twine(rank) + "] is not a list");
    json::Elements names(*list);
    while (std::optional<json::Value> name = names.next()) {
      StringRef text = name->string(storage).value_or("");
      ForeignTask task;
      const StringRef letter = text.ltrim("0123456789").rtrim("0123456789");
      const ActionTraits *kind =
          llvm::find_if(actionTable.rows, [&](const ActionTraits &traits) {
            return traits.isTask() && letter == traits.code;
          });
      if (kind == std::end(actionTable.rows) ||
          text.consumeInteger(10, task.stage) || !text.consume_front(letter) ||
          text.getAsInteger(10, task.microbatch) || task.stage < 0 ||
          task.microbatch < 0)
        return fail(name->excerpt() + " in ranks[" + Twine(rank) +
                    "] is no task such as \"0F1\"; --problem FILE gives the "
                    "problem of other schedules");
      task.kind = kind->kind;
      tasks.push_back(task);
    }
  }
  return order;
}

Result<ExchangedSchedule> read(StringRef text, const ImportOptions &options,
                               std::vector<std::string> &notes) {
  if (auto fault = json::checkSyntax(text))
    return fail(describe(*fault));
  json::ScheduleText schedule{json::Value(text)};
  if (auto fault = schedule.readKeys())
    return fail(describe(*fault));
  if (std::optional<std::string> why = schedule.infeasible())
    return fail("the file states that no schedule exists: " + *why);
  ExchangedSchedule result;
  if (options.problem) {
    result.problem = *options.problem;
    result.hasTimes = true;
  } else {
    const json::Value *ranks = schedule.find("ranks");
    if (!ranks || !ranks->isArray())
      return fail("ranks is not a list");
    Result<ForeignOrder> order = readOrder(*ranks);
    if (!order)
      return order.fault();
    ImportOptions named = options;
    if (std::optional<std::string> name = schedule.problemName())
      named.name = *name;
    Result<ExchangedSchedule> assembled = assemble(*order, named);
    if (!assembled)
      return fail(describe(assembled.fault()) +
                  "; if the schedule is of another problem, such as one with "
                  "replicas, --problem FILE gives it");
    result.problem = std::move(assembled->problem);
  }
  auto fault = schedule.checkWindow(result.problem);
  if (fault)
    return fail(describe(*fault) +
                "; give the problem of the window, which --problem-output "
                "writes with the schedule");
  fault = schedule.checkClip(result.problem);
  bool isOrdered = false;
  if (!fault)
    fault =
        schedule.readAccumulation(result.problem, result.schedule, isOrdered);
  if (!fault)
    fault = schedule.readRanks(result.problem, result.schedule);
  if (!fault)
    fault = schedule.readLinkOrders(result.problem, result.schedule);
  if (!fault)
    fault = schedule.readCopyOrders(result.problem, result.schedule);
  if (fault)
    return fail(describe(*fault));
  if (auto broken = checkSchedule(result.problem, result.schedule))
    return fail(describe(*broken, result.problem));
  if (auto broken = isOrdered
                        ? checkAccumulation(result.problem, result.schedule)
                        : std::nullopt)
    return fail(describe(*broken, result.problem));
  if ((fault = schedule.readOverlap(result.problem, result.schedule,
                                    &result.overlap)))
    return fail(describe(*fault));
  if (const json::Value *family = schedule.find("family"))
    result.family = family->string().value_or("");
  result.clipsByNorm = schedule.clipsByNorm();
  return result;
}

} // namespace

Importer exchange::rondoScheduleImporter() {
  return {"rondo-schedule",
          "a schedule in Rondo's own format",
          {Part::Schedule},
          {"line"},
          read};
}
