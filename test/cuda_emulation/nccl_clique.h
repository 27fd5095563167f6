//===- nccl_clique.h - The ranks of one emulated communicator ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that were sent and not yet received. The ranks are either all in this
// process, or one is here and the others are in processes of their own. The
// engine's mutex guards everything.
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

/// Ends the process: the program uses NCCL in an undefined way.
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

/// A call that a device has reached.
struct ArrivedCall {
  NcclCall call;
  /// The content of an early send, or of a send by another process.
  std::shared_ptr<std::vector<char>> kept;
  std::shared_ptr<bool> isDone;
  /// A send of another process, which must be told.
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
  /// A process with one of its ranks is lost.
  bool hasLost = false;
  /// Groups of calls of this process's ranks that a stream or a graph holds.
  std::atomic<int> held{0};

  /// Adds a rank of this process; false: it is there already.
  bool join(const std::string &id, int rank, const std::string &device);
  /// Its connections end.
  void leave(int rank);
  /// Whether all ranks of this process have left.
  bool isEmpty() const { return links.empty(); }
  /// Its connections will end normally.
  void part(int rank);
  /// Searches for ranks of other processes.
  void look();
  void issue(int rank, int peer);
  /// The device of `rank` has reached the call; `isEarly`: a send may leave at
  /// once. The flag is set when the call has ended.
  std::shared_ptr<bool> arrive(int rank, const NcclCall &call, bool isEarly);

private:
  void receive(int rank, const LinkFrame &frame);
  void matchMessages(std::pair<int, int> pair);
  void matchGathers();

  /// Key: sender and receiver.
  std::map<std::pair<int, int>, std::deque<ArrivedCall>> sends, receives;
  /// Key: receiver. Sends to other processes that have not been taken.
  std::map<int, std::deque<std::shared_ptr<bool>>> untaken;
  /// Key: rank. Gathers that are not matched yet.
  std::map<int, std::deque<ArrivedCall>> gathers;
  /// Key: rank of this process.
  std::map<int, std::unique_ptr<Links>> links;
};

/// A rank's end of a communicator.
struct CommState {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  bool isAborted = false, isFinalizing = false;
  ncclResult_t error = ncclSuccess;
  /// Number of queries that are still answered with "in progress".
  unsigned asks = 0;
  struct Pending {
    cudaStream_t stream;
    std::vector<NcclCall> calls;
  };
  std::vector<Pending> pending;
  /// Groups of calls that a stream or a graph holds.
  std::atomic<int> held{0};
};

/// Groups of calls that streams or graphs hold, by device.
constexpr int maxDevices = 64;
inline std::atomic<int> groupsOfDevices[maxDevices];

/// The calls of a group on one communicator and stream, as the device's work.
struct GroupRun {
  GroupRun(std::shared_ptr<CommState> state, std::vector<NcclCall> group)
      : comm(std::move(state)), calls(std::move(group)) {
    ++comm->held;
    ++comm->clique->held;
    ++groupsOfDevices[comm->device];
  }
  ~GroupRun() {
    leaveDevice();
    --comm->held;
    --comm->clique->held;
    --groupsOfDevices[comm->device];
  }

  const std::shared_ptr<CommState> comm;
  const std::vector<NcclCall> calls;
  /// The group that has to start before this one.
  std::weak_ptr<GroupRun> before;
  /// Number of starts: a graph runs it repeatedly.
  uint64_t begun = 0;
  bool hasArrived = false;
  std::vector<std::shared_ptr<bool>> done;

  bool isReady();
  /// For the next run by a graph.
  void reset();

private:
  void leaveDevice();
  /// Whether it has a place on its device.
  bool isResident = false;
};

} // namespace emulation

#endif // RONDO_TEST_CUDA_EMULATION_NCCL_CLIQUE_H
