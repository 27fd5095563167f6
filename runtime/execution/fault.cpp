//===- fault.cpp - A fault at one action of a run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/fault.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#include <csignal>
#include <cstdlib>
#include <netinet/in.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace rondo::runtime;

/// The number of an action, or a phase, up to the end.
static bool readMoment(std::istringstream &in, Fault &fault) {
  std::string moment;
  std::getline(in, moment);
  fault.phase = phaseNamed(moment);
  if (fault.phase)
    return fault.kind != Fault::Kind::Byte;
  std::istringstream number(moment);
  return number >> fault.action &&
         number.peek() == std::char_traits<char>::eof();
}

Fault rondo::runtime::parseFault(const std::string &text) {
  static const std::pair<const char *, Fault::Kind> kinds[] = {
      {"kill", Fault::Kind::Kill},     {"stop", Fault::Kind::Stop},
      {"delay", Fault::Kind::Delay},   {"disk", Fault::Kind::Disk},
      {"socket", Fault::Kind::Socket}, {"byte", Fault::Kind::Byte}};
  Fault fault;
  std::istringstream in(text);
  std::string word;
  std::getline(in, word, ':');
  if (const size_t equals = word.find('='); equals != std::string::npos) {
    fault.ms = std::atoll(word.c_str() + equals + 1);
    word.resize(equals);
  }
  for (const auto &[name, kind] : kinds)
    if (word == name)
      fault.kind = kind;
  char colon = 0;
  if (fault.kind == Fault::Kind::None || fault.ms < 0 ||
      !(in >> fault.rank >> colon) || colon != ':' || fault.rank < 0 ||
      !readMoment(in, fault))
    throw Error("--inject-fault needs KIND:RANK:ACTION or KIND:RANK:PHASE, "
                "with kill, stop, delay=MS, disk, socket or, at an action, "
                "byte, not '" +
                    text + "'",
                Exit::Usage);
  return fault;
}

/// Shuts the sockets whose peer has an address of the internet.
static void shutSockets() {
  constexpr int maxDescriptors = 4096;
  for (int descriptor = 3; descriptor < maxDescriptors; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &size) ==
            0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
      shutdown(descriptor, SHUT_RDWR);
  }
}

/// `transport` is null between iterations.
static void strike(const Fault &fault, Transport *transport) {
  switch (fault.kind) {
  case Fault::Kind::None:
    return;
  case Fault::Kind::Kill:
    std::raise(SIGKILL);
    return;
  case Fault::Kind::Stop:
    // All threads of the process, not this one alone.
    kill(getpid(), SIGSTOP);
    return;
  case Fault::Kind::Delay:
    sleepUntil(nowNs() + fault.ms * 1'000'000);
    return;
  case Fault::Kind::Disk: {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &limit);
    return;
  }
  case Fault::Kind::Socket:
    return shutSockets();
  case Fault::Kind::Byte:
    return transport->spoilNext(fault.rank);
  }
}

void FaultPoint::strike(Transport &transport) const {
  ::strike(fault, &transport);
}

void rondo::runtime::strikeAt(const Fault &fault, Phase phase) {
  if (fault.phase == phase)
    ::strike(fault, nullptr);
}
