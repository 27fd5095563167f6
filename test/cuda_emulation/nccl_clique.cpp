//===- nccl_clique.cpp - The ranks of one emulated communicator -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nccl_clique.h"

#include "emulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace emulation {

void failNccl(const std::string &what) {
  std::fprintf(stderr, "nccl emulation: %s\n", what.c_str());
  std::abort();
}

//===----------------------------------------------------------------------===//
// Ranks come and go.
//===----------------------------------------------------------------------===//

bool Clique::join(const std::string &id, int rank, const std::string &device) {
  if (!local.insert(rank).second)
    return false;
  joined.insert(rank);
  devices[rank] = device;
  Links::Handlers handlers;
  handlers.isLocal = [this](int other) { return local.count(other) > 0; };
  handlers.receive = [this, rank](const LinkFrame &frame) {
    receive(rank, frame);
  };
  handlers.lose = [this](int) { hasLost = true; };
  links[rank] = std::make_unique<Links>(id, rank, device, std::move(handlers));
  return true;
}

void Clique::part(int rank) {
  links[rank]->sendAll({LinkFrame::Parted, rank, -1, {}});
}

void Clique::leave(int rank) {
  links.erase(rank);
  // Memory of calls that it has not received is freed now.
  for (auto &[pair, queue] : receives)
    if (pair.second == rank)
      queue.clear();
}

void Clique::look() {
  for (const auto &[rank, link] : links)
    link->pump();
}

void Clique::issue(int rank, int peer) {
  if (issued.insert({rank, peer}).second)
    links[rank]->sendAll({LinkFrame::Issued, rank, peer, {}});
}

void Clique::receive(int rank, const LinkFrame &frame) {
  switch (frame.kind) {
  case LinkFrame::Join:
    if (local.size() > 1)
      failNccl("a process has several ranks of a communicator, not all");
    joined.insert(frame.from);
    devices[frame.from] = std::string(frame.data.begin(), frame.data.end());
    return;
  case LinkFrame::Issued:
    issued.insert({frame.from, frame.to});
    return;
  case LinkFrame::Message:
  case LinkFrame::Gather: {
    const bool isSend = frame.kind == LinkFrame::Message;
    ArrivedCall arrived{{isSend ? NcclCall::Send : NcclCall::Gather,
                         isSend ? rank : -1, nullptr, nullptr,
                         frame.data.size()},
                        std::make_shared<std::vector<char>>(frame.data),
                        std::make_shared<bool>(false),
                        true};
    if (!isSend) {
      gathers[frame.from].push_back(std::move(arrived));
      return matchGathers();
    }
    sends[{frame.from, rank}].push_back(std::move(arrived));
    return matchMessages({frame.from, rank});
  }
  case LinkFrame::Taken:
    *untaken[frame.from].front() = true;
    untaken[frame.from].pop_front();
    return;
  case LinkFrame::Parted:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Messages.
//===----------------------------------------------------------------------===//

std::shared_ptr<bool> Clique::arrive(int rank, const NcclCall &call,
                                     bool isEarly) {
  ArrivedCall arrived{call, nullptr, std::make_shared<bool>(false)};
  std::shared_ptr<bool> done = arrived.isDone;
  if (call.kind == NcclCall::Receive) {
    receives[{call.peer, rank}].push_back(arrived);
    matchMessages({call.peer, rank});
    return done;
  }
  std::vector<char> data(call.from, call.from + call.bytes);
  if (call.kind == NcclCall::Gather) {
    if (local.size() == 1)
      links[rank]->sendAll({LinkFrame::Gather, rank, -1, std::move(data)});
    gathers[rank].push_back(arrived);
    matchGathers();
    return done;
  }
  if (isEarly)
    done = std::make_shared<bool>(true);
  if (local.count(call.peer) == 0) {
    untaken[call.peer].push_back(arrived.isDone);
    links[rank]->send(call.peer,
                      {LinkFrame::Message, rank, call.peer, std::move(data)});
    return done;
  }
  if (isEarly)
    arrived.kept = std::make_shared<std::vector<char>>(std::move(data));
  sends[{rank, call.peer}].push_back(arrived);
  matchMessages({rank, call.peer});
  return done;
}

void Clique::matchMessages(std::pair<int, int> pair) {
  auto &sent = sends[pair], &received = receives[pair];
  while (!sent.empty() && !received.empty()) {
    ArrivedCall &send = sent.front(), &receive = received.front();
    if (send.call.bytes != receive.call.bytes)
      failNccl("a send of " + std::to_string(send.call.bytes) +
               " bytes meets a receive of " +
               std::to_string(receive.call.bytes));
    if (send.call.bytes > 0) {
      MemoryAccess access;
      std::memcpy(receive.call.to, send.data(), send.call.bytes);
    }
    *send.isDone = *receive.isDone = true;
    if (send.isRemote)
      links[pair.second]->send(pair.first,
                               {LinkFrame::Taken, pair.second, pair.first, {}});
    sent.pop_front();
    received.pop_front();
  }
}

void Clique::matchGathers() {
  for (;;) {
    for (int r = 0; r < ranks; ++r)
      if (gathers[r].empty())
        return;
    MemoryAccess access;
    for (int to : local)
      for (int from = 0; from < ranks; ++from) {
        const ArrivedCall &source = gathers[from].front();
        const NcclCall &target = gathers[to].front().call;
        if (source.call.bytes != target.bytes)
          failNccl("ranks gather " + std::to_string(source.call.bytes) +
                   " and " + std::to_string(target.bytes) + " bytes");
        if (target.bytes > 0)
          std::memmove(target.to + static_cast<size_t>(from) * target.bytes,
                       source.data(), target.bytes);
      }
    for (int r = 0; r < ranks; ++r) {
      *gathers[r].front().isDone = true;
      gathers[r].pop_front();
    }
  }
}

//===----------------------------------------------------------------------===//
// Groups of calls.
//===----------------------------------------------------------------------===//

namespace {
/// Groups that have begun and not ended, by device.
std::map<int, int> residents;
int roomFor = 0, most = 0;
} // namespace

void setResident(int number) {
  std::lock_guard<std::mutex> lock(Engine::get().mutex);
  roomFor = number;
}
int maxResident() {
  std::lock_guard<std::mutex> lock(Engine::get().mutex);
  return std::exchange(most, 0);
}

int groupsOn(int device) { return groupsOfDevices[device]; }

void GroupRun::leaveDevice() {
  if (isResident)
    --residents[comm->device];
  isResident = false;
}

bool GroupRun::isReady() {
  if (comm->isAborted)
    return true;
  std::shared_ptr<GroupRun> previous = before.lock();
  if (!hasArrived && previous && previous->begun <= begun &&
      !previous->comm->isAborted)
    return false;
  int &there = residents[comm->device];
  if (!hasArrived && roomFor > 0 && there >= roomFor)
    return false;
  if (!hasArrived) {
    hasArrived = isResident = true;
    most = std::max(most, ++there);
    static const char *const text = std::getenv("RONDO_EMULATED_RESIDENT");
    if (text && there > std::atoi(text))
      failNccl(
          std::to_string(there) +
          " groups of calls are on one device at once, which has room for " +
          text);
    ++begun;
    for (const NcclCall &call : calls)
      // Small messages may leave early.
      done.push_back(
          comm->clique->arrive(comm->rank, call, Engine::get().draw(2) == 0));
  }
  return std::all_of(done.begin(), done.end(),
                     [](const auto &is) { return *is; });
}

void GroupRun::reset() {
  leaveDevice();
  hasArrived = false;
  done.clear();
}

} // namespace emulation
