//===- PropagationTables.cpp - Tables of Propagation ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/Propagation.h"

using namespace rondo;

static std::vector<CapOrder> capOrdersOf(const FlatProblem &flat,
                                         bool withMemory) {
  std::vector<CapOrder> result;
  if (!withMemory || !flat.hasTightMemory)
    return result;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    result.emplace_back(flat, rank);
  return result;
}

Propagation::Propagation(const FlatProblem &flat, bool withMemory)
    : flat(flat), withMemory(withMemory && flat.hasTightMemory),
      capOrders(capOrdersOf(flat, withMemory)), tail(flat, capOrders),
      place(flat.stages), workSeen(flat.ranks), cursors(flat.stages) {
  for (auto &column : head)
    column.assign(size_t(flat.stages) * flat.microbatches, 0);
  messageStart.assign(flat.messages.size() * flat.microbatches, 0);
  for (const auto &stages : flat.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i)
      place[stages[i]] = int32_t(i);
  limits.resize(flat.stages);
  listReleases();
  listRows();
}

void Propagation::listReleases() {
  for (const auto &stages : flat.stagesOf) {
    std::vector<Release> &all = releases.emplace_back();
    for (const int32_t s : stages)
      for (Task task : {Task::I, Task::W})
        if (const int64_t bytes = flat.freedBy(task, s); bytes > 0)
          all.push_back({place[s], task, bytes, flat.ns[task][s],
                         &head[task][flat.at(s, 0)]});
    for (const int32_t s : stages) {
      cursors[s].begin = int32_t(nextReleases.size());
      nextReleases.resize(nextReleases.size() + all.size());
    }
  }
}

void Propagation::listRows() {
  for (Task task : {Task::F, Task::I})
    for (int32_t s = 0; s < flat.stages; ++s) {
      Row &row = rows[task].emplace_back();
      row.rank = flat.rankOf[s];
      row.ns = flat.ns[task][s];
      row.heads = &head[task][flat.at(s, 0)];
      row.tails = &tail.ns[task][flat.at(s, 0)];
      if (!flat.isChain)
        listTasksBefore(row, task, s);
      listInputs(row, task, s);
      row.serialOutputs.begin = int32_t(serialOutputs.size());
      for (int32_t e : flat.outputs(task, s))
        if (flat.messages[e].occupancyNs > 0)
          serialOutputs.push_back(e);
      row.serialOutputs.end = int32_t(serialOutputs.size());
    }
}

void Propagation::listTasksBefore(Row &row, Task task, int32_t s) {
  row.before.begin = int32_t(before.size());
  for (Task earlier : {Task::F, Task::I})
    for (int32_t other : flat.stagesOf[row.rank])
      if (earlier <= task && (earlier != task || other != s) &&
          flat.leadsTo(earlier, other, task, s))
        before.push_back({codeOf(earlier, other), flat.ns[earlier][other]});
  row.before.end = int32_t(before.size());
}

void Propagation::listInputs(Row &row, Task task, int32_t s) {
  row.inputs.begin = int32_t(inputs.size());
  for (int32_t e : flat.inputs(task, s)) {
    const FlatProblem::Message &message = flat.messages[e];
    const bool isSerial = message.occupancyNs > 0;
    inputs.push_back(
        {e, isSerial ? std::nullopt : std::optional(codeOf(task, message.from)),
         isSerial ? &messageStart[flat.messageAt(e, 0)]
                  : &head[task][flat.at(message.from, 0)],
         message.latencyNs +
             (isSerial ? message.occupancyNs : flat.ns[task][message.from]),
         message.latencyNs});
  }
  row.inputs.end = int32_t(inputs.size());
}
