//===- BufferNumbers.cpp - Numbers of a program's buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/BufferNumbers.h"

using namespace rondo;

BufferNumbers::BufferNumbers(const Problem &problem) {
  buffers.resize(static_cast<size_t>(problem.homes.size()) * numBufferKinds);
  for (int32_t number = 0; number < count(); ++number) {
    buffers[number].home = number / numBufferKinds;
    buffers[number].kind = static_cast<BufferKind>(number % numBufferKinds);
  }
  auto add = [&](int32_t stage, BufferKind kind, int32_t edge) {
    const int32_t home = problem.homes.numberOf(stage);
    const int32_t first = of(home, kind);
    if (buffers[first].edge < 0) {
      buffers[first].edge = edge;
      return first;
    }
    buffers[first].isOneOfSeveral = true;
    buffers.push_back({home, kind, edge, true});
    return count() - 1;
  };
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    const MessageTraits &message = traitsOf(edge.message());
    const int32_t number = static_cast<int32_t>(e);
    sentBy.push_back(message.sent == BufferKind::Output
                         ? of(problem.homes.numberOf(edge.from), message.sent)
                         : add(edge.from, message.sent, number));
    receivedBy.push_back(add(edge.to, message.received, number));
  }
}

int64_t rondo::bytesOf(const Problem &problem,
                       const BufferNumbers::Buffer &buffer,
                       const std::vector<StageBuffers> &stages) {
  auto own = [&](int32_t stage, BufferKind kind) {
    return stages[stage][static_cast<int>(kind)];
  };
  const int32_t stage = problem.homes[buffer.home].stage;
  if (!buffer.isOneOfSeveral || buffer.kind == BufferKind::OutputGrad)
    return own(stage, buffer.kind);
  const Edge &edge = problem.edges[buffer.edge];
  return own(stage == edge.to ? edge.from : edge.to, BufferKind::Output);
}
