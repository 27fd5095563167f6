//===- nccl.cpp - Communicators between emulated devices ------------------===//

#include "nccl.h"

#include "emulation.h"
#include "engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

using namespace emulation;

namespace {

using Lock = std::unique_lock<std::mutex>;

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "nccl emulation: %s\n", what.c_str());
  std::abort();
}

enum class Kind : uint8_t { Send, Receive, Gather };

/// A call on one communicator.
struct Call {
  Kind kind;
  int peer;
  const char *from;
  char *to;
  size_t bytes;
};

/// A call that the device has come to.
struct Arrived {
  Call call;
  /// What an early send has left behind.
  std::shared_ptr<std::vector<char>> kept;
  std::shared_ptr<bool> isDone;
};

/// The ranks of one communicator.
struct Clique {
  int ranks = 0;
  std::set<int> joined;
  /// Ranks that have issued something to a peer; -1: to all.
  std::set<std::pair<int, int>> issued;
  /// By sender and receiver.
  std::map<std::pair<int, int>, std::deque<Arrived>> sends, receives;
  /// By rank: gathers that have not met.
  std::map<int, std::deque<Arrived>> gathers;
};

struct CommState {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  bool isAborted = false;
  ncclResult_t error = ncclSuccess;
  /// How often to answer that calls are in progress.
  unsigned asks = 0;
  struct Pending {
    cudaStream_t stream;
    std::vector<Call> calls;
  };
  std::vector<Pending> pending;
};

std::map<std::string, std::weak_ptr<Clique>> cliques;
int faultSkip = 0, faultError = 0;
uint64_t numIds = 0;

size_t sizeOf(ncclDataType_t type) {
  return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

void matchMessages(Clique &clique, std::pair<int, int> pair) {
  auto &sends = clique.sends[pair], &receives = clique.receives[pair];
  while (!sends.empty() && !receives.empty()) {
    Arrived &send = sends.front(), &receive = receives.front();
    if (send.call.bytes != receive.call.bytes)
      fail("a send of " + std::to_string(send.call.bytes) +
           " bytes meets a receive of " + std::to_string(receive.call.bytes));
    if (send.call.bytes > 0)
      std::memcpy(receive.call.to,
                  send.kept ? send.kept->data() : send.call.from,
                  send.call.bytes);
    *send.isDone = *receive.isDone = true;
    sends.pop_front();
    receives.pop_front();
  }
}

void matchGathers(Clique &clique) {
  for (;;) {
    for (int r = 0; r < clique.ranks; ++r)
      if (clique.gathers[r].empty())
        return;
    for (int to = 0; to < clique.ranks; ++to)
      for (int from = 0; from < clique.ranks; ++from) {
        const Call &source = clique.gathers[from].front().call;
        const Call &target = clique.gathers[to].front().call;
        if (source.bytes != target.bytes)
          fail("ranks gather " + std::to_string(source.bytes) + " and " +
               std::to_string(target.bytes) + " bytes");
        std::memmove(target.to + static_cast<size_t>(from) * source.bytes,
                     source.from, source.bytes);
      }
    for (int r = 0; r < clique.ranks; ++r) {
      *clique.gathers[r].front().isDone = true;
      clique.gathers[r].pop_front();
    }
  }
}

/// The calls of a group on one communicator and stream, as the device's work.
struct GroupRun {
  std::shared_ptr<CommState> comm;
  std::vector<Call> calls;
  bool hasArrived = false;
  std::vector<std::shared_ptr<bool>> done;

  bool isReady() {
    if (comm->isAborted)
      return true;
    if (!hasArrived)
      arrive();
    return std::all_of(done.begin(), done.end(),
                       [](const auto &is) { return *is; });
  }
  void arrive() {
    hasArrived = true;
    Clique &clique = *comm->clique;
    for (const Call &call : calls) {
      Arrived arrived{call, nullptr, std::make_shared<bool>(false)};
      std::pair<int, int> pair{comm->rank, call.peer};
      switch (call.kind) {
      case Kind::Send:
        // Small messages may leave early.
        if (Engine::get().draw(2) == 0) {
          arrived.kept = std::make_shared<std::vector<char>>(
              call.from, call.from + call.bytes);
          done.push_back(std::make_shared<bool>(true));
        } else {
          done.push_back(arrived.isDone);
        }
        clique.sends[pair].push_back(arrived);
        break;
      case Kind::Receive:
        pair = {call.peer, comm->rank};
        clique.receives[pair].push_back(arrived);
        done.push_back(arrived.isDone);
        break;
      case Kind::Gather:
        clique.gathers[comm->rank].push_back(arrived);
        done.push_back(arrived.isDone);
        break;
      }
    }
    for (const Call &call : calls)
      if (call.kind == Kind::Gather)
        matchGathers(clique);
      else if (call.kind == Kind::Send)
        matchMessages(clique, {comm->rank, call.peer});
      else
        matchMessages(clique, {call.peer, comm->rank});
  }
  /// For the next time that a graph runs it.
  void reset() {
    hasArrived = false;
    done.clear();
  }
};

int peerOf(const Call &call) {
  return call.kind == Kind::Gather ? -1 : call.peer;
}

/// Whether those that the calls need have issued theirs.
bool isConnected(const CommState &comm, const Call &call) {
  const Clique &clique = *comm.clique;
  if (call.kind != Kind::Gather)
    return clique.issued.count({call.peer, comm.rank}) > 0;
  for (int r = 0; r < clique.ranks; ++r)
    if (clique.issued.count({r, -1}) == 0)
      return false;
  return true;
}

struct GroupedCall {
  ncclComm_t comm;
  cudaStream_t stream;
  Call call;
};
thread_local int groupDepth = 0;
thread_local std::vector<GroupedCall> grouped;

} // namespace

struct ncclComm {
  std::shared_ptr<CommState> state;
};

void emulation::failCommunicator(int skip, int error) {
  Lock lock(Engine::get().mutex);
  faultSkip = skip;
  faultError = error;
}

const char *ncclGetErrorString(ncclResult_t result) {
  static const char *const names[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return names[result];
}
const char *ncclGetLastError(ncclComm_t) { return ""; }
ncclResult_t ncclGetVersion(int *version) {
  *version = 22809;
  return ncclSuccess;
}

#define RONDO_EMULATED_NCCL(function)                                          \
  if (int error = emulation::injected(#function))                              \
  return static_cast<ncclResult_t>(error)

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  RONDO_EMULATED_NCCL(ncclGetUniqueId);
  Lock lock(Engine::get().mutex);
  std::memset(id, 0, sizeof *id);
  // Has zeros in it, as a real one may.
  ++numIds;
  std::memcpy(id->internal + 5, &numIds, sizeof numIds);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  RONDO_EMULATED_NCCL(ncclCommInitRankConfig);
  if (config->blocking != 0)
    fail("a communicator is blocking");
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  std::string key(id.internal, sizeof id.internal);
  std::shared_ptr<Clique> clique = cliques[key].lock();
  if (!clique)
    cliques[key] = clique = std::make_shared<Clique>();
  if (rank < 0 || rank >= ranks || (clique->ranks && clique->ranks != ranks) ||
      !clique->joined.insert(rank).second)
    return ncclInvalidArgument;
  clique->ranks = ranks;
  auto state = std::make_shared<CommState>();
  state->clique = clique;
  state->rank = rank;
  state->asks = engine.draw(3);
  *comm = new ncclComm{state};
  countHandle(1);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  RONDO_EMULATED_NCCL(ncclCommGetAsyncError);
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  CommState &state = *comm->state;
  if (faultError && faultSkip-- == 0) {
    state.error = static_cast<ncclResult_t>(faultError);
    faultError = 0;
  }
  *result = state.error;
  if (state.error != ncclSuccess)
    return ncclSuccess;
  *result = ncclInProgress;
  if (static_cast<int>(state.clique->joined.size()) < state.clique->ranks)
    return ncclSuccess;
  for (const auto &pending : state.pending)
    for (const Call &call : pending.calls)
      if (!isConnected(state, call))
        return ncclSuccess;
  if (state.asks > 0) {
    --state.asks;
    return ncclSuccess;
  }
  for (auto &pending : state.pending) {
    auto run = std::make_shared<GroupRun>();
    run->comm = comm->state;
    run->calls = pending.calls;
    engine.append(*pending.stream,
                  {[run] { return run->isReady(); }, [run] { run->reset(); }});
  }
  state.pending.clear();
  *result = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  RONDO_EMULATED_NCCL(ncclCommFinalize);
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  RONDO_EMULATED_NCCL(ncclCommDestroy);
  Lock lock(Engine::get().mutex);
  delete comm;
  countHandle(-1);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  comm->state->isAborted = true;
  delete comm;
  countHandle(-1);
  engine.wake();
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  RONDO_EMULATED_NCCL(ncclGroupStart);
  ++groupDepth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  RONDO_EMULATED_NCCL(ncclGroupEnd);
  if (groupDepth == 0)
    return ncclInvalidUsage;
  if (--groupDepth > 0)
    return ncclSuccess;
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  for (const GroupedCall &entry : grouped) {
    CommState &state = *entry.comm->state;
    bool isFirst =
        state.clique->issued.insert({state.rank, peerOf(entry.call)}).second;
    if (isFirst && entry.stream->capture)
      fail("a pair connects in a capture: warm it up before");
    auto same = std::find_if(
        state.pending.begin(), state.pending.end(),
        [&](const auto &pending) { return pending.stream == entry.stream; });
    if (same == state.pending.end()) {
      state.pending.push_back({entry.stream, {}});
      same = state.pending.end() - 1;
    }
    same->calls.push_back(entry.call);
    state.asks = engine.draw(4);
  }
  grouped.clear();
  return ncclInProgress;
}

static ncclResult_t issue(ncclComm_t comm, cudaStream_t stream,
                          const Call &call) {
  {
    Lock lock(Engine::get().mutex);
    const CommState &state = *comm->state;
    if (call.kind != Kind::Gather &&
        (call.peer < 0 || call.peer >= state.clique->ranks))
      return ncclInvalidArgument;
    if (!state.pending.empty() && groupDepth == 0)
      fail("a call on a communicator whose last call is in progress");
  }
  ncclGroupStart();
  grouped.push_back({comm, stream, call});
  return ncclGroupEnd();
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclSend);
  return issue(comm, stream,
               {Kind::Send, peer, static_cast<const char *>(data), nullptr,
                count * sizeOf(type)});
}
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclRecv);
  return issue(comm, stream,
               {Kind::Receive, peer, nullptr, static_cast<char *>(data),
                count * sizeOf(type)});
}
ncclResult_t ncclAllGather(const void *data, void *all, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclAllGather);
  return issue(comm, stream,
               {Kind::Gather, -1, static_cast<const char *>(data),
                static_cast<char *>(all), count * sizeOf(type)});
}
