//===- nccl_clique.h - The ranks of one emulated communicator ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What they have sent and not yet received. The ranks may be in this process,
// all of them, or one of them here and the others in processes of their own.
// The engine's mutex guards all.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_NCCL_CLIQUE_H
#define RONDO_TEST_CUDA_EMULATION_NCCL_CLIQUE_H

#include "engine.h"
#include "nccl.h"
#include "nccl_links.h"

#include <atomic>
#include <set>

namespace emulation {

/// Ends the process: the program uses NCCL in a way that is not defined.
[[noreturn]] void failNccl(const std::string &what);

/// A call on one communicator.
struct NcclCall {
  enum Kind : uint8_t { Send, Receive, Gather };
  Kind kind;
  int peer;
  const char *from;
  char *to;
  size_t bytes;
};

/// A call that a device has come to.
struct ArrivedCall {
  NcclCall call;
  /// What an early send has left behind, or another process has sent.
  std::shared_ptr<std::vector<char>> kept;
  std::shared_ptr<bool> isDone;
  /// A send of another process, which has to be told.
  bool isRemote = false;

  const char *data() const { return kept ? kept->data() : call.from; }
};

/// As this process sees it.
class Clique {
public:
  explicit Clique(int ranks) : ranks(ranks) {}

  const int ranks;
  std::set<int> joined, local;
  /// GPUs by rank.
  std::map<int, std::string> devices;
  /// Ranks that have issued something to a peer; -1: to all.
  std::set<std::pair<int, int>> issued;
  /// A process with a rank of it has gone.
  bool hasLost = false;

  /// A rank of this process; false: it is there already.
  bool join(const std::string &id, int rank, const std::string &device);
  /// Its connections end.
  void leave(int rank);
  /// Its connections will end as they should.
  void part(int rank);
  /// Looks for ranks of other processes.
  void look();
  void issue(int rank, int peer);
  /// The device of `rank` has come to the call; `isEarly`: a send may leave at
  /// once. The flag is set when the call has ended.
  std::shared_ptr<bool> arrive(int rank, const NcclCall &call, bool isEarly);

private:
  void receive(int rank, const LinkFrame &frame);
  void matchMessages(std::pair<int, int> pair);
  void matchGathers();

  /// By sender and receiver.
  std::map<std::pair<int, int>, std::deque<ArrivedCall>> sends, receives;
  /// By receiver: sends to other processes that have not been taken.
  std::map<int, std::deque<std::shared_ptr<bool>>> untaken;
  /// By rank: gathers that have not met.
  std::map<int, std::deque<ArrivedCall>> gathers;
  /// By rank of this process.
  std::map<int, std::unique_ptr<Links>> links;
};

/// A rank's end of a communicator.
struct CommState {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  bool isAborted = false, isFinalizing = false;
  ncclResult_t error = ncclSuccess;
  /// How often to answer that calls are in progress.
  unsigned asks = 0;
  struct Pending {
    cudaStream_t stream;
    std::vector<NcclCall> calls;
  };
  std::vector<Pending> pending;
  /// Groups of calls that a stream or a graph holds.
  std::atomic<int> held{0};
};

/// The calls of a group on one communicator and stream, as the device's work.
struct GroupRun {
  GroupRun(std::shared_ptr<CommState> state, std::vector<NcclCall> group)
      : comm(std::move(state)), calls(std::move(group)) {
    ++comm->held;
  }
  ~GroupRun() { --comm->held; }

  const std::shared_ptr<CommState> comm;
  const std::vector<NcclCall> calls;
  /// What has to begin before this one.
  std::weak_ptr<GroupRun> before;
  /// How often it has begun: a graph runs it again and again.
  uint64_t begun = 0;
  bool hasArrived = false;
  std::vector<std::shared_ptr<bool>> done;

  bool isReady();
  /// For the next time that a graph runs it.
  void reset();
};

} // namespace emulation

#endif // RONDO_TEST_CUDA_EMULATION_NCCL_CLIQUE_H
