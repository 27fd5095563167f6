//===- store_server.cpp - Process 0 serves the store ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread, poll(), no locks: all state belongs to the thread that calls
// turn().
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/store_server.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

using namespace rondo::runtime;

static constexpr uint64_t maxStrangerBytes = 1 << 16,
                          maxFrameBytes = uint64_t(1) << 40;
/// Connections of no process that are kept besides one for each, and for how
/// long.
static constexpr size_t maxStrangers = 256;
static constexpr int64_t helloPatienceNs = 10'000'000'000;

static ListenerParams doorOf(const StoreParams &params) {
  return {params.secret, Line::Store, maxStrangers + params.processes,
          params.note};
}

Exit rondo::runtime::codeOfFailure(const Frame &frame) {
  return frame.fields.empty()
             ? Exit::RunFailure
             : static_cast<Exit>(std::atoi(frame.fields[0].c_str()));
}

StoreServer::StoreServer(const StoreParams &params,
                         std::vector<Socket> listeners)
    : params(params), door(std::move(listeners), doorOf(params)),
      clock(std::make_shared<TurnClock>(
          params.clock ? params.clock : std::make_shared<AwakeClock>())),
      // A limit of 0 expires at once, unlike in Deadline.
      joining(std::max(params.joinSeconds, 1e-6), clock),
      connectionOf(params.processes, notYet), lastReports(params.processes),
      reported(params.processes, Deadline(params.timeoutSeconds, clock)),
      alive(params.processes,
            Deadline(params.timeoutSeconds > 0
                         ? params.timeoutSeconds + silenceSeconds
                         : 0,
                     clock)),
      lastSeen(params.processes),
      nextAlive(aliveSeconds(params.timeoutSeconds), clock) {}

void StoreServer::turn(int waitMs) {
  clock->beginTurn();
  now = clock->now();
  std::vector<pollfd> waiting;
  door.addTo(waiting, now);
  const size_t atListener = waiting.size();
  for (const auto &[fd, client] : clients) {
    bool hasMore = client.outDone < client.out.size();
    waiting.push_back(
        {fd, static_cast<short>(hasMore ? POLLIN | POLLOUT : POLLIN), 0});
  }
  poll(waiting.data(), waiting.size(), waitMs);
  for (size_t i = atListener; i < waiting.size(); ++i) {
    const pollfd &ready = waiting[i];
    if (ready.revents == 0)
      continue;
    Client &client = clients[ready.fd];
    if (ready.revents & POLLOUT)
      write(client);
    if (ready.revents & (POLLIN | POLLHUP | POLLERR))
      read(client);
  }
  sendStrangersAway();
  waiting.resize(atListener);
  for (Socket &connection : door.admit(waiting, now))
    adopt(std::move(connection));
  if (door.isOutOfFiles() && joined < params.processes)
    declareFailure(static_cast<int>(Exit::RunFailure),
                   std::string("rank 0 cannot take another connection: ") +
                       std::strerror(EMFILE) +
                       "; 'ulimit -n' says how many it may have");
  checkDeadlines();
  sayAlive();
}

/// Removes connections that have ended, and those that do not say who they are.
void StoreServer::sendStrangersAway() {
  size_t strangers = 0;
  auto oldest = clients.end();
  for (auto it = clients.begin(); it != clients.end();) {
    const Client &client = it->second;
    if (client.isGone || (client.process < 0 && now > client.helloNs)) {
      it = clients.erase(it);
      continue;
    }
    if (client.process < 0) {
      ++strangers;
      if (oldest == clients.end() || client.helloNs < oldest->second.helloNs)
        oldest = it;
    }
    ++it;
  }
  if (strangers > maxStrangers + static_cast<size_t>(params.processes))
    clients.erase(oldest);
}

void StoreServer::adopt(Socket connection) {
  int fd = connection.descriptor();
  clients[fd].socket = std::move(connection);
  clients[fd].helloNs = now + helloPatienceNs;
}

void StoreServer::write(Client &client) {
  while (client.outDone < client.out.size()) {
    ssize_t count =
        send(client.socket.descriptor(), client.out.data() + client.outDone,
             client.out.size() - client.outDone, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno != EAGAIN)
      lose(client);
    if (count <= 0)
      return;
    client.outDone += static_cast<size_t>(count);
  }
  client.out.clear();
  client.outDone = 0;
}

void StoreServer::read(Client &client) {
  char data[1 << 16];
  ssize_t count = recv(client.socket.descriptor(), data, sizeof data, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (count <= 0)
    return lose(client);
  if (client.process >= 0)
    alive[client.process].renew();
  try {
    client.in.add(data, static_cast<size_t>(count));
    while (!client.isGone) {
      std::optional<Frame> frame =
          client.in.next(client.process < 0 ? maxStrangerBytes : maxFrameBytes);
      if (!frame)
        return;
      handle(client, std::move(*frame));
    }
  } catch (const Error &) {
    // For example a port scanner; it gets no answer.
    lose(client);
  } catch (const std::bad_alloc &) {
    declareFailure(static_cast<int>(Exit::Failure),
                   "rank 0 ran out of memory for data from rank " +
                       std::to_string(client.process));
    lose(client);
  }
}

void StoreServer::lose(Client &client) {
  client.isGone = true;
  if (client.process < 0 || connectionOf[client.process] == hasLeft)
    return;
  connectionOf[client.process] = hasLeft;
  declareFailure(static_cast<int>(Exit::RunFailure),
                 "lost rank " + std::to_string(client.process) +
                     ": its process has ended, or its machine does not answer");
}

void StoreServer::put(Client &client, StoreFrame kind, uint64_t id,
                      std::vector<std::string> fields) {
  client.out += encode({static_cast<uint32_t>(kind), id, std::move(fields)});
  write(client);
}

void StoreServer::answer(const Request &request,
                         std::vector<std::string> fields) {
  reported[request.process].renew();
  int fd = connectionOf[request.process];
  if (fd >= 0)
    put(clients[fd], StoreFrame::Answer, request.id, std::move(fields));
}

StoreServer::Request StoreServer::request(int32_t process, uint64_t id) const {
  return {process, id, Deadline(params.timeoutSeconds, clock)};
}

void StoreServer::greet(Client &client, const Frame &frame) {
  auto refuse = [&](const std::string &what, const std::string &why) {
    client.isRefused = true;
    put(client, StoreFrame::Refused, frame.id, {what, why});
  };
  if (frame.fields.size() != 4 || client.process >= 0 || client.isRefused)
    throw Error("it sends a greeting that is malformed or repeated");
  const std::string &job = frame.fields[2];
  if (job != params.job)
    return refuse("job", "a run named '" + params.job +
                             "' answers there; this one is '" + job + "'");
  // A launcher may restart a run before the old one has ended. The new run's
  // process retries.
  if (joined == params.processes && (hasFailed || isStopping))
    return refuse("job", "the run that answers there is ending");
  int32_t process = std::atoi(frame.fields[0].c_str());
  std::string why;
  if (frame.fields[1] != std::to_string(params.processes))
    why = "this process was started as one of " + frame.fields[1] +
          " ranks, rank 0 as one of " + std::to_string(params.processes);
  else if (process < 0 || process >= params.processes)
    why = "rank " + frame.fields[0] + " does not exist";
  else if (frame.fields[3] != params.program)
    why = "this process runs a different program than rank 0, or a different "
          "build of it";
  else if (connectionOf[process] != notYet)
    why = "two processes have rank " + frame.fields[0];
  if (!why.empty()) {
    refuse("run", why);
    // A run that is under way has all its processes, and loses none by others.
    if (joined < params.processes)
      declareFailure(static_cast<int>(Exit::Usage), "");
    return;
  }
  client.process = process;
  connectionOf[process] = client.socket.descriptor();
  if (++joined == params.processes)
    startClock();
  if (hasFailed)
    return put(client, StoreFrame::Failed, 0, {std::to_string(failureCode)});
  put(client, StoreFrame::Answer, frame.id, {addressOf(client.socket, false)});
}

/// Whether a frame is one that a process sends after its Hello.
static bool isRequest(const Frame &frame) {
  static const std::map<StoreFrame, size_t> numFields = {
      {StoreFrame::Set, 2},      {StoreFrame::Get, 1},
      {StoreFrame::Exchange, 3}, {StoreFrame::Give, 2},
      {StoreFrame::Take, 1},     {StoreFrame::Fail, 2},
      {StoreFrame::Report, 1},   {StoreFrame::Reports, 0},
      {StoreFrame::Clock, 0},    {StoreFrame::Leave, 0},
      {StoreFrame::Enter, 1},    {StoreFrame::Alive, 0}};
  const auto known = numFields.find(static_cast<StoreFrame>(frame.kind));
  return known != numFields.end() && frame.fields.size() == known->second;
}

void StoreServer::handle(Client &client, Frame frame) {
  auto kind = static_cast<StoreFrame>(frame.kind);
  if (kind == StoreFrame::Hello)
    return greet(client, frame);
  if (client.process < 0 || !isRequest(frame))
    throw Error("it sends an unknown request");
  if (kind == StoreFrame::Alive)
    return;
  // All have been told of the failure. An exchange that completed now would let
  // processes go on that have not received it yet.
  if (hasFailed && kind != StoreFrame::Fail && kind != StoreFrame::Leave)
    return;
  reported[client.process].renew();
  Request from = request(client.process, frame.id);
  auto field = [&](size_t i) -> std::string & { return frame.fields[i]; };
  switch (kind) {
  case StoreFrame::Set: {
    auto all = gets.equal_range(field(0));
    for (auto it = all.first; it != all.second; ++it)
      answer(it->second, {field(1)});
    gets.erase(field(0));
    values[field(0)] = std::move(field(1));
    return answer(from, {});
  }
  case StoreFrame::Get:
    if (auto it = values.find(field(0)); it != values.end())
      return answer(from, {it->second});
    gets.emplace(field(0), from);
    return;
  case StoreFrame::Exchange:
    lastSeen[client.process] = field(0);
    return meet(client.process, std::move(frame));
  case StoreFrame::Give:
    if (auto it = takes.find(field(0)); it != takes.end()) {
      answer(it->second, {std::move(field(1))});
      takes.erase(it);
      return answer(from, {});
    }
    handovers[field(0)] = {from, std::move(field(1))};
    return;
  case StoreFrame::Take:
    if (auto it = handovers.find(field(0)); it != handovers.end()) {
      answer(from, {std::move(it->second.value)});
      answer(it->second.giver, {});
      handovers.erase(it);
      return;
    }
    takes.emplace(field(0), from);
    return;
  case StoreFrame::Fail:
    // All others are told before the caller goes on, and perhaps exits.
    declareFailure(std::atoi(field(0).c_str()), field(1));
    answer(from, {});
    connectionOf[client.process] = hasLeft;
    return;
  case StoreFrame::Report:
    lastReports[client.process] = std::move(field(0));
    return;
  case StoreFrame::Enter:
    lastSeen[client.process] = std::move(field(0));
    return;
  case StoreFrame::Reports: {
    std::vector<std::string> fields;
    for (int32_t p = 0; p < params.processes; ++p) {
      fields.push_back(lastReports[p]);
      fields.push_back(
          std::to_string(int64_t(1e9 * reported[p].elapsedSeconds())));
    }
    return answer(from, std::move(fields));
  }
  case StoreFrame::Clock:
    return answer(from, {clockName(), std::to_string(nowNs())});
  default: // Leave
    connectionOf[client.process] = hasLeft;
  }
}

void StoreServer::meet(int32_t process, Frame frame) {
  Meeting &meeting = meetings[frame.fields[0]];
  if (meeting.requests.empty()) {
    meeting.values.resize(params.processes);
    meeting.requests.resize(params.processes);
  }
  meeting.values[process] = std::move(frame.fields[1]);
  meeting.requests[process] = request(process, frame.id);
  meeting.patience =
      static_cast<Store::Patience>(std::atoi(frame.fields[2].c_str()));
  if (meeting.patience != Store::Patience::Usual)
    meeting.requests[process].deadline = Deadline();
  for (const Request &from : meeting.requests)
    if (from.process < 0)
      return;
  Meeting complete = std::move(meeting);
  meetings.erase(frame.fields[0]);
  for (const Request &from : complete.requests)
    answer(from, complete.values);
}

void StoreServer::declareFailure(int code, const std::string &text,
                                 bool namesSilent) {
  if (hasFailed)
    return;
  hasFailed = true;
  failureCode = code;
  const std::string silent = namesSilent ? silentOnes() : std::string();
  if (!text.empty())
    params.say(silent.empty() ? text : text + "; " + silent);
  for (int fd : connectionOf)
    if (fd >= 0 && !clients[fd].isGone)
      put(clients[fd], StoreFrame::Failed, 0, {std::to_string(code)});
}

void StoreServer::abandon(const std::exception &why) {
  const auto *error = dynamic_cast<const Error *>(&why);
  const Exit code = error ? error->code : Exit::Failure;
  try {
    if (!hasFailed)
      declareFailure(static_cast<int>(code),
                     "rank 0 cannot serve the others any more: " +
                         reasonOf(why),
                     /*namesSilent=*/false);
  } catch (const std::exception &) {
    // Without memory there is no text, and perhaps no frame.
  }
  // Frames that were sent still arrive, unlike after a close.
  for (const auto &[fd, client] : clients)
    shutdown(fd, SHUT_WR);
}

ServerThread::ServerThread(const StoreParams &params,
                           std::vector<Socket> listeners)
    : server(params, std::move(listeners)), thread([this] { serve(); }) {}

ServerThread::~ServerThread() {
  isStopping = true;
  thread.join();
}

void ServerThread::serve() {
  try {
    serveUntilStopped();
  } catch (const std::exception &error) {
    // An exception that left the thread would end the process without a
    // message.
    server.abandon(error);
  }
}

void ServerThread::serveUntilStopped() {
  constexpr int waitMs = 50;
  while (!isStopping)
    server.turn(waitMs);
  server.stop();
  AwakeClock clock;
  constexpr int64_t patienceNs = 2'000'000'000;
  while (server.hasConnections() && clock.now() <= patienceNs)
    server.turn(waitMs);
}

double rondo::runtime::aliveSeconds(double timeoutSeconds) {
  return timeoutSeconds > 0 ? std::clamp(timeoutSeconds / 4, 0.1, 1.0) : 1;
}

/// All have arrived. Until now the limit for joining applied; from now on, the
/// limit on keeping others waiting.
void StoreServer::startClock() {
  for (auto &[name, meeting] : meetings)
    for (Request &from : meeting.requests)
      from.deadline.renew();
  for (int32_t p = 0; p < params.processes; ++p) {
    reported[p].renew();
    alive[p].renew();
  }
}

void StoreServer::sayAlive() {
  if (!nextAlive.hasExpired())
    return;
  nextAlive.renew();
  for (int fd : connectionOf)
    if (fd >= 0 && !clients[fd].isGone)
      put(clients[fd], StoreFrame::Alive, 0, {});
}

bool StoreServer::hasConnections() const {
  return std::any_of(clients.begin(), clients.end(), [&](const auto &entry) {
    const int32_t process = entry.second.process;
    return process < 0 || alive[process].elapsedSeconds() < 2;
  });
}

void StoreServer::checkDeadlines() {
  if (hasFailed || isStopping)
    return;
  if (joined < params.processes) {
    if (!joining.hasExpired())
      return;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p)
      if (connectionOf[p] == notYet)
        missing.push_back(p);
    return declareFailure(static_cast<int>(Exit::RunFailure),
                          ranksText(missing) + " did not arrive within " +
                              secondsText(params.joinSeconds));
  }
  if (checkMeetings() || checkSilence())
    return;
  auto check = [&](const std::string &key, const Request &from,
                   const char *what) {
    if (!hasFailed && from.deadline.hasExpired())
      declareFailure(static_cast<int>(Exit::RunFailure),
                     "rank " + std::to_string(from.process) + " waits for " +
                         what + " '" + key + "', which did not arrive within " +
                         secondsText(params.timeoutSeconds));
  };
  for (const auto &[key, from] : gets)
    check(key, from, "the value");
  for (const auto &[key, from] : takes)
    check(key, from, "the data");
  for (const auto &[key, handover] : handovers)
    check(key, handover.giver, "the receiver of");
}

/// Whether the run has failed since processes did not come to an exchange.
bool StoreServer::checkMeetings() {
  for (const auto &[name, meeting] : meetings) {
    const bool isWatched = meeting.patience == Store::Patience::WhileReported;
    bool isLate = false;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p) {
      if (meeting.requests[p].process >= 0) {
        isLate |= meeting.requests[p].deadline.hasExpired();
        continue;
      }
      if (!isWatched || reported[p].hasExpired())
        missing.push_back(p);
      isLate |= isWatched && reported[p].hasExpired();
    }
    if (!isLate)
      continue;
    declareFailure(static_cast<int>(Exit::RunFailure),
                   ranksText(missing) + " did not reach '" + name +
                       "' within " + secondsText(params.timeoutSeconds));
    return true;
  }
  return false;
}

/// Whether the run has failed since a process does not answer.
bool StoreServer::checkSilence() {
  for (int32_t p = 0; p < params.processes; ++p) {
    if (connectionOf[p] < 0 || !alive[p].hasExpired())
      continue;
    declareFailure(static_cast<int>(Exit::RunFailure), silentOnes(),
                   /*namesSilent=*/false);
    return true;
  }
  return false;
}

std::string StoreServer::silentOnes() const {
  if (joined < params.processes)
    return {};
  // A process that answers does so within aliveSeconds().
  const double most =
      params.timeoutSeconds > 0
          ? std::clamp(params.timeoutSeconds / 2, 0.5, silenceSeconds)
          : silenceSeconds;
  std::string text;
  for (int32_t p = 0; p < params.processes; ++p)
    if (connectionOf[p] >= 0 && alive[p].elapsedSeconds() > most)
      text += (text.empty() ? "" : "; ") + silenceOf(p);
  return text;
}

/// `rank 1 has not answered for 5.1 s, last seen in 'meet'`.
std::string StoreServer::silenceOf(int32_t process) const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s",
                alive[process].elapsedSeconds());
  return "rank " + std::to_string(process) + " has not answered for " +
         seconds +
         (lastSeen[process].empty()
              ? ""
              : ", last seen in '" + lastSeen[process] + "'");
}
