//===- nccl_links.h - Ranks of a communicator in other processes *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank listens on a Unix socket whose name follows from the communicator's
// identifier and the rank, and connects to the ranks below it. Such a name
// disappears with its process, so nothing has to be cleaned up. One thread
// moves the bytes of all; all calls require the engine's mutex.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_NCCL_LINKS_H
#define RONDO_TEST_CUDA_EMULATION_NCCL_LINKS_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace emulation {

/// A message from one rank to another.
struct LinkFrame {
  enum Kind : uint32_t {
    /// The first of each side; data: the name of its GPU.
    Join,
    /// `from` has issued its first call to `to`; -1: to all.
    Issued,
    /// Data of a send.
    Message,
    /// `from` has taken the next send of `to`.
    Taken,
    /// Data of a gather.
    Gather,
    /// The connection ends normally.
    Parted,
  };
  Kind kind = Join;
  int32_t from = 0, to = 0;
  std::vector<char> data;
};

class Links {
public:
  struct Handlers {
    /// Ranks of this process itself, which need no connection.
    std::function<bool(int rank)> isLocal;
    std::function<void(const LinkFrame &)> receive;
    /// A rank has disappeared without Parted.
    std::function<void(int rank)> lose;
  };

  /// `id` is any text; `device` is how the rank names its GPU.
  Links(const std::string &id, int rank, std::string device, Handlers handlers);
  /// Ends all connections. What the handlers refer to may be destroyed after
  /// that.
  ~Links();
  Links(const Links &) = delete;
  Links &operator=(const Links &) = delete;

  /// Ranks of other processes that have joined.
  std::vector<int> peers() const;
  void send(int rank, const LinkFrame &frame);
  void sendAll(const LinkFrame &frame);
  /// Moves what can be moved now.
  void pump();

private:
  friend class LinkThread;
  struct Connection {
    int fd = -1, rank = -1;
    std::string in, out;
    bool hasParted = false, isGone = false;
  };

  void connectDown();
  void accept();
  void write(Connection &connection);
  void read(Connection &connection);
  void put(Connection &connection, const LinkFrame &frame);

  const std::string id, device;
  const int rank;
  const Handlers handlers;
  int listener = -1;
  /// Key: descriptor.
  std::map<int, Connection> connections;
};

} // namespace emulation

#endif // RONDO_TEST_CUDA_EMULATION_NCCL_LINKS_H
