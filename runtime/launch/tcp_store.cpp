//===- tcp_store.cpp - A store on connections to process 0 ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/store_server.h"

#include "runtime/base/clock.h"
#include "runtime/launch/world.h"

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
        silence(params.timeoutSeconds > 0
                    ? params.timeoutSeconds + silenceSeconds
                    : 0,
                // Process 0's clock belongs to its server.
                server ? nullptr : params.clock),
        server(std::move(server)), connection(std::move(connection)),
        reader(std::move(reader)), thread([this] { listen(); }) {
    limitSends(this->connection, silence.limitSeconds());
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
                         [&] { return failureCode || !loss.empty(); });
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
    exchange("the end", "", Patience::WhileAlive);
    send(StoreFrame::Leave, 0, {});
  }
  void report(const std::string &text) override {
    send(StoreFrame::Report, 0, {text});
  }
  void enter(Phase entered) override {
    bool isNew = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      isNew = entered != phase;
      phase = entered;
    }
    // An iteration costs no frame.
    if (!isNew)
      return;
    send(StoreFrame::Enter, 0, {nameOf(entered)});
    if (params.entered)
      params.entered(entered);
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

  /// A request that the reading thread may answer; until the end of the scope.
  class Asked {
  public:
    Asked(TcpStore &store, Call &call) : store(store) {
      std::lock_guard<std::mutex> lock(store.mutex);
      store.throwFailure();
      id = ++store.lastId;
      store.calls[id] = &call;
    }
    ~Asked() {
      std::lock_guard<std::mutex> lock(store.mutex);
      store.calls.erase(id);
    }
    TcpStore &store;
    uint64_t id = 0;
  };

  /// After a send that failed part of a frame may have gone, so the connection
  /// has ended.
  void send(StoreFrame kind, uint64_t id, std::vector<std::string> fields) {
    const std::string bytes =
        encode({static_cast<uint32_t>(kind), id, std::move(fields)});
    std::unique_lock<std::mutex> sends(sending);
    if (sendAll(connection, bytes))
      return;
    sends.unlock();
    // The reading thread notices the end, and reads the reason if one was sent.
    connection.shutDown();
  }
  /// Answers an Alive frame of process 0. Bytes of another frame that is being
  /// sent are an answer as well.
  void answerAlive() {
    const std::string bytes =
        encode({static_cast<uint32_t>(StoreFrame::Alive), 0, {}});
    std::unique_lock<std::mutex> lock(sending, std::try_to_lock);
    if (lock && hasRoom(connection))
      (void)sendAll(connection, bytes);
  }

  /// The time within which process 0's thread answers requests that need not
  /// wait.
  static constexpr double answerSeconds = 3;

  /// Waits for the answer, for at most `limitSeconds` unless that is 0.
  std::vector<std::string> ask(StoreFrame kind, std::vector<std::string> fields,
                               double limitSeconds = 0) {
    Call call;
    const Asked asked(*this, call);
    send(kind, asked.id, std::move(fields));
    std::unique_lock<std::mutex> lock(mutex);
    awaitEnd(lock, call, limitSeconds);
    if (call.isAnswered)
      return std::move(call.fields);
    throwFailure();
    isSilent = true;
    throw Error("rank 0 has not answered within " + secondsText(limitSeconds),
                Exit::RunFailure);
  }

  /// Returns at the answer, at the end of the connection, which the reading
  /// thread notices, or at the limit.
  void awaitEnd(std::unique_lock<std::mutex> &lock, const Call &call,
                double limitSeconds) {
    constexpr std::chrono::milliseconds slice(500);
    const Deadline deadline(limitSeconds);
    auto hasEnded = [&] {
      return call.isAnswered || failureCode || !loss.empty();
    };
    while (!changed.wait_for(lock, slice, hasEnded) && !deadline.hasExpired())
      continue;
  }

  static std::string one(std::vector<std::string> fields) {
    return fields.empty() ? std::string() : std::move(fields.front());
  }

  /// Requires `mutex`.
  void throwFailure() const {
    if (failureCode)
      throw PeerFailed{*failureCode};
    if (!loss.empty())
      throw Error(loss, lossCode);
  }

  /// Runs in the reading thread.
  void listen() {
    std::string why = "lost rank 0: its process has ended, or its machine does "
                      "not answer";
    Exit code = Exit::RunFailure;
    try {
      do
        while (std::optional<Frame> frame = reader.next(UINT64_MAX))
          take(std::move(*frame));
      while (receiveInTime());
    } catch (const Error &) {
      // Bytes that are not our frames: treat as the end of the connection.
    } catch (const std::exception &error) {
      why = "rank " + std::to_string(params.process) +
            " cannot read what rank 0 sends: " + reasonOf(error);
      code = Exit::Failure;
    }
    std::unique_lock<std::mutex> lock(mutex);
    if (isClosing)
      return;
    loss = silence.hasExpired()
               ? "rank 0 has not answered for " +
                     secondsText(silence.limitSeconds()) + "; rank " +
                     std::to_string(params.process) + " waits in '" +
                     nameOf(phase) + "'"
               : why;
    lossCode = code;
    changed.notify_all();
    endIfStuck(lock);
  }

  /// False at the end of the connection, or if nothing comes for too long.
  bool receiveInTime() {
    constexpr double sliceSeconds = 0.2;
    while (!hasBytes(connection, sliceSeconds))
      if (silence.hasExpired())
        return false;
    silence.renew();
    return receiveSome(connection, reader);
  }

  void take(Frame frame) {
    if (static_cast<StoreFrame>(frame.kind) == StoreFrame::Alive)
      return answerAlive();
    std::unique_lock<std::mutex> lock(mutex);
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
    if (!failureCode)
      sayError(loss);
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(failureCode.value_or(lossCode)));
  }

  const StoreParams params;
  const std::string atFirst;
  /// Limits the silence of process 0: longer than it needs to find out which
  /// process keeps it waiting. Used by the reading thread.
  Deadline silence;
  /// Outlives the connection.
  std::unique_ptr<ServerThread> server;
  Socket connection;
  FrameReader reader;
  std::mutex mutex, sending;
  std::condition_variable changed;
  std::map<uint64_t, Call *> calls;
  uint64_t lastId = 1;
  std::optional<Exit> failureCode;
  /// Why process 0 is lost, and the exit code for that; empty: it is not.
  std::string loss;
  Exit lossCode = Exit::RunFailure;
  Phase phase = Phase::Join;
  bool isClosing = false;
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
