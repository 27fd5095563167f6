//===- ActList.h - Writes and runs a rank's list of actions -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_ACTLIST_H
#define RONDO_TEST_UNIT_RUNTIME_ACTLIST_H

#include "Fixture.h"

#include <new>
#include <stdexcept>

namespace rondo::runtime::test {

/// Writes one rank's list.
class ListWriter {
public:
  ListWriter(const std::vector<int> &rankOfStage, int rank)
      : rankOfStage(rankOfStage), rank(rank),
        last(static_cast<int>(rankOfStage.size()) - 1) {
    for (int s = 0; s <= last; ++s)
      if (rankOfStage[s] == rank)
        own.push_back(s);
  }
  bool isAbroad(int s) const { return rankOfStage[s] != rank; }
  void forward(int s, int i) {
    if (s > 0 && isAbroad(s - 1))
      list.push_back({Act::Recv, s - 1, i, Message::Activation});
    list.push_back({Act::F, s, i});
    if (s < last && isAbroad(s + 1))
      list.push_back({Act::Send, s, i, Message::Activation});
  }
  void backward(int s, int i, bool split) {
    if (recomputes)
      list.push_back({Act::R, s, i});
    if (s < last && isAbroad(s + 1))
      list.push_back({Act::Recv, s + 1, i, Message::Gradient});
    list.push_back({split ? Act::I : Act::B, s, i});
    if (s > 0 && isAbroad(s - 1))
      list.push_back({Act::Send, s, i, Message::Gradient});
  }
  void finish(int collectives) {
    for (int c = 0; c < collectives; ++c)
      list.push_back({Act::AllReduce, c});
    for (int s : own)
      list.push_back({Act::Step, s});
  }

  const std::vector<int> &rankOfStage;
  const int rank, last;
  /// Whether layers keep nothing for their backward.
  bool recomputes = false;
  std::vector<int> own;
  std::vector<Act> list;
};

/// One act of a row; `microbatches` and `steps` are added to its numbers.
inline void runAct(Rank &rank, const int64_t *act, int64_t microbatches,
                   int64_t steps) {
  const int64_t stage = act[1], microbatch = act[2] + microbatches,
                number = act[2] + steps;
  const Message message = static_cast<Message>(act[3]);
  switch (act[0]) {
  case Act::F:
    return forward(rank, stage, microbatch);
  case Act::I:
    return input_grad(rank, stage, microbatch);
  case Act::W:
    return weight_grad(rank, stage, microbatch);
  case Act::B:
    return backward(rank, stage, microbatch);
  case Act::R:
    return recompute(rank, stage, microbatch);
  case Act::Send:
    return send(rank, message, stage, microbatch);
  case Act::Recv:
    return recv(rank, message, stage, microbatch);
  case Act::AllReduce:
  case Act::Issue:
  case Act::Await:
    if (act[0] != Act::Await)
      all_reduce(rank, stage, number);
    if (act[0] != Act::Issue)
      await(rank, stage, number);
    return;
  case Act::Step:
    return step(rank, stage, number);
  case Act::Unshard:
    return unshard(rank, stage, number);
  case Act::Reshard:
    return reshard(rank, stage, number);
  case Act::Reduce:
    return reduce_grad(rank, stage, number);
  case Act::Throw:
    throw std::runtime_error("thrown by the program");
  case Act::Exhaust:
    throw std::bad_alloc();
  }
}

/// Runs a row made by encode().
inline void runList(Rank &rank, const int64_t *row) {
  for (int64_t i = 0; i < row[0]; ++i)
    runAct(rank, row + 1 + 4 * i, 0, 0);
}

/// Runs a row made by encodeLoop().
inline void runLoop(Rank &rank, const int64_t *row) {
  const int64_t *again = row + 3 + 4 * row[2];
  runList(rank, row + 2);
  for (int64_t t = 0; t < repetitions(rank); ++t)
    for (int64_t i = 0; i < again[0]; ++i)
      runAct(rank, again + 1 + 4 * i, t * row[0], t * row[1]);
}

inline std::vector<int64_t> encode(const std::vector<Act> &list) {
  std::vector<int64_t> row = {static_cast<int64_t>(list.size())};
  for (const Act &act : list)
    row.insert(row.end(), {act.kind, act.stage, act.microbatch,
                           static_cast<int64_t>(act.message)});
  return row;
}

inline std::vector<int64_t> encodeLoop(const Loop &loop) {
  std::vector<int64_t> row = {loop.microbatches, loop.steps};
  for (const std::vector<Act> &list : {loop.before, loop.again}) {
    const std::vector<int64_t> acts = encode(list);
    row.insert(row.end(), acts.begin(), acts.end());
  }
  return row;
}

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_ACTLIST_H
