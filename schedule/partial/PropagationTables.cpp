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
      for (int letter : {1, 2})
        if (const int64_t bytes = flat.freedBy(letter, s); bytes > 0)
          all.push_back({place[s], letter, bytes, flat.ns[letter][s],
                         &head[letter][flat.at(s, 0)]});
    for (const int32_t s : stages) {
      cursors[s].begin = int32_t(nextReleases.size());
      nextReleases.resize(nextReleases.size() + all.size());
    }
  }
}

void Propagation::listRows() {
  for (int letter : {0, 1})
    for (int32_t s = 0; s < flat.stages; ++s) {
      Row &row = rows[letter].emplace_back();
      row.rank = flat.rankOf[s];
      row.ns = flat.ns[letter][s];
      row.heads = &head[letter][flat.at(s, 0)];
      row.tails = &tail.ns[letter][flat.at(s, 0)];
      if (!flat.isChain)
        listTasksBefore(row, letter, s);
      listInputs(row, letter, s);
      row.serialOutputs.begin = int32_t(serialOutputs.size());
      for (int32_t e : flat.outputs(letter, s))
        if (flat.messages[e].occupancyNs > 0)
          serialOutputs.push_back(e);
      row.serialOutputs.end = int32_t(serialOutputs.size());
    }
}

void Propagation::listTasksBefore(Row &row, int letter, int32_t s) {
  row.before.begin = int32_t(before.size());
  for (int earlier = 0; earlier <= letter; ++earlier)
    for (int32_t other : flat.stagesOf[row.rank])
      if ((earlier != letter || other != s) &&
          flat.leadsTo(earlier, other, letter, s))
        before.push_back(
            {earlier * flat.stages + other, flat.ns[earlier][other]});
  row.before.end = int32_t(before.size());
}

void Propagation::listInputs(Row &row, int letter, int32_t s) {
  row.inputs.begin = int32_t(inputs.size());
  for (int32_t e : flat.inputs(letter, s)) {
    const FlatProblem::Message &message = flat.messages[e];
    const bool isSerial = message.occupancyNs > 0;
    inputs.push_back(
        {e, isSerial ? -1 : letter * flat.stages + message.from,
         isSerial ? &messageStart[flat.messageAt(e, 0)]
                  : &head[letter][flat.at(message.from, 0)],
         message.latencyNs +
             (isSerial ? message.occupancyNs : flat.ns[letter][message.from]),
         message.latencyNs});
  }
  row.inputs.end = int32_t(inputs.size());
}
