//===- copy_list.cpp - Copies of a rank and the waits between its lanes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/copy_list.h"

#include "runtime/base/error.h"

using namespace rondo;
using namespace rondo::runtime;

CopyList::CopyList(const RankContext &context, const Messages &messages)
    : context(context) {
  const RankCopiesDesc &desc = context.program.copies[context.rank];
  allLanes.resize(desc.isHalf ? 1 : 2);
  for (int32_t c = 0; c < desc.numCopies; ++c)
    addCopy(desc.copies[c], messages);
  for (int32_t w = 0; w < desc.numWaits; ++w) {
    const LaneWaitDesc &wait = desc.waits[w];
    const int32_t waiting = nodeOf(wait.kind, wait.replica, wait.microbatch),
                  awaited = nodeOf(wait.awaitedKind, wait.awaitedReplica,
                                   wait.awaitedMicrobatch);
    allNodes[waiting].awaited.push_back(awaited);
  }
  copyOf.assign(allNodes.size(), -1);
  for (size_t c = 0; c < allCopies.size(); ++c)
    copyOf[allCopies[c].node] = static_cast<int32_t>(c);
}

int32_t CopyList::nodeOf(ActionKind kind, int32_t replica, int32_t microbatch) {
  const auto [known, isNew] = numbers.try_emplace(
      keyOf(kind, replica, microbatch), static_cast<int32_t>(allNodes.size()));
  if (isNew)
    allNodes.push_back({kind, replica, microbatch, {}});
  return known->second;
}

int32_t CopyList::findNode(ActionKind kind, int64_t replica,
                           int64_t microbatch) const {
  const auto found = numbers.find(keyOf(kind, replica, microbatch));
  return found == numbers.end() ? -1 : found->second;
}

void CopyList::addCopy(const CopyDesc &desc, const Messages &messages) {
  Copy copy;
  copy.isSave = desc.kind == ActionKind::Save;
  copy.turn = desc.turn;
  copy.node = nodeOf(desc.kind, desc.replica, desc.microbatch);
  const ProgramDesc &program = context.program;
  const ShareDesc *shares = program.shares;
  if (program.uneven)
    shares = program.uneven->sizes[sizeOf(program, desc.microbatch)].shares;
  const ShareDesc &share = shares[desc.replica];
  auto at = [&](Buffer buffer) {
    return messages.place(desc.replica, buffer).at(desc.microbatch);
  };
  char *host = at(Buffer::OnHost);
  const Buffer parts[] = {copy.isSave ? Buffer::OffloadedForInputGrad
                                      : Buffer::LoadedForInputGrad,
                          copy.isSave ? Buffer::OffloadedForWeightGrad
                                      : Buffer::LoadedForWeightGrad};
  for (int part = 0; part < 2; ++part) {
    copy.device[part] = at(parts[part]);
    copy.host[part] = host;
    copy.bytes[part] = share.bytes[static_cast<int>(parts[part])];
    if (copy.bytes[part] > 0 && (!host || !copy.device[part]))
      throw Error("the program of rank " + std::to_string(context.rank) +
                  " has no memory for " + nameOf(copy.node));
    host = runtime::at(host, copy.bytes[part]);
  }
  allLanes[copy.isSave || allLanes.size() == 1 ? 0 : 1].push_back(
      static_cast<int32_t>(allCopies.size()));
  allCopies.push_back(copy);
}

TraceEvent CopyList::eventOf(const Copy &copy, int64_t iteration,
                             int64_t startNs, int64_t endNs) const {
  const Node &node = allNodes[copy.node];
  return {Traced::Action,     node.kind,    Message::None,
          context.program.id, node.replica, context.stageOf(node.replica),
          node.microbatch,    -1,           -1,
          iteration,          startNs,      endNs};
}
