//===- host_links.cpp - Links to the host that ranks share ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/host_links.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <new>
#include <sstream>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Memory that ranks share.
//===----------------------------------------------------------------------===//

/// Ranks with a shared link.
static std::vector<int32_t> sharersOf(const Executable &executable,
                                      int32_t link) {
  std::vector<int32_t> ranks;
  for (int32_t r = 0; r < executable.numRanks; ++r)
    if (executable.hostLinks[r].shared == link)
      ranks.push_back(r);
  return ranks;
}

HostLinks::HostLinks(const Executable &executable, const World &world,
                     bool areImposed)
    : executable(executable), areImposed(areImposed),
      orders(executable.numRanks) {
  int32_t numShared = 0;
  for (int32_t r = 0; r < executable.numRanks; ++r)
    numShared = std::max(numShared, executable.hostLinks[r].shared + 1);
  lanes.resize(static_cast<size_t>(lanesOfLink) * numShared);
  if (numShared == 0)
    return;
  if (world.isAlone()) {
    for (Lane *&lane : lanes)
      lane = &ownLanes.emplace_back(Signal::Reach::Process);
    return;
  }
  shareLanes(world);
}

namespace {

/// What a process tells the others about itself and the memory that it has
/// made.
struct Sharer {
  /// The name of its clock, by which processes know whether they are on one
  /// host, and the host's name.
  std::string clock, host;
  /// Empty: it has made none.
  std::string memory;

  std::string encode() const { return clock + "\n" + host + "\n" + memory; }
  static Sharer decode(const std::string &text) {
    Sharer sharer;
    std::istringstream lines(text);
    std::getline(lines, sharer.clock);
    std::getline(lines, sharer.host);
    std::getline(lines, sharer.memory);
    return sharer;
  }
};

} // namespace

/// Why a rank cannot take part in the turns of its link; `why` it could not
/// open the memory of the link's first rank.
static Error cannotShare(const std::vector<Sharer> &sharers, int32_t link,
                         int32_t first, int32_t rank, const std::string &why) {
  const Sharer &one = sharers[first], &other = sharers[rank];
  std::string text = "ranks " + std::to_string(first) + " and " +
                     std::to_string(rank) + " share host link " +
                     std::to_string(link) + " of the plan, ";
  if (one.clock != other.clock)
    text += "but are on hosts '" + one.host + "' and '" + other.host +
            "': start them on one host, or change pipe.host_link";
  else
    text += "but rank " + std::to_string(rank) + " " + why +
            ": let them have one /dev/shm, for containers by --ipc=host";
  return Error(text, Exit::Usage);
}

void HostLinks::shareLanes(const World &world) {
  const int32_t me = world.process;
  const int32_t link =
      me < executable.numRanks ? executable.hostLinks[me].shared : -1;
  const size_t bytes = lanesOfLink * sizeof(Lane);
  const bool isFirst = link >= 0 && sharersOf(executable, link).front() == me;
  Sharer own{clockName(), thisHost(), std::string()};
  if (isFirst) {
    memory = std::make_unique<SharedMemory>(bytes);
    for (int i = 0; i < lanesOfLink; ++i)
      new (static_cast<Lane *>(memory->data()) + i) Lane(Signal::Reach::Host);
    own.memory = memory->name();
  }
  std::vector<Sharer> sharers;
  for (const std::string &text :
       world.store->exchange("host links", own.encode()))
    sharers.push_back(Sharer::decode(text));
  std::string why;
  if (link >= 0 && !isFirst) {
    const Sharer &first = sharers[sharersOf(executable, link).front()];
    try {
      if (first.clock != sharers[me].clock)
        throw Error("is on another host");
      memory = std::make_unique<SharedMemory>(first.memory, bytes);
    } catch (const Error &error) {
      why = error.what();
    }
  }
  const std::vector<std::string> all =
      world.store->exchange("the memory of host links", why);
  for (int32_t r = 0; r < std::min(executable.numRanks, world.processes); ++r)
    if (!all[r].empty()) {
      const int32_t shared = executable.hostLinks[r].shared;
      throwInAll(world,
                 cannotShare(sharers, shared,
                             sharersOf(executable, shared).front(), r, all[r]));
    }
  if (!memory)
    return;
  memory->removeName();
  for (int i = 0; i < lanesOfLink; ++i)
    lanes[lanesOfLink * link + i] = static_cast<Lane *>(memory->data()) + i;
}

//===----------------------------------------------------------------------===//
// Turns.
//===----------------------------------------------------------------------===//

HostLinks::Lane *HostLinks::laneOf(const Copy &copy) const {
  return executable.hostLinks[copy.rank].shared < 0 ? nullptr
                                                    : lanes[laneNumber(copy)];
}

void HostLinks::begin(int32_t rank, const ProgramDesc &program) {
  Order &order = orders[rank];
  order.program = &program;
  std::copy_n(order.next, lanesOfLink, order.first);
  const int32_t link = executable.hostLinks[rank].shared;
  for (int32_t r = 0; link >= 0 && r < program.numRanks; ++r)
    for (int32_t c = 0; executable.hostLinks[r].shared == link &&
                        c < program.copies[r].numCopies;
         ++c)
      if (const CopyDesc &copy = program.copies[r].copies[c]; copy.turn >= 0)
        ++order.next[laneNumber({r, copy.kind, copy.turn}) % lanesOfLink];
}

bool HostLinks::await(Signal &signal, uint32_t value) const {
  for (;;) {
    const uint32_t seen = signal.value();
    if (seen == value)
      return true;
    if (isStopped.load(std::memory_order_acquire))
      return false;
    signal.blockWhile(seen);
  }
}

bool HostLinks::enter(const Copy &copy) {
  Lane *lane = laneOf(copy);
  if (!lane)
    return true;
  if (copy.turn >= 0 && !await(lane->ended, turnOf(copy)))
    return false;
  if (!areImposed)
    return true;
  if (!await(lane->free, lane->next.fetch_add(1, std::memory_order_relaxed)))
    return false;
  lane->carries.store(copy.rank, std::memory_order_relaxed);
  return true;
}

void HostLinks::impose(const Copy &copy, int64_t bytes, int64_t beginNs) const {
  if (!areImposed)
    return;
  const HostLinkDesc &link = executable.hostLinks[copy.rank];
  int64_t ns = link.latencyNs;
  if (link.bytesPerUs > 0)
    ns += (1000 * bytes + link.bytesPerUs - 1) / link.bytesPerUs;
  sleepUntil(beginNs + ns);
}

void HostLinks::leave(const Copy &copy) {
  Lane *lane = laneOf(copy);
  if (!lane)
    return;
  if (areImposed)
    lane->free.advance();
  if (copy.turn >= 0)
    lane->ended.advance();
}

void HostLinks::stop() {
  isStopped.store(true, std::memory_order_release);
  for (Lane *lane : lanes)
    if (lane) {
      lane->ended.wakeAll();
      lane->free.wakeAll();
    }
}

CopyWait HostLinks::waitOf(const Copy &copy) const {
  const Lane *lane = laneOf(copy);
  if (!lane)
    return {};
  const std::string link =
      std::to_string(executable.hostLinks[copy.rank].shared);
  const Order &order = orders[copy.rank];
  const size_t number = laneNumber(copy);
  // Other processes advance it meanwhile.
  const uint32_t ended = lane->ended.value();
  if (copy.turn >= 0 && ended != turnOf(copy)) {
    const auto turn =
        static_cast<int32_t>(ended - order.first[number % lanesOfLink]);
    for (int32_t r = 0; r < order.program->numRanks; ++r)
      for (int32_t c = 0; c < order.program->copies[r].numCopies; ++c)
        if (const CopyDesc &other = order.program->copies[r].copies[c];
            other.turn == turn && turn >= 0 &&
            executable.hostLinks[r].shared ==
                executable.hostLinks[copy.rank].shared &&
            laneNumber({r, other.kind, turn}) == number)
          return {"its turn on host link " + link + " after " +
                      actionName(other.kind, Message::None,
                                 executable.replicas[other.replica].stage,
                                 other.microbatch) +
                      " of rank " + std::to_string(r),
                  r};
    return {"its turn on host link " + link +
                " after copies of the iteration before",
            -1};
  }
  const int32_t other = lane->carries.load(std::memory_order_relaxed);
  if (areImposed && other >= 0 && other != copy.rank)
    return {"host link " + link + ", which carries a copy of rank " +
                std::to_string(other),
            other};
  return {};
}

std::shared_ptr<HostLinks>
rondo::runtime::connectHostLinks(const Executable &executable,
                                 const World &world, bool areImposed) {
  if (!executable.hostLinks)
    return nullptr;
  const bool hasOrder =
      std::any_of(executable.programs,
                  executable.programs + executable.numPrograms, ordersCopies);
  if (!hasOrder && !areImposed)
    return nullptr;
  return std::make_shared<HostLinks>(executable, world, areImposed);
}
