//===- rank_log.cpp - Records what a rank does ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/action_ring.h"

#include "runtime/execution/rank_log.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

std::string rondo::runtime::actionName(ActionKind kind, Message message,
                                       int64_t subject, int64_t microbatch) {
  const ActionTraits &traits = traitsOf(kind);
  const std::string number = std::to_string(subject);
  if (traits.isTask())
    return number + traits.letter + std::to_string(microbatch);
  if (traits.isCopy())
    return number + traits.code + std::to_string(microbatch);
  std::string text = std::string(traits.keyword) + " " + number;
  if (traits.subject == Subject::Edge)
    text += traitsOf(traitsOf(message).producer).letter +
            std::to_string(microbatch);
  if (traits.movesState())
    text += ", unit " + std::to_string(microbatch);
  return text;
}

std::string RankLog::currentAction() const {
  uint64_t packed = current.load(std::memory_order_relaxed);
  return actionName(static_cast<ActionKind>(packed >> 58),
                    static_cast<Message>((packed >> 56) & 0x3),
                    static_cast<int64_t>((packed >> 32) & 0xffffff),
                    static_cast<int64_t>(packed & 0xffffffff));
}

void RankLog::beginRun(const Span &span) {
  before = span.before;
  iterations = span.iterations;
  tracedIterations = span.tracedIterations;
  ring.beginRun({program.name, program.microbatches, program.overlap != nullptr,
                 program.kind != ProgramKind::Evaluation},
                before);
}

void RankLog::beginTrace() {
  if (keepTrace && tracedIterations > 0)
    beginStamp = device.stamp();
}

void RankLog::endTrace() {
  if (keepTrace && tracedIterations > 0)
    trace.push_back({Traced::Run, ActionKind::Step, Message::None, program.id,
                     -1, -1, static_cast<int32_t>(iterations), -1, -1,
                     before + 1, beginStamp, device.stamp()});
}

//===----------------------------------------------------------------------===//
// The ring of actions.
//===----------------------------------------------------------------------===//

void ActionRing::beginRun(const Program &program, int64_t before) {
  const auto known =
      std::find_if(programs.begin(), programs.end(), [&](const Program &other) {
        return other.name == program.name && other.trains == program.trains;
      });
  programPlace = static_cast<uint64_t>(known - programs.begin()) << 32;
  if (known == programs.end())
    programs.push_back(program);
  runBefore = before;
}

std::vector<ActionRing::Entry> ActionRing::last() const {
  const uint64_t end = count.load(std::memory_order_acquire);
  const uint64_t first = end > size ? end - size : 0;
  std::vector<Entry> entries;
  for (uint64_t number = first; number < end; ++number) {
    const Slot &slot = slots[number % numSlots];
    const uint64_t place = slot.place.load(std::memory_order_relaxed);
    Entry entry;
    entry.what = slot.what.load(std::memory_order_relaxed);
    entry.beginTicks = slot.begin.load(std::memory_order_relaxed);
    entry.readyTicks = slot.ready.load(std::memory_order_relaxed);
    entry.edge = static_cast<int32_t>(static_cast<uint32_t>(place));
    entry.program = static_cast<int32_t>(place >> 32);
    entry.before = slot.before.load(std::memory_order_relaxed);
    entry.isUnfinished = number + 1 == end;
    entries.push_back(entry);
  }
  // The rank may be writing one more into the oldest slot.
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t now = count.load(std::memory_order_relaxed);
  const uint64_t valid = now + 1 > numSlots ? now + 1 - numSlots : 0;
  if (valid > first)
    entries.erase(entries.begin(),
                  entries.begin() + static_cast<int64_t>(std::min<uint64_t>(
                                        valid - first, entries.size())));
  for (size_t i = 0; i + 1 < entries.size(); ++i)
    entries[i].endTicks = entries[i + 1].beginTicks;
  return entries;
}
