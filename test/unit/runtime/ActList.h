//===- ActList.h - Writes and runs a rank's list of actions -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_ACTLIST_H
#define RONDO_TEST_UNIT_RUNTIME_ACTLIST_H

#include "Fixture.h"

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
  std::vector<int> own;
  std::vector<Act> list;
};

/// Runs a row made by encode().
inline void runList(Rank &rank, const int64_t *row) {
  for (int64_t i = 0; i < row[0]; ++i) {
    const int64_t *act = row + 1 + 4 * i;
    const int64_t stage = act[1], microbatch = act[2];
    const Message message = static_cast<Message>(act[3]);
    switch (act[0]) {
    case Act::F:
      forward(rank, stage, microbatch);
      break;
    case Act::I:
      input_grad(rank, stage, microbatch);
      break;
    case Act::W:
      weight_grad(rank, stage, microbatch);
      break;
    case Act::B:
      backward(rank, stage, microbatch);
      break;
    case Act::Send:
      send(rank, message, stage, microbatch);
      break;
    case Act::Recv:
      recv(rank, message, stage, microbatch);
      break;
    case Act::AllReduce:
    case Act::Issue:
    case Act::Await:
      if (act[0] != Act::Await)
        all_reduce(rank, stage);
      if (act[0] != Act::Issue)
        await(rank, stage);
      break;
    case Act::Step:
      step(rank, stage);
      break;
    case Act::Throw:
      throw std::runtime_error("thrown by the program");
    }
  }
}

inline std::vector<int64_t> encode(const std::vector<Act> &list) {
  std::vector<int64_t> row = {static_cast<int64_t>(list.size())};
  for (const Act &act : list)
    row.insert(row.end(), {act.kind, act.stage, act.microbatch,
                           static_cast<int64_t>(act.message)});
  return row;
}

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_ACTLIST_H
