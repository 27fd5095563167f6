//===- BufferNumbers.cpp - Numbers of a program's buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/BufferNumbers.h"

#include "kinds/Shares.h"

#include <map>
#include <tuple>

using namespace rondo;

BufferNumbers::BufferNumbers(const Problem &problem) {
  buffers.resize(static_cast<size_t>(problem.numReplicas()) * numBufferKinds);
  for (int32_t number = 0; number < count(); ++number) {
    buffers[number].replica = number / numBufferKinds;
    buffers[number].kind = static_cast<BufferKind>(number % numBufferKinds);
  }
  // (replica, kind, stage edge) to the number of the buffer that all parts of
  // this stage edge share.
  std::map<std::tuple<int32_t, BufferKind, int32_t>, int32_t> parts;
  auto add = [&](int32_t replica, BufferKind kind, int32_t edge) {
    const int32_t first = of(replica, kind);
    if (buffers[first].edge < 0) {
      buffers[first].edge = edge;
      return first;
    }
    auto [known, isNew] =
        parts.insert({{replica, kind, problem.edges[edge].stageEdge}, count()});
    if (!isNew)
      return known->second;
    if (problem.edges[buffers[first].edge].stageEdge ==
        problem.edges[edge].stageEdge) {
      known->second = first;
      return first;
    }
    buffers[first].isOneOfSeveral = true;
    buffers.push_back({replica, kind, edge, true});
    return known->second;
  };
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    const MessageTraits &message = traitsOf(edge.message());
    const int32_t number = static_cast<int32_t>(e);
    sentBy.push_back(message.sent == BufferKind::InputGrad
                         ? add(edge.from, message.sent, number)
                         : of(edge.from, message.sent));
    receivedBy.push_back(add(edge.to, message.received, number));
  }
}

int64_t rondo::bytesOf(const Problem &problem,
                       const BufferNumbers::Buffer &buffer,
                       const std::vector<ReplicaBuffers> &replicas) {
  auto own = [&](int32_t replica, BufferKind kind) {
    return replicas[replica][static_cast<int>(kind)];
  };
  if (!buffer.isOneOfSeveral || buffer.kind == BufferKind::OutputGrad)
    return own(buffer.replica, buffer.kind);
  const Edge &edge = problem.edges[buffer.edge];
  // Sizes are rounded up, including the size for a replica with another share.
  const int32_t producer = buffer.replica == edge.to ? edge.from : edge.to;
  const int32_t samples = problem.replicas[buffer.replica].samples,
                others = problem.replicas[producer].samples;
  const int64_t bytes = own(producer, buffer.kind == BufferKind::InputGrad
                                          ? BufferKind::OutputGrad
                                          : BufferKind::Output);
  return samples == others ? bytes : partOfUp(bytes, samples, others);
}
