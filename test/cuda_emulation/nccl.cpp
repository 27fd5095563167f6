//===- nccl.cpp - Communicators between emulated devices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nccl.h"

#include "emulation.h"
#include "nccl_clique.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <utility>

using namespace emulation;

namespace {

using Lock = std::unique_lock<std::mutex>;

std::map<std::string, std::weak_ptr<Clique>> cliques;
int faultSkip = 0, faultError = 0;
uint64_t numIds = 0;

size_t sizeOf(ncclDataType_t type) {
  return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

int version() {
  static const char *const text = std::getenv("RONDO_EMULATED_NCCL");
  return text ? std::atoi(text) : 22809;
}

/// Whether the loss of another process is noticed, as it is between machines.
/// On one machine operations may simply never end.
bool seesLoss() {
  static const char *const text = std::getenv("RONDO_EMULATED_LOSS");
  return !text || std::string(text) != "unseen";
}

bool mayShareGpu() {
  const char *text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return version() >= 23000 && text && std::string(text) == "1";
}

/// Whether two ranks share a GPU.
bool hasDuplicate(const Clique &clique) {
  for (const auto &[rank, device] : clique.devices)
    for (const auto &[other, otherDevice] : clique.devices)
      if (rank < other && device == otherDevice)
        return true;
  return false;
}

int peerOf(const NcclCall &call) {
  return call.kind == NcclCall::Gather ? -1 : call.peer;
}

/// Whether the ranks that the calls need have issued theirs.
bool isConnected(const CommState &comm, const NcclCall &call) {
  const Clique &clique = *comm.clique;
  if (call.kind != NcclCall::Gather)
    return clique.issued.count({call.peer, comm.rank}) > 0;
  for (int r = 0; r < clique.ranks; ++r)
    if (clique.issued.count({r, -1}) == 0)
      return false;
  return true;
}

struct GroupedCall {
  ncclComm_t comm;
  cudaStream_t stream;
  NcclCall call;
};
thread_local int groupDepth = 0;
thread_local std::vector<GroupedCall> grouped;
thread_local std::vector<std::shared_ptr<CommState>> abortedInGroup;

/// A communicator's last message about its failure.
std::string lastError;

/// With NCCL_LAUNCH_ORDER_IMPLICIT nothing starts on a GPU before everything
/// that the process issued earlier for it has started, on any communicator.
bool keepsLaunchOrder() {
  const char *text = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  return text && std::string(text) == "1";
}
/// Key: GPU and capture; null: no capture.
std::map<std::pair<int, void *>, std::weak_ptr<GroupRun>> issuedLast;

/// NCCL frees nothing before the last of the process's ranks has left, the work
/// of all of them has ended and the graphs that hold their calls are gone.
/// Those that leave before do not wait.
void awaitWork(Lock &lock,
               const std::vector<std::shared_ptr<CommState>> &aborted) {
  Engine &engine = Engine::get();
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(3);
  auto hasWork = [](const auto &state) {
    return state->clique->isEmpty() && state->clique->held > 0;
  };
  while (std::any_of(aborted.begin(), aborted.end(), hasWork)) {
    if (std::chrono::steady_clock::now() > deadline)
      failNccl("ncclCommAbort never returns: a graph holds calls of the "
               "communicator, or its work waits for another one");
    engine.runSome();
    lock.unlock();
    usleep(1000);
    lock.lock();
  }
}

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
const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }
ncclResult_t ncclGetVersion(int *number) {
  *number = version();
  return ncclSuccess;
}

#define RONDO_EMULATED_NCCL(function)                                          \
  if (int error = emulation::injected(#function))                              \
  return static_cast<ncclResult_t>(error)

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  RONDO_EMULATED_NCCL(ncclGetUniqueId);
  Lock lock(Engine::get().mutex);
  std::memset(id, 0, sizeof *id);
  // Contains zeros, as a real one may.
  ++numIds;
  std::memcpy(id->internal + 5, &numIds, sizeof numIds);
  const uint64_t process[] = {
      static_cast<uint64_t>(getpid()),
      static_cast<uint64_t>(
          std::chrono::steady_clock::now().time_since_epoch().count())};
  std::memcpy(id->internal + 20, process, sizeof process);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  RONDO_EMULATED_NCCL(ncclCommInitRankConfig);
  if (config->blocking != 0)
    failNccl("a communicator is blocking");
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  std::string key;
  for (int i = 0; i < 36; ++i) {
    const auto byte = static_cast<unsigned char>(id.internal[i]);
    key += "0123456789abcdef"[byte >> 4];
    key += "0123456789abcdef"[byte & 15];
  }
  std::shared_ptr<Clique> clique = cliques[key].lock();
  if (!clique)
    cliques[key] = clique = std::make_shared<Clique>(ranks);
  int ordinal = 0;
  cudaGetDevice(&ordinal);
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, ordinal);
  const std::string device =
      std::to_string(static_cast<unsigned char>(properties.uuid.bytes[15]));
  if (rank < 0 || rank >= ranks || clique->ranks != ranks ||
      !clique->join(key, rank, device.c_str()))
    return ncclInvalidArgument;
  auto state = std::make_shared<CommState>();
  state->clique = clique;
  state->rank = rank;
  state->device = ordinal;
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
  Clique &clique = *state.clique;
  const bool isComplete =
      static_cast<int>(clique.joined.size()) == clique.ranks;
  if (!isComplete)
    clique.look();
  if (state.error == ncclSuccess && clique.hasLost && seesLoss() &&
      !state.isFinalizing)
    state.error = ncclRemoteError;
  if (state.error == ncclSuccess && hasDuplicate(clique) && !mayShareGpu()) {
    state.error = ncclInvalidUsage;
    lastError = "Duplicate GPU detected";
  }
  *result = state.error;
  if (state.error != ncclSuccess)
    return ncclSuccess;
  *result = ncclInProgress;
  if (!isComplete || (state.isFinalizing && state.held > 0))
    return ncclSuccess;
  for (const auto &pending : state.pending)
    for (const NcclCall &call : pending.calls)
      if (!isConnected(state, call))
        return ncclSuccess;
  if (state.asks > 0) {
    --state.asks;
    return ncclSuccess;
  }
  for (auto &pending : state.pending) {
    auto run = std::make_shared<GroupRun>(comm->state, pending.calls);
    if (keepsLaunchOrder()) {
      std::weak_ptr<GroupRun> &last =
          issuedLast[{state.device, pending.stream->capture.get()}];
      run->before = std::exchange(last, run);
    }
    engine.append(*pending.stream,
                  {[run] { return run->isReady(); }, [run] { run->reset(); }});
  }
  state.pending.clear();
  *result = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  RONDO_EMULATED_NCCL(ncclCommFinalize);
  Lock lock(Engine::get().mutex);
  CommState &state = *comm->state;
  if (state.error != ncclSuccess)
    return ncclInvalidArgument;
  state.isFinalizing = true;
  state.clique->part(state.rank);
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  RONDO_EMULATED_NCCL(ncclCommDestroy);
  Lock lock(Engine::get().mutex);
  if (comm->state->held > 0)
    failNccl("ncclCommDestroy never returns: a graph or a stream holds calls "
             "of the communicator");
  comm->state->clique->leave(comm->state->rank);
  noteDestroyed(comm->state->device);
  delete comm;
  countHandle(-1);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Engine &engine = Engine::get();
  Lock lock(engine.mutex);
  std::shared_ptr<CommState> state = comm->state;
  state->isAborted = true;
  state->clique->leave(state->rank);
  noteDestroyed(state->device);
  delete comm;
  countHandle(-1);
  engine.wake();
  if (groupDepth > 0)
    abortedInGroup.push_back(state);
  else
    awaitWork(lock, {state});
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
    const int peer = peerOf(entry.call);
    if (entry.stream->capture &&
        state.clique->issued.count({state.rank, peer}) == 0)
      failNccl("a pair connects in a capture: warm it up before");
    state.clique->issue(state.rank, peer);
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
  awaitWork(lock, std::exchange(abortedInGroup, {}));
  return ncclInProgress;
}

static ncclResult_t issue(ncclComm_t comm, cudaStream_t stream,
                          const NcclCall &call) {
  {
    Lock lock(Engine::get().mutex);
    const CommState &state = *comm->state;
    if (call.kind != NcclCall::Gather &&
        (call.peer < 0 || call.peer >= state.clique->ranks))
      return ncclInvalidArgument;
    if (static_cast<int>(state.clique->joined.size()) < state.clique->ranks)
      failNccl("a call on a communicator that has not connected");
    if (!state.pending.empty() && groupDepth == 0)
      failNccl("a call on a communicator whose last call is in progress");
  }
  ncclGroupStart();
  grouped.push_back({comm, stream, call});
  return ncclGroupEnd();
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclSend);
  return issue(comm, stream,
               {NcclCall::Send, peer, static_cast<const char *>(data), nullptr,
                count * sizeOf(type)});
}
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclRecv);
  return issue(comm, stream,
               {NcclCall::Receive, peer, nullptr, static_cast<char *>(data),
                count * sizeOf(type)});
}
ncclResult_t ncclAllGather(const void *data, void *all, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  RONDO_EMULATED_NCCL(ncclAllGather);
  return issue(comm, stream,
               {NcclCall::Gather, -1, static_cast<const char *>(data),
                static_cast<char *>(all), count * sizeOf(type)});
}
