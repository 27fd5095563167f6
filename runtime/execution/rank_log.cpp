//===- rank_log.cpp - Records what a rank does ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank_log.h"

using namespace rondo;
using namespace rondo::runtime;

std::string rondo::runtime::actionName(ActionKind kind, Message message,
                                       int64_t subject, int64_t microbatch) {
  const ActionTraits &traits = traitsOf(kind);
  const std::string number = std::to_string(subject);
  if (traits.isTask())
    return number + traits.letter + std::to_string(microbatch);
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
