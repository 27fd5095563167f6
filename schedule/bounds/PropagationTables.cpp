//===- PropagationTables.cpp - What holds in every state of a problem -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Propagation.h"

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
      place(flat.stages), cursors(flat.stages) {
  for (auto &column : head)
    column.assign(size_t(flat.stages) * flat.microbatches, 0);
  messageStart.assign(flat.messages.size() * flat.microbatches, 0);
  for (const auto &stages : flat.stagesOf) {
    std::vector<Release> &all = releases.emplace_back();
    for (size_t i = 0; i < stages.size(); ++i) {
      const int32_t s = stages[i];
      place[s] = int32_t(i);
      for (int letter : {1, 2})
        if (const int64_t bytes =
                letter == 1 ? flat.inputGradFrees[s] : flat.weightGradFrees[s];
            bytes > 0)
          all.push_back({int32_t(i), letter, bytes, flat.ns[letter][s],
                         &head[letter][flat.at(s, 0)]});
    }
    for (int32_t s : stages)
      cursors[s].next.resize(all.size());
  }
  limits.resize(flat.stages);
  listTasksBefore();
  listInputs();
}

void Propagation::listTasksBefore() {
  for (int letter : {0, 1}) {
    before[letter].resize(flat.stages);
    serialOutputs[letter].resize(flat.stages);
    works[letter].resize(flat.stages);
    for (int32_t s = 0; s < flat.stages; ++s) {
      for (int earlier = 0; earlier <= letter; ++earlier)
        for (int32_t other : flat.stagesOf[flat.rankOf[s]])
          if ((earlier != letter || other != s) &&
              flat.leadsTo(earlier, other, letter, s))
            before[letter][s].push_back(
                {earlier, other, flat.ns[earlier][other]});
      for (int32_t e : flat.outputs(letter, s))
        if (flat.messages[e].occupancyNs > 0)
          serialOutputs[letter][s].push_back(e);
      Work &work = works[letter][s];
      work.perMicrobatch = flat.ns[letter][s];
      for (const Before &task : before[letter][s])
        work.perMicrobatch += task.ns;
    }
  }
}

void Propagation::listInputs() {
  for (int letter : {0, 1}) {
    inputs[letter].resize(flat.stages);
    for (int32_t s = 0; s < flat.stages; ++s)
      for (int32_t e : flat.inputs(letter, s)) {
        const FlatProblem::Message &message = flat.messages[e];
        const bool isSerial = message.occupancyNs > 0;
        inputs[letter][s].push_back(
            {e, isSerial ? -1 : message.from,
             isSerial ? &messageStart[flat.messageAt(e, 0)]
                      : &head[letter][flat.at(message.from, 0)],
             message.latencyNs + (isSerial ? message.occupancyNs
                                           : flat.ns[letter][message.from])});
      }
  }
}
