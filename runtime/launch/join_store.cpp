//===- join_store.cpp - How the processes of a run find process 0 ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/launch/secret.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store_server.h"
#include "runtime/launch/world.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;
std::string rondo::runtime::encode(const MeetingPlace &place) {
  return place.address.host + " " + std::to_string(place.address.port) + " " +
         (place.secret.empty() ? "-" : place.secret) + "\n";
}

std::optional<MeetingPlace>
rondo::runtime::decodePlace(const std::string &text) {
  MeetingPlace place;
  std::istringstream words(text);
  if (!(words >> place.address.host >> place.address.port >> place.secret))
    return std::nullopt;
  if (place.secret == "-")
    place.secret.clear();
  return place;
}

void rondo::runtime::writePlace(const std::string &path,
                                const MeetingPlace &place) {
  try {
    writeTextFile(path, "its address in '" + path + "'", encode(place),
                  Readers::Owner);
  } catch (const Error &error) {
    throw Error(std::string("rank 0 ") + error.what(), Exit::Usage);
  }
}

std::optional<MeetingPlace> rondo::runtime::readPlace(const std::string &path) {
  const Socket file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT)
    return std::nullopt;
  struct stat status{};
  if (!file || fstat(file.descriptor(), &status) != 0)
    throw Error("cannot read rank 0's address in '" + path +
                    "': " + std::strerror(errno),
                Exit::Usage);
  // It would lead this process to another run.
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
    throw Error("'" + path + "', where rank 0 writes its address, " +
                    (S_ISREG(status.st_mode)
                         ? "belongs to user " + std::to_string(status.st_uid)
                         : std::string("is not a file")) +
                    "; choose another place with --rdzv",
                Exit::Usage);
  char text[512];
  const ssize_t count = read(file.descriptor(), text, sizeof text);
  return decodePlace(std::string(text, count > 0 ? count : 0));
}

/// The addresses at which process 0 listens: those that the others call. None
/// if they are unknown: it then listens on all interfaces.
static std::vector<std::string> addressesFor(const Rendezvous &where) {
  if (where.isLocal)
    return {loopbackAddress};
  const bool isGiven = where.file.empty() && !where.broadcast;
  return addressesNamed(isGiven ? where.host : thisHost());
}

static std::vector<Socket>
listenFor(const Rendezvous &where, const std::vector<std::string> &addresses) {
  std::vector<Socket> listeners;
  bool isGiven = where.file.empty() && !where.broadcast;
  int first = isGiven ? where.port : 0, ports = isGiven ? where.numPorts : 1;
  for (int p = 0; p < ports && listeners.empty(); ++p)
    listeners = listenAt(addresses, first + p);
  if (listeners.empty()) {
    std::string why = std::strerror(errno);
    throw Error("rank 0 cannot listen on port " + std::to_string(first) +
                    (ports > 1 ? " to " + std::to_string(first + ports - 1)
                               : std::string()) +
                    ": " + why + "; choose another with --rdzv HOST:PORT",
                Exit::RunFailure);
  }
  return listeners;
}

/// Whether process 0 can give the others a secret in a way that is not open.
static bool canTellSecret(const Rendezvous &where) {
  return hasSecrets() && (!where.file.empty() || where.broadcast);
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
      : params(params), where(where), numPorts(std::max(1, where.numPorts)),
        isSecretGiven(!params.secret.empty()) {}

  std::unique_ptr<Store> join();

private:
  void tellAddress();
  void sayOpen(const std::vector<std::string> &addresses) const;
  std::optional<HostPort> addressAt(int attempt);
  HostPort use(const MeetingPlace &place);
  std::optional<Frame> greet(const Socket &connection, FrameReader &reader,
                             double welcomeSeconds, const Deadline &deadline);
  bool isAccepted(const Frame &answer);
  std::unique_ptr<Store> start(Socket connection, FrameReader reader,
                               const Frame &answer);
  bool arePortsTaken() const;
  bool isSecretRefused() const;
  [[noreturn]] void giveUp() const;

  /// Its secret is the run's once process 0 has been found.
  StoreParams params;
  const Rendezvous &where;
  const int numPorts;
  const bool isSecretGiven;
  /// Only in process 0, which calls itself at `own`.
  std::unique_ptr<ServerThread> server;
  HostPort own;
  /// The result of a broadcast.
  std::optional<HostPort> told;
  /// Why the last attempt failed.
  std::string why = "rank 0 has not written its address";
  /// Consecutive attempts that reached something other than process 0.
  int occupied = 0;
  /// Attempts in which the secret did not fit, and the last one of them.
  int refused = 0;
  std::string refusal;
};

} // namespace

/// From here on process 0 listens. A broadcast needs all processes.
void Joining::tellAddress() {
  MeetingPlace place;
  if (params.process == 0) {
    if (!isSecretGiven && canTellSecret(where))
      params.secret = makeSecret();
    const std::vector<std::string> addresses = addressesFor(where);
    std::vector<Socket> listeners = listenFor(where, addresses);
    const std::string first =
        addresses.empty() ? std::string() : addresses.front();
    own = {first.empty() ? loopbackAddress : first, portOf(listeners.front())};
    place = {{first.empty() ? thisHost() : first, own.port},
             isSecretGiven ? std::string() : params.secret};
    sayOpen(addresses);
    server = std::make_unique<ServerThread>(params, std::move(listeners));
    if (!where.file.empty())
      writePlace(where.file, place);
  }
  if (where.broadcast)
    if (auto all = decodePlace(where.broadcast(encode(place))))
      told = use(*all);
}

/// Other machines can reach process 0, and so can others.
void Joining::sayOpen(const std::vector<std::string> &addresses) const {
  if (!params.secret.empty() || where.isLocal)
    return;
  std::string places;
  for (const std::string &address : addresses)
    places += (places.empty() ? "" : " and ") + textOf({address, own.port});
  params.note("no shared secret: anyone who can reach " +
              (places.empty() ? "port " + std::to_string(own.port) +
                                    " of any interface of this machine"
                              : places) +
              " can join this run; set RONDO_SECRET or give --secret-file to "
              "all ranks");
}

/// Takes the address and the secret that process 0 has published.
HostPort Joining::use(const MeetingPlace &place) {
  HostPort address = place.address;
  // A secret that has been given is not replaced by another one.
  if (!isSecretGiven)
    params.secret = place.secret;
  if (where.isLocal || address.host == thisHost())
    address.host = loopbackAddress;
  return address;
}

/// The address of process 0 in this attempt, each port in turn; nullopt: not
/// known yet.
std::optional<HostPort> Joining::addressAt(int attempt) {
  if (server)
    return own;
  if (told)
    return told;
  if (!where.file.empty()) {
    const std::optional<MeetingPlace> place = readPlace(where.file);
    return place ? std::optional(use(*place)) : std::nullopt;
  }
  return HostPort{where.isLocal ? loopbackAddress : where.host,
                  where.port + attempt % numPorts};
}

/// Introduces this process once it is welcome. Returns the answer; if none
/// comes, returns nothing and sets `why`.
std::optional<Frame> Joining::greet(const Socket &connection,
                                    FrameReader &reader, double welcomeSeconds,
                                    const Deadline &deadline) {
  const Frame hello = {static_cast<uint32_t>(StoreFrame::Hello),
                       1,
                       {std::to_string(params.process),
                        std::to_string(params.processes), params.job,
                        params.program}};
  // A process that has not introduced itself can leave without harm.
  const Entry entry = enter(connection, params.secret, Line::Store,
                            deadline.leftSeconds(welcomeSeconds));
  if (entry == Entry::WrongSecret || entry == Entry::SecretMissing ||
      entry == Entry::SecretUnwanted) {
    ++refused;
    refusal = textOf(entry, "rank 0");
  }
  if (entry != Entry::Admitted) {
    why = textOf(entry, "rank 0");
    return std::nullopt;
  }
  std::optional<Frame> answer;
  try {
    if (sendAll(connection, encode(hello)))
      answer = receiveFrame(connection, reader, deadline.leftSeconds(10));
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
    throw OwnError(why, Exit::Usage);
  }
  if (kind == StoreFrame::Failed)
    throw PeerFailed{codeOfFailure(answer)};
  return true;
}

/// Returns when all processes have arrived.
std::unique_ptr<Store> Joining::start(Socket connection, FrameReader reader,
                                      const Frame &answer) {
  std::unique_ptr<Store> store = makeTcpStore(
      params, std::move(server), std::move(connection), std::move(reader),
      answer.fields.empty() ? std::string() : answer.fields.front());
  store->barrier("start");
  // Another run must not find the file.
  if (params.process == 0 && !where.file.empty())
    std::remove(where.file.c_str());
  return store;
}

/// If other programs hold every port, process 0 cannot listen, and the others
/// would not learn of it. A single port may be process 0's own, on a machine
/// that is slow to answer.
bool Joining::arePortsTaken() const {
  constexpr int rounds = 3;
  return numPorts > 1 && !server && occupied >= rounds * numPorts;
}

/// Whether another secret is final. With several ports, or a file of an earlier
/// run, another run may have answered: process 0 may still come.
bool Joining::isSecretRefused() const {
  constexpr int rounds = 3;
  return numPorts == 1 && where.file.empty() && refused >= rounds;
}

void Joining::giveUp() const {
  std::string at = told                 ? textOf(*told)
                   : where.file.empty() ? textOf({where.host, where.port})
                                        : "'" + where.file + "'";
  if (!refusal.empty())
    throw OwnError("rank " + std::to_string(params.process) +
                       " is not let in at " + at + ": " + refusal,
                   Exit::Usage);
  if (arePortsTaken())
    throw Error("rank " + std::to_string(params.process) +
                    " could not find rank 0 at " + at + " to " +
                    std::to_string(where.port + numPorts - 1) +
                    ", where other programs listen: " + why +
                    "; choose another place with --rdzv HOST:PORT",
                Exit::RunFailure);
  throw Error("rank " + std::to_string(params.process) +
                  " could not find rank 0 at " + at + " within " +
                  secondsText(params.joinSeconds) + ": " + why,
              Exit::RunFailure);
}

std::unique_ptr<Store> Joining::join() {
  if (params.entered)
    params.entered(Phase::Join);
  tellAddress();
  // Process 0 gives up first, and reports which ranks are missing. Single
  // waits take longer than a second, so no AwakeClock.
  const auto clock = std::make_shared<SteadyClock>();
  const Deadline deadline(params.joinSeconds + silenceSeconds, clock);
  // Runs that are ending get this long to free their ports: 10 s of the usual
  // 60.
  const Deadline taken(params.joinSeconds / 6, clock);
  for (int attempt = 0; !deadline.hasExpired(); ++attempt) {
    if ((arePortsTaken() || isSecretRefused()) && taken.hasExpired())
      break;
    if (attempt > 0)
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::min(5 * attempt, 100)));
    std::optional<HostPort> address = addressAt(attempt);
    if (!address)
      continue;
    Socket connection = connectTo(*address, deadline.leftSeconds(1), why);
    occupied = connection ? occupied + 1 : 0;
    if (!connection)
      continue;
    const int round = attempt / numPorts;
    FrameReader reader;
    std::optional<Frame> answer =
        greet(connection, reader, std::min(3.0, 0.2 * (round + 1)), deadline);
    if (answer && isAccepted(*answer))
      return start(std::move(connection), std::move(reader), *answer);
  }
  giveUp();
}

std::unique_ptr<Store> rondo::runtime::joinStore(const StoreParams &given,
                                                 const Rendezvous &where) {
  StoreParams params = given;
  if (!params.say)
    params.say = sayError;
  if (!params.note)
    params.note = sayNote;
  return Joining(params, where).join();
}
