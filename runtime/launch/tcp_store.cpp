//===- tcp_store.cpp - A store on connections to process 0 ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/tcp_store.h"

#include "runtime/base/clock.h"
#include "runtime/launch/say_error.h"
#include "runtime/launch/store_server.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace rondo::runtime;

namespace {

class TcpStore : public Store {
public:
  TcpStore(const StoreParams &params, std::unique_ptr<ServerThread> server,
           Socket connection, FrameReader reader, std::string atFirst)
      : params(params), atFirst(std::move(atFirst)),
        patience(params.timeoutSeconds > 0 ? 1.5 * params.timeoutSeconds + 5
                                           : 0),
        server(std::move(server)), connection(std::move(connection)),
        reader(std::move(reader)), thread([this] { listen(); }) {
    limitSends(this->connection, patience);
  }

  ~TcpStore() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isClosing = true;
    }
    changed.notify_all();
    connection.shutDown();
    thread.join();
  }

  void set(const std::string &key, const std::string &value) override {
    ask(StoreFrame::Set, {key, value});
  }
  std::string get(const std::string &key) override {
    return one(ask(StoreFrame::Get, {key}));
  }
  void barrier(const std::string &name) override {
    exchange(name, "", Patience::Usual);
  }
  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience patience) override {
    return ask(StoreFrame::Exchange,
               {name, value, std::to_string(static_cast<int>(patience))});
  }
  void give(const std::string &key, const std::string &value) override {
    ask(StoreFrame::Give, {key, value});
  }
  std::string take(const std::string &key) override {
    return one(ask(StoreFrame::Take, {key}));
  }
  void check() override {
    std::lock_guard<std::mutex> lock(mutex);
    throwFailure();
  }
  bool fail(Exit code, const std::string &why) override {
    try {
      // A process that ends only because another failed leaves the report to
      // the one that knows why.
      if (std::unique_lock<std::mutex> lock(mutex); why.empty())
        changed.wait_for(lock, std::chrono::seconds(2),
                         [&] { return failureCode || isLost; });
      // Without an answer to the last question, none is likely now.
      ask(StoreFrame::Fail, {std::to_string(static_cast<int>(code)), why},
          isSilent ? 0.5 : answerSeconds);
      return true;
    } catch (const Error &) {
      return false;
    } catch (const PeerFailed &) {
      return true;
    }
  }
  void leave() override {
    exchange("the end", "", Patience::Endless);
    send(StoreFrame::Leave, 0, {});
  }
  void report(const std::string &text) override {
    send(StoreFrame::Report, 0, {text});
  }
  std::vector<Report> reports() override {
    std::vector<Report> all(params.processes);
    const std::vector<std::string> fields =
        ask(StoreFrame::Reports, {}, answerSeconds);
    for (size_t p = 0; 2 * p + 1 < fields.size() && p < all.size(); ++p)
      all[p] = {fields[2 * p], 1e-9 * std::atof(fields[2 * p + 1].c_str())};
    return all;
  }
  Addresses addresses() override {
    return {addressOf(connection, false), addressOf(connection, true), atFirst};
  }
  std::string secret() override { return params.secret; }
  int64_t clockOffsetNs() override {
    int64_t offset = 0, shortest = INT64_MAX;
    for (int i = 0; i < 8; ++i) {
      const int64_t sent = nowNs();
      std::vector<std::string> fields = ask(StoreFrame::Clock, {});
      const int64_t received = nowNs();
      if (fields.size() != 2 ||
          (!fields[0].empty() && fields[0] == clockName()))
        return 0;
      if (received - sent >= shortest)
        continue;
      shortest = received - sent;
      offset = std::atoll(fields[1].c_str()) - (sent + received) / 2;
    }
    return offset;
  }

private:
  struct Call {
    bool isAnswered = false;
    std::vector<std::string> fields;
  };

  bool send(StoreFrame kind, uint64_t id, std::vector<std::string> fields) {
    std::string bytes =
        encode({static_cast<uint32_t>(kind), id, std::move(fields)});
    std::lock_guard<std::mutex> lock(sending);
    return sendAll(connection, bytes);
  }

  /// The time within which process 0's thread answers requests that need not
  /// wait.
  static constexpr double answerSeconds = 3;

  /// Waits for the answer, for at most `limitSeconds` unless that is 0.
  std::vector<std::string> ask(StoreFrame kind, std::vector<std::string> fields,
                               double limitSeconds = 0) {
    Call call;
    uint64_t id;
    {
      std::lock_guard<std::mutex> lock(mutex);
      throwFailure();
      id = ++lastId;
      calls[id] = &call;
    }
    // If the connection has ended, the reader fails the call.
    send(kind, id, std::move(fields));
    std::unique_lock<std::mutex> lock(mutex);
    const double silent = awaitEnd(lock, call, limitSeconds);
    calls.erase(id);
    if (call.isAnswered)
      return std::move(call.fields);
    throwFailure();
    isSilent = true;
    char text[32];
    std::snprintf(text, sizeof text, "%g", silent);
    throw Error("rank 0 has not been heard from for " + std::string(text) +
                    " s",
                Exit::RunFailure);
  }

  /// Returns how long nothing has come from process 0. Counts seconds of
  /// waiting instead of reading the clock, so that a job that was suspended as
  /// a whole and resumed has not failed.
  double awaitEnd(std::unique_lock<std::mutex> &lock, const Call &call,
                  double limitSeconds) {
    constexpr std::chrono::milliseconds slice(500);
    double waited = 0, silent = 0;
    uint64_t seen = heard;
    auto hasEnded = [&] { return call.isAnswered || failureCode || isLost; };
    while (!changed.wait_for(lock, slice, hasEnded)) {
      waited += 0.5;
      silent = heard == seen ? silent + 0.5 : 0;
      seen = heard;
      if ((limitSeconds > 0 && waited >= limitSeconds) ||
          (patience > 0 && silent >= patience))
        break;
    }
    return silent;
  }

  static std::string one(std::vector<std::string> fields) {
    return fields.empty() ? std::string() : std::move(fields.front());
  }

  /// Requires `mutex`.
  void throwFailure() const {
    if (failureCode)
      throw PeerFailed{*failureCode};
    if (isLost)
      throw Error("lost rank 0: its process has ended, or its machine does not "
                  "answer",
                  Exit::RunFailure);
  }

  /// Runs in the reading thread.
  void listen() {
    for (;;) {
      try {
        while (std::optional<Frame> frame = reader.next(UINT64_MAX))
          take(std::move(*frame));
        if (receiveSome(connection, reader))
          continue;
      } catch (const Error &) {
        // Bytes that are not our frames: treat as the end of the connection.
      }
      std::unique_lock<std::mutex> lock(mutex);
      if (isClosing)
        return;
      isLost = true;
      changed.notify_all();
      return endIfStuck(lock);
    }
  }

  void take(Frame frame) {
    std::unique_lock<std::mutex> lock(mutex);
    ++heard;
    if (static_cast<StoreFrame>(frame.kind) == StoreFrame::Failed) {
      failureCode = codeOfFailure(frame);
      changed.notify_all();
      endIfStuck(lock);
      return;
    }
    auto call = calls.find(frame.id);
    if (call == calls.end())
      return;
    call->second->isAnswered = true;
    call->second->fields = std::move(frame.fields);
    changed.notify_all();
  }

  /// The run has failed, and this process must end whatever it is doing.
  void endIfStuck(std::unique_lock<std::mutex> &lock) {
    if (!params.endsStuckProcess)
      return;
    if (changed.wait_for(lock, std::chrono::seconds(5),
                         [&] { return isClosing; }))
      return;
    if (isLost && !failureCode)
      sayError("lost rank 0");
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(failureCode.value_or(Exit::RunFailure)));
  }

  const StoreParams params;
  const std::string atFirst;
  /// How many seconds process 0 may be silent: longer than it needs to find out
  /// which process keeps it waiting. 0: forever.
  const double patience;
  /// Outlives the connection.
  std::unique_ptr<ServerThread> server;
  Socket connection;
  FrameReader reader;
  std::mutex mutex, sending;
  std::condition_variable changed;
  std::map<uint64_t, Call *> calls;
  /// Number of frames received.
  uint64_t heard = 0;
  uint64_t lastId = 1;
  std::optional<Exit> failureCode;
  bool isLost = false, isClosing = false;
  /// Process 0 has left a question without an answer.
  std::atomic<bool> isSilent{false};
  std::thread thread;
};

} // namespace

std::unique_ptr<Store> rondo::runtime::makeTcpStore(
    const StoreParams &params, std::unique_ptr<ServerThread> server,
    Socket connection, FrameReader reader, const std::string &atFirst) {
  return std::make_unique<TcpStore>(params, std::move(server),
                                    std::move(connection), std::move(reader),
                                    atFirst);
}
