//===- link_emulation.cpp - Links that change, and other traffic ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/link_emulation.h"

#include "runtime/base/clock.h"
#include "runtime/trainer/extras.h"
#include "runtime/trainer/link_trace_reader.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace rondo::runtime;

std::vector<SerialLink *> rondo::runtime::imposedLinks(Connections &connections,
                                                       const World &world) {
  auto isHere = [&](int32_t rank) {
    return world.isAlone() || world.process == rank;
  };
  std::set<SerialLink *> links;
  for (const ChannelParams &channel : connections.channels())
    if (isHere(channel.from) || isHere(channel.to))
      if (SerialLink *link =
              connections.transport().imposedLink(channel.from, channel.to))
        links.insert(link);
  return {links.begin(), links.end()};
}

int64_t OtherTraffic::carryUntil(int64_t nowNs) {
  int64_t next = nowNs + longestWaitNs;
  for (Stream &stream : streams) {
    const ImposedLink link = stream.link->at(nowNs);
    if (link.otherMessageBytes == 0) {
      stream.isOn = false;
      continue;
    }
    if (!stream.isOn || nowNs - stream.nextNs > longestLateNs)
      stream.nextNs = nowNs;
    stream.isOn = true;
    const int64_t periodNs =
        1000 * link.otherMessageBytes / link.otherBytesPerUs;
    for (; stream.nextNs <= nowNs; stream.nextNs += periodNs)
      stream.link->carry(link.otherMessageBytes, stream.nextNs);
    next = std::min(next, stream.nextNs);
  }
  return next;
}

OtherTrafficThread::OtherTrafficThread(const std::vector<SerialLink *> &links)
    : traffic(links), thread([this] { work(); }) {}

OtherTrafficThread::~OtherTrafficThread() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  ends.notify_one();
  thread.join();
}

void OtherTrafficThread::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnding) {
    const int64_t now = nowNs(), next = traffic.carryUntil(now);
    ends.wait_for(lock, std::chrono::nanoseconds(next - now),
                  [this] { return isEnding; });
  }
}

static EmulatedLinks readLinks(const Options &options, int32_t ranks) {
  std::shared_ptr<const LinkTrace> trace;
  if (!options.linkTrace.empty())
    trace = std::make_shared<LinkTrace>(
        readLinkTrace(options.linkTrace, ranks, options.linkTraceRepeat));
  return {linkImposer(options.link, trace), trace && trace->hasMessages()};
}

static std::shared_ptr<void> startOtherTraffic(Connections &connections,
                                               const World &world) {
  return std::make_shared<OtherTrafficThread>(imposedLinks(connections, world));
}

const LinkEmulation rondo::runtime::linkEmulation = {readLinks,
                                                     startOtherTraffic};
