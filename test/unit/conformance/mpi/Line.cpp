//===- Line.cpp - What the processes of a test say to each other ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relay.h"

#include "runtime/base/error.h"
#include "runtime/launch/socket.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <sys/socket.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

[[noreturn]] static void lose(const std::string &other) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: lost %s\n", other.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

void Line::say(const Frame &frame) {
  if (!sendAll(socket, encode(frame)))
    lose(other);
}

Frame Line::hear() {
  for (;;) {
    if (std::optional<Frame> frame = reader.next(1 << 24))
      return *frame;
    if (!receiveSome(socket, reader))
      lose(other);
  }
}

Frame Line::ask(const Frame &frame) {
  std::lock_guard<std::mutex> lock(mutex);
  say(frame);
  return hear();
}

static std::string makeToken() {
  std::random_device random;
  return std::to_string(random()) + "." + std::to_string(random());
}

Exchange::Exchange()
    : listener(listenOn(0, /*onLoopbackOnly=*/true)), token(makeToken()) {
  if (!listener)
    throw Error("cannot listen on the loopback interface");
}

std::string Exchange::address() const {
  return std::to_string(portOf(listener)) + " " + token;
}

std::vector<Lines> Exchange::admit(int32_t processes) {
  std::vector<Lines> all(processes);
  for (int32_t missing = 2 * processes; missing > 0;) {
    Socket socket(
        accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    FrameReader reader;
    std::optional<Frame> hello;
    try {
      while (!hello && receiveSome(socket, reader, 10))
        hello = reader.next(1 << 10);
    } catch (const Error &) {
      // Not one of ours.
    }
    if (!hello || hello->fields.size() != 2 || hello->fields[0] != token)
      continue;
    keepAlive(socket);
    const int32_t process = std::stoi(hello->fields[1]);
    Lines &lines = all.at(process);
    std::unique_ptr<Line> &line =
        hello->kind == 0 ? lines.calls : lines.questions;
    line = std::make_unique<Line>(std::move(socket),
                                  "process " + std::to_string(process));
    --missing;
  }
  return all;
}

Lines rondo::runtime::test::dial(const std::string &address, int32_t process) {
  int port = 0;
  std::string token;
  std::istringstream(address) >> port >> token;
  Lines lines;
  for (uint32_t kind = 0; kind < 2; ++kind) {
    std::string why;
    Socket socket = connectTo({"127.0.0.1", port}, 10, why);
    if (!socket)
      throw Error("cannot call process 0 at port " + std::to_string(port) +
                  ": " + why);
    (kind == 0 ? lines.calls : lines.questions) =
        std::make_unique<Line>(std::move(socket), "process 0");
    (kind == 0 ? lines.calls : lines.questions)
        ->say({kind, 0, {token, std::to_string(process)}});
  }
  return lines;
}
