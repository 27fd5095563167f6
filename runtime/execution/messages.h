//===- messages.h - A rank's buffers and messages ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_MESSAGES_H
#define RONDO_RUNTIME_EXECUTION_MESSAGES_H

#include "runtime/execution/rank_log.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// Null if the buffer is.
inline char *at(char *buffer, int64_t offset) {
  return buffer ? buffer + offset : nullptr;
}

/// The memory of a buffer; base is null if the replica has none.
struct BufferPlace {
  char *base = nullptr;
  int64_t slotBytes = 0;
  PlaceDesc slots;

  /// The slot of a micro-batch; for weights, of a version.
  int32_t slot(int64_t number) const { return slotOf(slots, number); }
  /// The slot after the last that a micro-batch takes.
  int32_t slotsEnd(int64_t number) const {
    return slot(number) + (slots.spans ? slots.spans[number] : 1);
  }
  char *at(int64_t number) const {
    return base ? base + slot(number) * slotBytes : nullptr;
  }
};

/// A tensor that a replica gets from another stage or makes for it. Each edge
/// carries a part.
struct LocalTensor {
  /// The number of the place.
  int32_t number = -1;
  BufferPlace place;
  std::vector<int32_t> edges;
};

/// Tensors that a replica's tasks get and make, in the order of the stages at
/// the other end.
struct ReplicaTensors {
  std::vector<LocalTensor> inputs, outputGrads, inputGrads;
  /// The inputs of R, if they are not those of F.
  std::vector<LocalTensor> recomputedInputs;
};

/// The messages of a rank. A receive is posted before its message is needed; a
/// buffer that a send still reads is waited for before it is written.
class Messages {
public:
  Messages(const RankContext &context, RankLog &log);

  /// The place of a buffer of a replica of this rank.
  const BufferPlace &place(int32_t replica, Buffer buffer) const {
    return places[replica * numBuffers + static_cast<int>(buffer)];
  }
  const ReplicaTensors &tensorsOf(int32_t replica) const {
    return tensors[replica];
  }

  void beginIteration();
  /// The edge of a message that `replica` makes for replica `to`; -1: only one
  /// needs it. Throws Error if none does.
  int32_t edgeOf(Message message, int64_t replica, int64_t to,
                 int64_t microbatch) const;
  int32_t receiverOf(int32_t edge) const { return edgeDescs[edge].to; }
  void send(Message message, int64_t replica, int64_t to, int64_t microbatch);
  void receive(int32_t edge, int64_t microbatch);
  /// Waits for sends that still read the slot.
  void acquire(const BufferPlace &place, int64_t microbatch, Action &action);
  /// Waits for all parts of the tensors, or copies them.
  void await(const std::vector<LocalTensor> &tensors, int64_t microbatch,
             Action &action);
  /// Adds the gradients from all stages into the first one's buffer, one stage
  /// after another, so that the bits do not depend on when they came.
  void addOutputGrads(int32_t replica, int64_t microbatch, DType dtype);
  /// Waits until no buffer is read any more.
  void awaitSends();
  /// Throws Error if a receive has been posted and not waited for.
  void checkEnd() const;

private:
  /// An edge with an end on this rank.
  struct LocalEdge {
    /// Without a base if that end is on another rank.
    BufferPlace sent, received;
    /// Index in `channels` for messages between ranks, else -1.
    int32_t channel = -1;
    /// Whether the consumer copies it from the producer's buffer on this rank.
    bool isCopied = false;
    /// Whether an end takes some micro-batches only.
    bool isRoundRobin = false;
    /// Indexed by micro-batch modulo the most that may be posted at once: the
    /// ticket of the posted receive, -1: none.
    std::vector<int64_t> tickets;

    int64_t &ticket(int64_t microbatch) {
      return tickets[microbatch % static_cast<int64_t>(tickets.size())];
    }
  };
  /// A channel of the program, with its number in the transport and the
  /// messages of the iteration so far.
  struct Channel {
    ChannelParams params;
    int32_t number = -1;
    int64_t count = 0;
  };
  /// A send that still reads consecutive slots of a pool; the message is for
  /// the trace.
  struct Fence {
    int32_t begin = 0, end = 0;
    int32_t channel = -1;
    Transport::Ticket ticket = 0;
    int32_t edge = -1, microbatch = 0;
  };

  /// Bytes of an edge's message of a micro-batch.
  int64_t bytesOf(int32_t edge, int64_t microbatch) const {
    const EdgeDesc *own = edgeDescs;
    if (program.uneven)
      own = program.uneven->sizes[sizeOf(program, microbatch)].edges;
    return own[edge].bytes;
  }
  BufferPlace placeOf(int32_t number);
  void addEdge(int32_t number);
  void addPart(std::vector<LocalTensor> &list, int32_t place, int32_t edge);
  /// Whether an edge has a message of a micro-batch: both ends take it.
  bool carries(int32_t edge, int64_t microbatch) const {
    return !edges[edge].isRoundRobin ||
           (takes(program.shares[edgeDescs[edge].from], microbatch) &&
            takes(program.shares[edgeDescs[edge].to], microbatch));
  }
  MessageName nameOf(int32_t edge, int64_t microbatch) const {
    return {edge, static_cast<int32_t>(microbatch), edgeDescs[edge].from,
            edgeDescs[edge].to};
  }
  /// Counts a message of the edge's channel, and returns the transport's number
  /// of it. Throws Error if the program has more than it says.
  int32_t nextOf(const LocalEdge &edge, MessageName name);
  void awaitMessage(int32_t edge, int64_t microbatch, Action &action);
  [[noreturn]] void failOnUnposted(int32_t edge, int64_t microbatch) const;
  [[noreturn]] void failOnMessage(const char *verb, Message message,
                                  int64_t replica, int64_t microbatch,
                                  const char *why) const;

  const RankContext context;
  RankLog &log;
  const ProgramDesc &program;
  Transport &transport;
  Device &device;
  const EdgeDesc *const edgeDescs;
  /// Indexed by replica and buffer, of this rank's replicas.
  std::vector<BufferPlace> places;
  std::vector<ReplicaTensors> tensors;
  /// [numMessageKinds * replica + message]: edges with such a message of the
  /// replica.
  std::vector<std::vector<int32_t>> edgesFrom;
  /// Indexed by edge.
  std::vector<LocalEdge> edges;
  std::vector<Channel> channels;
  /// Indexed by pool, in the order of the sends.
  std::vector<std::vector<Fence>> fences;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_MESSAGES_H
