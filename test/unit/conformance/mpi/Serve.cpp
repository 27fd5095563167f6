//===- Serve.cpp - A rank's process does what the suite asks --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Wire.h"

#include <atomic>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// The actions of an iteration have thrown.
struct Broken {};

class Server {
public:
  Server(const Lines &lines, int32_t process, SharedMemory &memory,
         MakeTransport make)
      : lines(lines), process(process), memory(memory), make(make) {}

  /// Runs until process 0 ends it.
  void doCalls() {
    for (;;) {
      const Frame frame = lines.calls->hear();
      if (whatOf(frame) == What::Iterate)
        iterate(unpack<Call>(frame.fields.at(0)).place != 0);
      else if (whatOf(frame) != What::Leave)
        answer([&] { return doCall(frame); });
      else
        return answer([] { return std::string(); });
    }
  }
  void answerQuestions() {
    for (;;) {
      const Frame frame = lines.questions->hear();
      std::string result;
      if (whatOf(frame) == What::Abort)
        transport.load()->abort();
      if (whatOf(frame) == What::Waiting)
        result = pack(
            transport.load()->waiting(unpack<Call>(frame.fields.at(0)).place));
      lines.questions->say({static_cast<uint32_t>(How::Fine), 0, {result}});
      if (whatOf(frame) == What::Leave)
        return;
    }
  }

private:
  /// Reports how `work` ended.
  void answer(const std::function<std::string()> &work) {
    auto say = [&](How how, std::vector<std::string> fields) {
      lines.calls->say({static_cast<uint32_t>(how), 0, std::move(fields)});
    };
    try {
      say(How::Fine, {work()});
    } catch (const Error &error) {
      say(How::Error, {pack(error.code), error.what()});
    } catch (const Aborted &) {
      say(How::Aborted, {});
    } catch (const PeerFailed &failure) {
      say(How::PeerFailed, {pack(failure.code)});
    }
  }

  void iterate(bool mayReplay) {
    answer([] { return std::string(); });
    auto actions = [&] {
      for (;;) {
        const Frame frame = lines.calls->hear();
        if (whatOf(frame) == What::ActionsEnd)
          return;
        if (whatOf(frame) == What::ActionsBreak)
          throw Broken();
        answer([&] { return doCall(frame); });
      }
    };
    answer([&] {
      try {
        transport.load()->iterate(process, mayReplay, actions);
      } catch (const Broken &) {
      }
      return std::string();
    });
  }

  std::string doCall(const Frame &frame) {
    if (whatOf(frame) == What::Make) {
      makeTransport(frame.fields);
      return {};
    }
    const Call call = unpack<Call>(frame.fields.at(0));
    Transport &t = *transport;
    switch (whatOf(frame)) {
    case What::Destroy:
      transport = nullptr;
      owner.reset();
      break;
    case What::Send:
      return pack(
          t.send(call.place, call.name, memory.at(call.data), call.bytes));
    case What::Receive:
      return pack(
          t.receive(call.place, call.name, memory.at(call.data), call.bytes));
    case What::WaitSent:
      t.waitSent(call.place, call.ticket);
      break;
    case What::WaitReceived:
      t.waitReceived(call.place, call.ticket);
      break;
    case What::StartSumParts:
      t.startSumParts(call.place, process);
      break;
    case What::StartAddAll:
      t.startAddAll(call.place, process,
                    reinterpret_cast<double *>(memory.at(call.data)));
      break;
    case What::StartGather:
      t.startGather(call.place, process,
                    reinterpret_cast<float *>(memory.at(call.data)));
      break;
    case What::StartScatter:
      t.startScatter(call.place, process,
                     reinterpret_cast<float *>(memory.at(call.data)));
      break;
    case What::WaitCollective:
      t.waitCollective(call.place, process);
      break;
    case What::Links: {
      const std::vector<LinkFigures> links = t.links();
      return pack(links.data(), links.size());
    }
    default:
      break;
    }
    return {};
  }

  void makeTransport(const std::vector<std::string> &fields) {
    TransportParams params;
    params.ranks = unpack<int32_t>(fields.at(0));
    params.imposeLinks = linkImposer(unpack<ImposedLink>(fields.at(1)));
    params.measures = unpack<int32_t>(fields.at(2)) != 0;
    const auto sent = unpack<SentOptions>(fields.at(3));
    TransportOptions options;
    options.cores = sent.cores;
    options.useGraph = sent.useGraph;
    options.timeoutSeconds = sent.timeoutSeconds;
    params.channels = unpackAll<ChannelParams>(fields.at(4));
    params.edges = unpackAll<EdgeName>(fields.at(5));
    for (const Staging &rank : unpackAll<Staging>(fields.at(6)))
      params.staging.push_back({memory.at(rank.data), rank.bytes});
    for (size_t c = 7; c < fields.size(); ++c) {
      CollectiveParams collective;
      for (const WirePart &part : unpackAll<WirePart>(fields[c]))
        collective.push_back(
            {part.rank, memory.at(part.data), part.count, part.contributes});
      params.collectives.push_back(std::move(collective));
    }
    owner = make(params, options, process);
    transport = owner.get();
  }

  const Lines &lines;
  const int32_t process;
  SharedMemory &memory;
  const MakeTransport make;
  std::unique_ptr<Transport> owner;
  /// Process 0 asks questions only while there is a transport.
  std::atomic<Transport *> transport{nullptr};
};

} // namespace

void rondo::runtime::test::serve(const Lines &lines, int32_t process,
                                 SharedMemory &memory, MakeTransport make) {
  Server server(lines, process, memory, make);
  std::thread questions([&] { server.answerQuestions(); });
  server.doCalls();
  questions.join();
}
