//===- join_store.cpp - How the processes of a run find process 0 ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/launch/say_error.h"
#include "runtime/launch/tcp_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;

static std::unique_ptr<ServerThread>
startServer(const StoreParams &params, const Rendezvous &where, int &port) {
  Socket listener;
  bool isGiven = where.file.empty() && !where.broadcast;
  int first = isGiven ? where.port : 0, ports = isGiven ? where.numPorts : 1;
  for (int p = 0; p < ports && !listener; ++p)
    listener = listenOn(first + p, where.isLocal);
  if (!listener) {
    std::string why = std::strerror(errno);
    throw Error("rank 0 cannot listen on port " + std::to_string(first) +
                    (ports > 1 ? " to " + std::to_string(first + ports - 1)
                               : std::string()) +
                    ": " + why + "; choose another with --rdzv HOST:PORT",
                Exit::RunFailure);
  }
  port = portOf(listener);
  return std::make_unique<ServerThread>(params, std::move(listener));
}

static std::string thisHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// What process 0 tells the others: its host and port.
static std::string addressText(int port) {
  return thisHost() + " " + std::to_string(port) + "\n";
}

/// Uses the loopback interface if both are on one machine.
static std::optional<HostPort> readAddress(std::istream &text, bool isLocal) {
  HostPort address;
  if (!(text >> address.host >> address.port))
    return std::nullopt;
  if (isLocal || address.host == thisHost())
    address.host = "127.0.0.1";
  return address;
}

static void writeAddress(const Rendezvous &where, int port) {
  const std::string temporary =
      where.file + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(temporary);
  file << addressText(port);
  file.close();
  if (file && std::rename(temporary.c_str(), where.file.c_str()) == 0)
    return;
  std::string why = std::strerror(errno);
  std::remove(temporary.c_str());
  throw Error("rank 0 cannot write its address in '" + where.file + "': " + why,
              Exit::Usage);
}

/// One frame, if it comes in time. Throws Error if it is not one of ours.
static std::optional<Frame> receiveFrame(const Socket &connection,
                                         FrameReader &reader, double seconds) {
  std::optional<Frame> frame = reader.next(1 << 16);
  while (!frame && receiveSome(connection, reader, seconds))
    frame = reader.next(1 << 16);
  return frame;
}

namespace {

/// A process that is joining a run.
class Joining {
public:
  Joining(const StoreParams &params, const Rendezvous &where)
      : params(params), where(where), numPorts(std::max(1, where.numPorts)) {}

  std::unique_ptr<Store> join();

private:
  void tellAddress();
  std::optional<HostPort> addressAt(int attempt) const;
  std::optional<Frame> greet(const Socket &connection, FrameReader &reader,
                             double welcomeSeconds);
  bool isAccepted(const Frame &answer);
  std::unique_ptr<Store> start(Socket connection, FrameReader reader);
  bool arePortsTaken() const;
  [[noreturn]] void giveUp() const;

  const StoreParams &params;
  const Rendezvous &where;
  const int numPorts;
  /// Only in process 0.
  std::unique_ptr<ServerThread> server;
  int ownPort = 0;
  /// The result of a broadcast.
  std::optional<HostPort> told;
  /// Why the last attempt failed.
  std::string why = "rank 0 has not written its address";
  /// Consecutive attempts that reached something other than process 0.
  int occupied = 0;
};

} // namespace

/// From here on process 0 listens. A broadcast needs all processes.
void Joining::tellAddress() {
  if (params.process == 0) {
    server = startServer(params, where, ownPort);
    if (!where.file.empty())
      writeAddress(where, ownPort);
  }
  if (where.broadcast) {
    std::istringstream text(where.broadcast(addressText(ownPort)));
    told = readAddress(text, where.isLocal);
  }
}

/// Where to look for process 0, trying each port in turn; empty: not known yet.
std::optional<HostPort> Joining::addressAt(int attempt) const {
  if (server)
    return HostPort{"127.0.0.1", ownPort};
  if (told)
    return told;
  if (!where.file.empty()) {
    std::ifstream file(where.file);
    return readAddress(file, where.isLocal);
  }
  return HostPort{where.isLocal ? "127.0.0.1" : where.host,
                  where.port + attempt % numPorts};
}

/// Introduces this process once it is welcome. Returns the answer; if none
/// comes, returns nothing and sets `why`.
std::optional<Frame> Joining::greet(const Socket &connection,
                                    FrameReader &reader,
                                    double welcomeSeconds) {
  const Frame hello = {static_cast<uint32_t>(StoreFrame::Hello),
                       1,
                       {std::to_string(params.process),
                        std::to_string(params.processes), params.job,
                        params.program}};
  std::optional<Frame> answer;
  try {
    // Another program may listen there and send nothing. A process that has not
    // introduced itself can leave without harm.
    if (!receiveFrame(connection, reader, welcomeSeconds)) {
      why = "what listens there is not rank 0";
      return std::nullopt;
    }
    if (sendAll(connection, encode(hello)))
      answer = receiveFrame(connection, reader, 10);
  } catch (const Error &error) {
    why = error.what();
    return std::nullopt;
  }
  if (!answer)
    why = "rank 0 does not answer";
  return answer;
}

/// Returns false and sets `why` if process 0 of another run answered. Throws
/// Error if this process does not fit the run, and PeerFailed if the run has
/// failed.
bool Joining::isAccepted(const Frame &answer) {
  const auto kind = static_cast<StoreFrame>(answer.kind);
  if (kind == StoreFrame::Refused && answer.fields.size() == 2) {
    why = answer.fields[1];
    if (answer.fields[0] == "job")
      return false;
    throw Error(why, Exit::Usage);
  }
  if (kind == StoreFrame::Failed)
    throw PeerFailed{codeOfFailure(answer)};
  return true;
}

/// Returns when all processes have arrived.
std::unique_ptr<Store> Joining::start(Socket connection, FrameReader reader) {
  std::unique_ptr<Store> store = makeTcpStore(
      params, std::move(server), std::move(connection), std::move(reader));
  store->barrier("start");
  // Another run must not find the file.
  if (params.process == 0 && !where.file.empty())
    std::remove(where.file.c_str());
  return store;
}

/// If other programs hold every port, process 0 cannot listen and cannot tell
/// the others. A single port may be process 0's own, on a machine that is slow
/// to answer.
bool Joining::arePortsTaken() const {
  constexpr int rounds = 3;
  return numPorts > 1 && !server && occupied >= rounds * numPorts;
}

void Joining::giveUp() const {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", params.joinSeconds);
  std::string at = told                 ? textOf(*told)
                   : where.file.empty() ? textOf({where.host, where.port})
                                        : "'" + where.file + "'";
  if (arePortsTaken())
    throw Error("rank " + std::to_string(params.process) +
                    " could not find rank 0 at " + at + " to " +
                    std::to_string(where.port + numPorts - 1) +
                    ", where other programs listen: " + why +
                    "; choose another place with --rdzv HOST:PORT",
                Exit::RunFailure);
  throw Error("rank " + std::to_string(params.process) +
                  " could not find rank 0 at " + at + " within " + limit +
                  " s: " + why,
              Exit::RunFailure);
}

std::unique_ptr<Store> Joining::join() {
  tellAddress();
  const int64_t beginNs = nowNs();
  // Process 0 gives up first, and reports which ranks are missing.
  const int64_t deadlineNs =
      beginNs + static_cast<int64_t>((params.joinSeconds + 5) * 1e9);
  // Runs that are ending get this long to free their ports: 10 s of the usual
  // 60.
  const int64_t takenNs = static_cast<int64_t>(params.joinSeconds * 1e9 / 6);
  for (int attempt = 0; nowNs() < deadlineNs; ++attempt) {
    if (arePortsTaken() && nowNs() - beginNs > takenNs)
      break;
    if (attempt > 0)
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::min(5 * attempt, 100)));
    std::optional<HostPort> address = addressAt(attempt);
    if (!address)
      continue;
    Socket connection = connectTo(*address, 1, why);
    occupied = connection ? occupied + 1 : 0;
    if (!connection)
      continue;
    const int round = attempt / numPorts;
    FrameReader reader;
    std::optional<Frame> answer =
        greet(connection, reader, std::min(3.0, 0.2 * (round + 1)));
    if (answer && isAccepted(*answer))
      return start(std::move(connection), std::move(reader));
  }
  giveUp();
}

std::unique_ptr<Store> rondo::runtime::joinStore(const StoreParams &given,
                                                 const Rendezvous &where) {
  StoreParams params = given;
  if (!params.say)
    params.say = sayError;
  return Joining(params, where).join();
}
