//===- ProgramExamples.h - Programs for tests -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_PROGRAMEXAMPLES_H
#define RONDO_TEST_UNIT_SCHEDULE_PROGRAMEXAMPLES_H

#include "Examples.h"

#include "schedule/program/Program.h"

namespace rondo::test {

/// `0F1` is a task, `>0F1` and `<0F1` the send and receive of its message, `A0`
/// a collective, `E0` the await of its end, `S1` the step of stage 1. Gradients
/// are `1I0`, made by B or I.
inline Action programActionOf(const std::string &text, const Problem &problem) {
  for (auto [letter, kind] :
       {std::pair('A', ActionKind::AllReduce),
        std::pair('E', ActionKind::Await), std::pair('S', ActionKind::Step)})
    if (text[0] == letter)
      return Action(kind, std::stoll(text.substr(1)), 0);
  if (text[0] != '<' && text[0] != '>')
    return actionOf(text);
  Action producer = actionOf(text.substr(1));
  for (size_t e = 0; e < problem.edges.size(); ++e)
    if (problem.edges[e].from == static_cast<int>(producer.subject) &&
        problem.edges[e].producer == producer.kind())
      return Action(text[0] == '>' ? ActionKind::Send : ActionKind::Recv,
                    static_cast<int64_t>(e),
                    static_cast<int64_t>(producer.index));
  ADD_FAILURE() << text << " names no edge";
  return {};
}

inline Program programOf(const std::vector<std::string> &ranks,
                         const Problem &problem) {
  Program program;
  for (const std::string &rank : ranks) {
    std::istringstream in(rank);
    for (std::string word; in >> word;)
      program.order.append(programActionOf(word, problem));
    program.order.endRank();
  }
  Collective norm;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    norm.replicas.push_back(s);
  program.collectives.push_back(norm);
  return program;
}

/// Gives every buffer of a stage its own pool, with a slot of 64 bytes per
/// micro-batch; a consumer on the producer's rank shares.
inline void placeApart(Program &program, const Problem &problem) {
  program.places.assign(problem.numStages() * numBufferKinds, {});
  program.arenaBytes.assign(problem.numRanks(), 0);
  auto add = [&](int32_t stage, BufferKind kind) {
    int32_t rank = problem.rankOf(stage);
    Place &place = program.place(stage, kind);
    place.pool = static_cast<int32_t>(program.pools.size());
    bool isState = traitsOf(kind).isState();
    int32_t slots = isState ? 1 : problem.microbatches;
    for (int32_t i = 0; i < slots; ++i)
      place.slotOf.push_back(i);
    program.pools.push_back({rank, program.arenaBytes[rank], 64, slots});
    program.arenaBytes[rank] += int64_t(64) * slots;
  };
  const int32_t last = problem.numStages() - 1;
  for (int32_t s = 0; s <= last; ++s) {
    bool sharesBefore = s > 0 && problem.rankOf(s) == problem.rankOf(s - 1);
    add(s, BufferKind::Weights);
    add(s, BufferKind::SavedForInputGrad);
    add(s, BufferKind::SavedForWeightGrad);
    if (s < last)
      add(s, BufferKind::Output);
    if (s > 0)
      add(s, BufferKind::InputGrad);
    if (s > 0 && !sharesBefore)
      add(s, BufferKind::Input);
    if (s < last && problem.rankOf(s) != problem.rankOf(s + 1))
      add(s, BufferKind::OutputGrad);
    if (sharesBefore) {
      program.place(s, BufferKind::Input) =
          program.place(s - 1, BufferKind::Output);
      program.place(s - 1, BufferKind::OutputGrad) =
          program.place(s, BufferKind::InputGrad);
    }
  }
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_PROGRAMEXAMPLES_H
