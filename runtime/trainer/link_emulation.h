//===- link_emulation.h - Links that change, and other traffic --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_LINK_EMULATION_H
#define RONDO_RUNTIME_TRAINER_LINK_EMULATION_H

#include "runtime/execution/connections.h"
#include "runtime/launch/world.h"
#include "runtime/transport/imposed_links.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// The imposed links over which messages come to this process or leave it.
std::vector<SerialLink *> imposedLinks(Connections &connections,
                                       const World &world);

/// Lets messages of other jobs take their turns on links, as these say: each of
/// `otherMessageBytes`, one after the other at `otherBytesPerUs`, whether or
/// not the link has carried those before. They cost the links time and the
/// cores none.
class OtherTraffic {
public:
  /// The links must outlive it.
  explicit OtherTraffic(const std::vector<SerialLink *> &links) {
    for (SerialLink *link : links)
      streams.push_back({link});
  }

  /// Hands over what has become due, and returns when to call again. A change
  /// of the links is noticed with the next call, at most `longestWaitNs` later.
  /// Drops messages that are late by more than `longestLateNs`: the process was
  /// suspended.
  int64_t carryUntil(int64_t nowNs);

  static constexpr int64_t longestWaitNs = 1'000'000,
                           longestLateNs = 100'000'000;

private:
  struct Stream {
    SerialLink *link;
    bool isOn = false;
    int64_t nextNs = 0;
  };
  std::vector<Stream> streams;
};

/// Runs it in a thread of its own.
class OtherTrafficThread {
public:
  explicit OtherTrafficThread(const std::vector<SerialLink *> &links);
  ~OtherTrafficThread();
  OtherTrafficThread(const OtherTrafficThread &) = delete;
  OtherTrafficThread &operator=(const OtherTrafficThread &) = delete;

private:
  void work();

  OtherTraffic traffic;
  std::mutex mutex;
  std::condition_variable ends;
  bool isEnding = false;
  std::thread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LINK_EMULATION_H
