//===- Relay.h - A transport in another process -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suite runs in process 0. Process p has the transport of rank p and makes
// all its calls, with the product's own classes, on arenas that all processes
// share. Requests between the processes go over the loopback interface, not
// through MPI.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CONFORMANCE_MPI_RELAY_H
#define RONDO_TEST_UNIT_CONFORMANCE_MPI_RELAY_H

#include "SharedMemory.h"

#include "runtime/backend/backend.h"
#include "runtime/launch/socket.h"

#include <mutex>
#include <string>
#include <vector>

namespace rondo::runtime::test {

/// Calls and answers, one after another. If the other end has ended, this
/// process ends too: nothing that follows would mean anything.
class Line {
public:
  Line(Socket socket, std::string other)
      : socket(std::move(socket)), other(std::move(other)) {}

  void say(const Frame &frame);
  Frame hear();
  /// Sends a frame and waits for the answer. Thread-safe.
  Frame ask(const Frame &frame);

private:
  const Socket socket;
  const std::string other;
  FrameReader reader;
  std::mutex mutex;
};

/// Lines to a rank's process: calls of the rank's thread, and what may be asked
/// while such a call waits.
struct Lines {
  std::unique_ptr<Line> calls, questions;
};

/// Connection of the other processes to process 0.
class Exchange {
public:
  Exchange();
  /// For dial().
  std::string address() const;
  /// Waits until all have called.
  std::vector<Lines> admit(int32_t processes);

private:
  const Socket listener;
  const std::string token;
};
Lines dial(const std::string &address, int32_t process);

/// Makes the transport of a process, in that process.
using MakeTransport = std::unique_ptr<Transport> (*)(
    const TransportParams &params, const TransportOptions &options,
    int32_t process);

/// Does what process 0 asks on the lines, until it ends this.
void serve(const Lines &lines, int32_t process, SharedMemory &memory,
           MakeTransport make);
void stopServing(const Lines &lines);

/// The transport that a process has made. A call waits for its answer.
std::unique_ptr<Transport> makeRemote(const Lines &lines, SharedMemory &memory,
                                      const TransportParams &params,
                                      const TransportOptions &options);

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_MPI_RELAY_H
