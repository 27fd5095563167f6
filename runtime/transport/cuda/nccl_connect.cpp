//===- nccl_connect.cpp - How ranks find each other -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/cuda/stream.h"
#include "runtime/transport/cuda/nccl_transport.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace rondo::runtime::cuda;
using namespace rondo::runtime;
using namespace rondo;
std::string rondo::runtime::cuda::makeCommunicatorId() {
  ncclUniqueId id;
  RONDO_NCCL(ncclGetUniqueId(&id));
  return std::string(id.internal, sizeof id.internal);
}

std::string rondo::runtime::cuda::reasonOf(ncclResult_t result) {
  std::string text = ncclGetErrorString(result);
  const char *cause = ncclGetLastError(nullptr);
  return cause && *cause ? text + ": " + cause : text;
}

Communicator::Communicator(const std::string &id, int ranks, int rank,
                           int maxBlocks, const std::string &name)
    : myName(name) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique.internal)
    throw Error("the identifier of " + name + " has " +
                    std::to_string(id.size()) + " bytes, not " +
                    std::to_string(sizeof unique.internal),
                Exit::RunFailure);
  std::memcpy(unique.internal, id.data(), sizeof unique.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.maxCTAs = maxBlocks;
  RONDO_NCCL(ncclCommInitRankConfig(&handle, ranks, unique, rank, &config));
}

Communicator::~Communicator() {
  if (!handle)
    return;
  // Everything enqueued has been done, so this takes no time; but a failed rank
  // does not leave.
  constexpr auto patience = std::chrono::seconds(5);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ncclResult_t result = isParting ? ncclInProgress : ncclSystemError;
  while (result == ncclInProgress &&
         std::chrono::steady_clock::now() < deadline) {
    if (ncclCommGetAsyncError(handle, &result) != ncclSuccess)
      break;
    if (result == ncclInProgress)
      std::this_thread::sleep_for(lookInterval);
  }
  if (result == ncclSuccess)
    ncclCommDestroy(handle);
  else
    ncclCommAbort(handle);
}

void Communicator::part() {
  if (!handle)
    return;
  const ncclResult_t result = ncclCommFinalize(handle);
  isParting = result == ncclSuccess || result == ncclInProgress;
}

bool Communicator::isSettled() const {
  ncclResult_t result = ncclSuccess;
  RONDO_NCCL(ncclCommGetAsyncError(handle, &result));
  if (result == ncclInProgress)
    return false;
  if (result != ncclSuccess)
    throw CommunicatorFailed(
        (callingRank < 0 ? std::string()
                         : "rank " + std::to_string(callingRank) + ": ") +
            myName + " failed: " + reasonOf(result),
        Exit::RunFailure);
  return true;
}

void Communicator::abort() {
  if (!handle)
    return;
  ncclCommAbort(handle);
  handle = nullptr;
}

Group::Group() { RONDO_NCCL(ncclGroupStart()); }

void Group::end() {
  isOpen = false;
  RONDO_NCCL(ncclGroupEnd());
}

NcclTransport::NcclTransport(const TransportParams &params,
                             const std::vector<CudaDevice *> &devices,
                             const TransportOptions &options,
                             const World &world)
    : options(options), world(world), edges(params.edges),
      measures(params.measures), ranks(devices.size()),
      senders(params.channels.size()), receivers(params.channels.size()) {
  for (size_t r = 0; r < devices.size(); ++r) {
    if (!devices[r])
      continue;
    devices[r]->gpu().select();
    ranks[r] = std::make_unique<GpuRank>();
    ranks[r]->device = devices[r];
    ranks[r]->staging = params.stagingOf(static_cast<int32_t>(r));
    const size_t programs = std::max<size_t>(1, params.ranksOfProgram.size());
    ranks[r]->recordings.resize(programs);
    for (size_t p = 0; p < programs; ++p)
      ranks[r]->recordings[p].launches = LaunchWindow(params.residentOf(p, r));
  }
  meet();
  enter(world, Phase::Connect);
  const Deadline deadline(options.timeoutSeconds, options.clock);
  try {
    connect(params);
    awaitCommunicators(deadline);
    divideIntoTurns(params);
    warmUp(deadline);
    if (measures)
      measureStart(deadline);
  } catch (...) {
    // Memory is freed when the device is idle.
    for (const std::unique_ptr<GpuRank> &rank : ranks)
      if (rank)
        stop(*rank);
    release();
    try {
      throw;
    } catch (const CommunicatorFailed &) {
      awaitFailureOfOthers();
      throw;
    }
  }
}

/// Whether NCCL allows several ranks of a communicator on one GPU: from 2.30
/// on, if told to.
static bool mayShareGpus(std::string &version) {
  int number = 0;
  RONDO_NCCL(ncclGetVersion(&number));
  version = std::to_string(number / 10000) + "." +
            std::to_string(number / 100 % 100) + "." +
            std::to_string(number % 100);
  const char *text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return number >= 23000 && text && std::string(text) == "1";
}

/// All processes must be present before any waits for another in NCCL, whose
/// time-out could not say which is missing; and each must have a GPU.
void NcclTransport::meet() const {
  if (world.isAlone())
    return;
  const std::vector<std::string> all = world.store->exchange(
      "the connection of GPUs", ranks[world.process]->device->gpu().uuid());
  std::string version;
  if (mayShareGpus(version))
    return;
  std::map<std::string, size_t> known;
  for (size_t r = 0; r < all.size(); ++r) {
    auto [first, isNew] = known.insert({all[r], r});
    if (isNew)
      continue;
    throwInAll(world,
               Error("ranks " + std::to_string(first->second) + " and " +
                         std::to_string(r) + " are on one GPU, UUID " + all[r] +
                         ", and NCCL " + version +
                         " takes one rank on each: give every process a GPU "
                         "of its own, start the program once, or use NCCL "
                         "2.30 with NCCL_MULTI_RANK_GPU_ENABLE=1",
                     Exit::Usage));
  }
}

/// The most ends of a rank that may be in flight at once, in any program.
static int endsInFlight(const TransportParams &params, size_t rank, int ends) {
  int most = 0;
  const size_t programs = std::max<size_t>(1, params.ranksOfProgram.size());
  for (size_t p = 0; p < programs; ++p) {
    const int limit = params.residentOf(p, rank);
    most = std::max(most, limit > 0 ? std::min(limit, ends) : ends);
  }
  return most;
}

/// Blocks of an end, out of maxBlocksOfRank: the same for all ranks, and a
/// power of two, since NCCL would round up to one.
static int blocksOfEnd(const TransportParams &params) {
  std::vector<int> ends(static_cast<size_t>(params.ranks));
  for (const ChannelParams &channel : params.channels)
    for (int32_t rank : {channel.from, channel.to})
      ++ends[static_cast<size_t>(rank)];
  int most = 1;
  for (size_t rank = 0; rank < ends.size(); ++rank)
    most = std::max(most, endsInFlight(params, rank, ends[rank]));
  int blocks = 1;
  while (2 * blocks * most <= maxBlocksOfRank)
    blocks *= 2;
  return blocks;
}

/// Starts all communicators, in the same order in all processes. The lowest
/// rank of each makes its identifier.
void NcclTransport::connect(const TransportParams &params) {
  // Processes make those that they share in the same order. Of its own, as for
  // the reference of --verify, each may make others.
  static std::atomic<int> numShared{0};
  if (!world.isAlone())
    prefix = "nccl/" + std::to_string(numShared++) + "/";
  auto idOf = [&](const std::string &key, int32_t lowest) {
    if (world.isAlone())
      return makeCommunicatorId();
    if (!world.holds(lowest))
      return world.store->get(prefix + key);
    const std::string id = makeCommunicatorId();
    world.store->set(prefix + key, id);
    return id;
  };
  const int blocks = blocksOfEnd(params);
  for (size_t c = 0; c < params.channels.size(); ++c) {
    const ChannelParams &channel = params.channels[c];
    if (!ranks[channel.from] && !ranks[channel.to])
      continue;
    const auto number = static_cast<int32_t>(c);
    const std::string id = idOf("channel/" + std::to_string(c),
                                std::min(channel.from, channel.to));
    for (bool isSender : {true, false}) {
      GpuRank *rank = ranks[isSender ? channel.from : channel.to].get();
      if (!rank)
        continue;
      rank->device->enter();
      ends.push_back(
          std::make_unique<ChannelEnd>(channel, number, isSender, blocks, id));
      (isSender ? senders : receivers)[c] = ends.back().get();
      rank->ends.push_back(ends.back().get());
    }
  }
  for (size_t c = 0; c < params.collectives.size(); ++c) {
    const std::vector<int32_t> all = ranksOf(params.collectives[c]);
    std::string id;
    for (int32_t r : all) {
      if (!ranks[r])
        continue;
      if (id.empty() && all.size() > 1)
        id = idOf("collective/" + std::to_string(c), all.front());
      ranks[r]->device->enter();
      members.push_back(std::make_unique<Member>(
          params.collectives[c], static_cast<int32_t>(c), r, all, id));
      ranks[r]->members.push_back(members.back().get());
    }
  }
  callingRank = -1;
}

/// A turn has as many channels as their ranks may have in flight, in the order
/// of their numbers; collectives have the last turn. One turn for all if no
/// rank is limited.
void NcclTransport::divideIntoTurns(const TransportParams &params) {
  const size_t programs = std::max<size_t>(1, params.ranksOfProgram.size());
  auto limitOf = [&](int32_t rank) {
    int32_t least = 0;
    for (size_t p = 0; p < programs; ++p)
      if (const int32_t limit = params.residentOf(p, rank); limit > 0)
        least = least > 0 ? std::min(least, limit) : limit;
    return least;
  };
  // Indexed by turn, then by rank.
  std::vector<std::map<int32_t, int32_t>> taken(1);
  turns.resize(1);
  for (size_t c = 0; c < params.channels.size(); ++c) {
    const ChannelParams &channel = params.channels[c];
    auto hasRoom = [&](size_t turn, int32_t rank) {
      return limitOf(rank) == 0 || taken[turn][rank] < limitOf(rank);
    };
    size_t turn = 0;
    while (!hasRoom(turn, channel.from) || !hasRoom(turn, channel.to))
      if (++turn == taken.size()) {
        taken.emplace_back();
        turns.emplace_back();
      }
    ++taken[turn][channel.from];
    ++taken[turn][channel.to];
    for (ChannelEnd *end : {senders[c], receivers[c]})
      if (end)
        turns[turn].push_back(end);
  }
  for (int32_t rank = 0; rank < params.ranks; ++rank)
    if (limitOf(rank) > 0) {
      turns.emplace_back();
      break;
    }
}

/// Any memory that only this end uses.
void NcclTransport::sendOneByte(const ChannelEnd &end) const {
  ranks[end.isSender ? end.from : end.to]->device->gpu().select();
  if (end.isSender)
    RONDO_NCCL(ncclSend(end.scratch.get(), 1, ncclInt8, 1,
                        end.communicator.get(), end.stream.get()));
  else
    RONDO_NCCL(ncclRecv(end.scratch.get(), 1, ncclInt8, 0,
                        end.communicator.get(), end.stream.get()));
}

/// A pair connects with its first message, which involves both hosts and must
/// not happen while an iteration is recorded. So all of a turn connect here at
/// once, in one group.
void NcclTransport::warmUp(const Deadline &deadline) {
  for (size_t turn = 0; turn + 1 < turns.size(); ++turn) {
    Group group;
    for (const ChannelEnd *end : turns[turn])
      sendOneByte(*end);
    group.end();
    awaitWarmUp(deadline);
  }
  Group group;
  for (const ChannelEnd *end : turns.back())
    sendOneByte(*end);
  for (const std::unique_ptr<Member> &member : members) {
    if (!member->communicator)
      continue;
    const GpuRank &rank = *ranks[member->rank];
    rank.device->gpu().select();
    const ncclComm_t communicator = member->communicator->get();
    const cudaStream_t stream = rank.device->compute().handle;
    char *const scratch = member->scratch->get();
    RONDO_NCCL(
        ncclAllGather(scratch, scratch + 1, 1, ncclInt8, communicator, stream));
    for (int32_t other : member->ranks) {
      if (other == member->rank)
        continue;
      const int peer = member->peerOf(other);
      RONDO_NCCL(ncclSend(scratch, 1, ncclInt8, peer, communicator, stream));
      RONDO_NCCL(
          ncclRecv(scratch + 1, 1, ncclInt8, peer, communicator, stream));
    }
  }
  group.end();
  awaitWarmUp(deadline);
}

std::vector<Communicator *>
NcclTransport::communicatorsOf(const GpuRank &rank) const {
  std::vector<Communicator *> all;
  for (ChannelEnd *end : rank.ends)
    all.push_back(&end->communicator);
  for (Member *member : rank.members)
    if (member->communicator)
      all.push_back(member->communicator.get());
  return all;
}

void NcclTransport::checkDeadline(const Communicator &communicator,
                                  const Deadline &deadline) const {
  if (!world.isAlone())
    world.store->check();
  if (!deadline.hasExpired())
    return;
  throw Error((world.isAlone()
                   ? std::string()
                   : "rank " + std::to_string(world.process) + " waits in '" +
                         nameOf(Phase::Connect) + "': ") +
                  communicator.name() + " has not connected within " +
                  secondsText(options.timeoutSeconds),
              Exit::RunFailure);
}

void NcclTransport::awaitCommunicators(const Deadline &deadline) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r])
      continue;
    ranks[r]->device->enter();
    for (const Communicator *communicator : communicatorsOf(*ranks[r]))
      while (!communicator->isSettled()) {
        checkDeadline(*communicator, deadline);
        std::this_thread::sleep_for(lookInterval);
      }
  }
  callingRank = -1;
}

void NcclTransport::awaitWarmUp(const Deadline &deadline) {
  awaitCommunicators(deadline);
  for (const std::unique_ptr<ChannelEnd> &end : ends)
    cuda::awaitIdle(end->stream.get(),
                    [&] { checkDeadline(end->communicator, deadline); });
  for (const std::unique_ptr<Member> &member : members)
    if (member->communicator)
      cuda::awaitIdle(ranks[member->rank]->device->compute().handle,
                      [&] { checkDeadline(*member->communicator, deadline); });
}

/// NCCL's objects and the streams must be gone before their memory is. Each is
/// destroyed with its own GPU current.
void NcclTransport::release() {
  auto select = [&](int32_t rank) {
    cudaSetDevice(ranks[rank]->device->gpu().ordinal);
  };
  for (std::unique_ptr<ChannelEnd> &end : ends) {
    select(end->isSender ? end->from : end->to);
    end.reset();
  }
  for (std::unique_ptr<Member> &member : members) {
    select(member->rank);
    member.reset();
  }
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r]) {
      select(static_cast<int32_t>(r));
      ranks[r].reset();
    }
  callingRank = -1;
}

NcclTransport::~NcclTransport() {
  for (const std::unique_ptr<GpuRank> &rank : ranks) {
    if (!rank)
      continue;
    rank->device->enter();
    // A communicator must live as long as any graph holds its operations.
    for (GpuRank::Recording &recording : rank->recordings)
      recording.graph.drop();
    for (Communicator *communicator : communicatorsOf(*rank))
      communicator->part();
  }
  release();
}

//===----------------------------------------------------------------------===//
// A rank's ends of channels and collectives.
//===----------------------------------------------------------------------===//

static std::string describe(const ChannelParams &params) {
  return "the channel from rank " + std::to_string(params.from) + " to rank " +
         std::to_string(params.to);
}

ChannelEnd::ChannelEnd(const ChannelParams &params, int32_t channel,
                       bool isSender, int maxBlocks, const std::string &id)
    : channel(channel), from(params.from), to(params.to), isSender(isSender),
      isEndless(params.isEndless), messages(params.messages),
      stream(OwnedStream::Priority::Urgent),
      communicator(id, 2, isSender ? 0 : 1, maxBlocks, describe(params)) {
  // A power of two divides 2^32, so tickets may wrap.
  size_t capacity = 1;
  while (static_cast<int64_t>(capacity) < params.messages)
    capacity *= 2;
  done.reserve(capacity);
  for (size_t i = 0; i < capacity; ++i)
    done.emplace_back();
}

Member::Member(const CollectiveParams &parts, int32_t collective, int32_t rank,
               const std::vector<int32_t> &ranks, const std::string &id)
    : parts(parts), collective(collective), rank(rank), ranks(ranks),
      exchange(parts, rank, sumsOfGpus.elementsAtOnce) {
  if (ranks.size() == 1)
    return;
  scratch = std::make_unique<DeviceMemory>(1 + ranks.size());
  communicator = std::make_unique<Communicator>(
      id, static_cast<int>(ranks.size()), peerOf(rank), maxBlocksOfRank,
      "all_reduce " + std::to_string(collective));
  maxElements = maxElementsOfARank(parts);
}
