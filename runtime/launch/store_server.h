//===- store_server.h - The part of a store that process 0 runs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_STORE_SERVER_H
#define RONDO_RUNTIME_LAUNCH_STORE_SERVER_H

#include "runtime/base/clock.h"
#include "runtime/launch/listener.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store.h"

#include <atomic>
#include <map>
#include <thread>

namespace rondo::runtime {

/// Kinds of frames. A request is answered under its number unless stated
/// otherwise.
enum class StoreFrame : uint32_t {
  /// Requests: process, processes, job, program. The first frame on a
  /// connection, behind the handshake. Answered with the address by which the
  /// process has come.
  Hello,
  /// key, value.
  Set,
  /// key.
  Get,
  /// name, value, and a Patience as a number; answered with all values.
  Exchange,
  /// key, value; answered when it is taken.
  Give,
  /// key.
  Take,
  /// exit code, and the message, or "".
  Fail,
  /// text. No answer.
  Report,
  /// Answered with each process's last report and the nanoseconds since
  /// anything was received from it.
  Reports,
  /// Answered with the machine's name for its clock, and nowNs().
  Clock,
  /// The process ends normally. No answer.
  Leave,
  /// Sent to all periodically: process 0 is alive.
  Alive,
  /// Answers.
  Answer,
  /// The reason why the process is turned away.
  Refused,
  /// Sent to all without a request: exit code. The run has failed; from now on
  /// only Fail is answered.
  Failed,
};

/// The exit code that a Failed frame carries.
Exit codeOfFailure(const Frame &frame);

/// How often process 0 reports that it is alive.
inline constexpr int64_t aliveNs = 1'000'000'000;

/// Serves connections. All calls come from one thread.
class StoreServer {
public:
  /// Without listeners, serves only the connections that adopt() adds.
  StoreServer(const StoreParams &params, std::vector<Socket> listeners);

  /// Handles what has arrived, after waiting for it for `waitMs` at most.
  void turn(int waitMs);
  /// A connection that is let in, non-blocking.
  void adopt(Socket connection);
  /// The run has ended: deadlines no longer apply, and new connections are
  /// refused.
  void stop() {
    isStopping = true;
    door.sayCounts();
  }
  bool hasConnections() const { return !clients.empty(); }

private:
  struct Client {
    Socket socket;
    FrameReader in;
    std::string out;
    size_t outDone = 0;
    int32_t process = -1;
    /// Until then it must have said who it is.
    int64_t helloNs = 0;
    /// Its Hello has been refused.
    bool isRefused = false;
    bool isGone = false;
  };
  /// A request that waits for its answer.
  struct Request {
    int32_t process = -1;
    uint64_t id = 0;
    int64_t deadlineNs = 0;
  };
  struct Meeting {
    std::vector<std::string> values;
    std::vector<Request> requests;
    Store::Patience patience = Store::Patience::Usual;
  };
  struct Handover {
    Request giver;
    std::string value;
  };

  void sendStrangersAway();
  void read(Client &client);
  void write(Client &client);
  void lose(Client &client);
  void handle(Client &client, Frame frame);
  void greet(Client &client, const Frame &frame);
  void startClock();
  void meet(int32_t process, Frame frame);
  void answer(const Request &request, std::vector<std::string> fields);
  void put(Client &client, StoreFrame kind, uint64_t id,
           std::vector<std::string> fields);
  void declareFailure(int code, const std::string &text);
  void checkDeadlines();
  void sayAlive();
  Request request(int32_t process, uint64_t id) const;

  const StoreParams params;
  Listener door;
  const std::shared_ptr<Clock> clock;
  /// The time at the beginning of this turn, used for all waits.
  int64_t now = 0;
  std::map<int, Client> clients;
  static constexpr int notYet = -1, hasLeft = -2;
  /// By process: the descriptor of its connection, or one of the constants
  /// above.
  std::vector<int> connectionOf;
  std::vector<std::string> lastReports;
  /// When each process last sent anything.
  std::vector<int64_t> lastHeardNs;
  std::map<std::string, std::string> values;
  std::multimap<std::string, Request> gets, takes;
  std::map<std::string, Handover> handovers;
  std::map<std::string, Meeting> meetings;
  int64_t lastAliveNs = 0;
  int32_t joined = 0;
  bool hasFailed = false;
  int failureCode = 0;
  bool isStopping = false;
};

/// A server in its own thread.
class ServerThread {
public:
  ServerThread(const StoreParams &params, std::vector<Socket> listeners);
  /// Returns when the others have closed their connections, or after 2 s.
  ~ServerThread();

private:
  void serve();

  StoreServer server;
  std::atomic<bool> isStopping{false};
  std::thread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_STORE_SERVER_H
