//===- store_server.h - Process 0 serves the store --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_STORE_SERVER_H
#define RONDO_RUNTIME_LAUNCH_STORE_SERVER_H

#include "runtime/base/clock.h"
#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace rondo::runtime {

/// Kinds of frames. A request is answered under its number unless stated
/// otherwise.
enum class StoreFrame : uint32_t {
  /// Requests: process, processes, job, program. The first frame on a
  /// connection, after the handshake. Answered with the address by which the
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
  /// Sent to all every aliveSeconds(), and sent back by them: the process is
  /// alive. No answer.
  Alive,
  /// Answers.
  Answer,
  /// The reason why the process is refused.
  Refused,
  /// Sent to all without a request: exit code. The run has failed; from now on
  /// only Fail is answered.
  Failed,
  /// The name of the phase that the process enters. No answer.
  Enter,
};

/// The exit code that a Failed frame carries.
Exit codeOfFailure(const Frame &frame);

/// Interval at which process 0 asks the others whether they are alive.
double aliveSeconds(double timeoutSeconds);

/// The time at the beginning of a turn, for all waits that the turn checks.
class TurnClock : public Clock {
public:
  explicit TurnClock(std::shared_ptr<Clock> source)
      : source(std::move(source)) {}
  int64_t now() override { return time; }
  void beginTurn() { time = source->now(); }

private:
  const std::shared_ptr<Clock> source;
  int64_t time = 0;
};

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
  /// Whether there are connections of processes that still answer.
  bool hasConnections() const;
  /// The thread that serves cannot go on: reports why, and ends the run with
  /// the exit code of this exception. Then ends all connections, which the
  /// others notice if there is no memory to send them the code.
  void abandon(const std::exception &why);

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
    Deadline deadline;
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
  /// `namesSilent`: adds the processes that do not answer.
  void declareFailure(int code, const std::string &text,
                      bool namesSilent = true);
  void checkDeadlines();
  bool checkMeetings();
  bool checkSilence();
  /// Which processes do not answer; empty: all do.
  std::string silentOnes() const;
  std::string silenceOf(int32_t process) const;
  void sayAlive();
  Request request(int32_t process, uint64_t id) const;

  const StoreParams params;
  Listener door;
  const std::shared_ptr<TurnClock> clock;
  /// The time at the beginning of this turn, ns.
  int64_t now = 0;
  const Deadline joining;
  std::map<int, Client> clients;
  static constexpr int notYet = -1, hasLeft = -2;
  /// Indexed by process: the descriptor of its connection, or one of the
  /// constants above.
  std::vector<int> connectionOf;
  std::vector<std::string> lastReports;
  /// Indexed by process. `reported` is renewed by everything that it asks or
  /// reports, and by each answer, since a process that waits keeps nobody
  /// waiting; `alive` by every byte.
  std::vector<Deadline> reported, alive;
  /// Indexed by process: the last phase or exchange that it has begun.
  std::vector<std::string> lastSeen;
  std::map<std::string, std::string> values;
  std::multimap<std::string, Request> gets, takes;
  std::map<std::string, Handover> handovers;
  std::map<std::string, Meeting> meetings;
  Deadline nextAlive;
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
  void serveUntilStopped();

  StoreServer server;
  std::atomic<bool> isStopping{false};
  std::thread thread;
};

/// Makes the store on a connection whose Hello has been answered; `reader`
/// holds what came after the answer, which said `atFirst`. `server` is null
/// except in process 0.
std::unique_ptr<Store> makeTcpStore(const StoreParams &params,
                                    std::unique_ptr<ServerThread> server,
                                    Socket connection, FrameReader reader,
                                    const std::string &atFirst);

//===----------------------------------------------------------------------===//
// The file in which processes find process 0.
//===----------------------------------------------------------------------===//

/// Published by process 0 in a file or by a broadcast.
struct MeetingPlace {
  HostPort address;
  /// The secret of the run; empty: there is none, or every process was given
  /// it.
  std::string secret;
};

std::string encode(const MeetingPlace &place);
/// Nothing if the text is not complete.
std::optional<MeetingPlace> decodePlace(const std::string &text);

/// Writes a file that only this user can read, whole or not at all. Throws
/// Error with Exit::Usage.
void writePlace(const std::string &path, const MeetingPlace &place);
/// Nothing if there is no such file yet. Throws Error with Exit::Usage if it is
/// somebody else's.
std::optional<MeetingPlace> readPlace(const std::string &path);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_STORE_SERVER_H
