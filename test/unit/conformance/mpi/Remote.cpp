//===- Remote.cpp - Process 0's side of a remote transport ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Wire.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// The one imposed link of all channels, as LinkImposer makes it.
ImposedLink linkOf(const TransportParams &params) {
  return params.imposeLinks ? params.imposeLinks()->link(0, 1).at(0)
                            : ImposedLink();
}

class Remote : public Transport {
public:
  Remote(const Lines &lines, SharedMemory &memory,
         const TransportParams &params, const TransportOptions &options)
      : lines(lines), memory(memory) {
    Frame frame = {static_cast<uint32_t>(What::Make),
                   0,
                   {pack(params.ranks), pack(linkOf(params)),
                    pack(int32_t(params.measures)),
                    pack(SentOptions{options.cores, options.useGraph,
                                     options.timeoutSeconds}),
                    pack(params.channels.data(), params.channels.size()),
                    pack(params.edges.data(), params.edges.size())}};
    std::vector<Staging> staging;
    for (const StagingParams &rank : params.staging)
      staging.push_back({memory.offsetOf(rank.data), rank.bytes});
    frame.fields.push_back(pack(staging.data(), staging.size()));
    for (const CollectiveParams &collective : params.collectives) {
      std::vector<WirePart> parts;
      for (const PartParams &part : collective)
        parts.push_back({part.rank, memory.offsetOf(part.data), part.count,
                         part.contributes});
      frame.fields.push_back(pack(parts.data(), parts.size()));
    }
    ask(frame);
  }
  ~Remote() override { ask(frameOf(What::Destroy)); }

  bool begin(int32_t, int32_t, const Replay &replay) override {
    Call call;
    call.place = replay.isAllowed;
    ask(frameOf(What::Iterate, call));
    isActing = true;
    return true;
  }
  void end(int32_t) override {
    isActing = false;
    ask(frameOf(What::ActionsEnd));
  }
  void abandon(int32_t) override {
    if (isActing)
      ask(frameOf(What::ActionsBreak));
    isActing = false;
  }
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    return unpack<Ticket>(
        ask(What::Send, {channel, 0, name, memory.offsetOf(data), bytes}));
  }
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    return unpack<Ticket>(
        ask(What::Receive, {channel, 0, name, memory.offsetOf(data), bytes}));
  }
  void waitSent(int32_t channel, Ticket ticket) override {
    ask(What::WaitSent, {channel, ticket, {}, 0, 0});
  }
  void waitReceived(int32_t channel, Ticket ticket) override {
    ask(What::WaitReceived, {channel, ticket, {}, 0, 0});
  }
  void startSumParts(int32_t collective, int32_t) override {
    ask(What::StartSumParts, {collective, 0, {}, 0, 0});
  }
  void startAddAll(int32_t collective, int32_t, double *sum) override {
    ask(What::StartAddAll, {collective, 0, {}, memory.offsetOf(sum), 0});
  }
  void startGather(int32_t collective, int32_t, float *whole) override {
    ask(What::StartGather, {collective, 0, {}, memory.offsetOf(whole), 0});
  }
  void startScatter(int32_t collective, int32_t, float *whole) override {
    ask(What::StartScatter, {collective, 0, {}, memory.offsetOf(whole), 0});
  }
  void waitCollective(int32_t collective, int32_t) override {
    ask(What::WaitCollective, {collective, 0, {}, 0, 0});
  }
  std::vector<LinkFigures> links() override {
    return unpackAll<LinkFigures>(ask(What::Links, {}));
  }
  void abort() override { lines.questions->ask(frameOf(What::Abort)); }
  Waiting waiting(int32_t rank) const override {
    Call call;
    call.place = rank;
    return unpack<Waiting>(
        lines.questions->ask(frameOf(What::Waiting, call)).fields.at(0));
  }

private:
  std::string ask(What what, const Call &call) {
    return ask(frameOf(what, call));
  }
  /// Rethrows what the call threw there.
  std::string ask(const Frame &frame) {
    Frame answer = lines.calls->ask(frame);
    switch (static_cast<How>(answer.kind)) {
    case How::Fine:
      break;
    case How::Error:
      throw Error(answer.fields.at(1), unpack<Exit>(answer.fields.at(0)));
    case How::Aborted:
      throw Aborted();
    case How::PeerFailed:
      throw PeerFailed{unpack<Exit>(answer.fields.at(0))};
    }
    return answer.fields.at(0);
  }

  const Lines &lines;
  SharedMemory &memory;
  /// Between begin() and the end of the actions.
  bool isActing = false;
};

} // namespace

std::unique_ptr<Transport>
rondo::runtime::test::makeRemote(const Lines &lines, SharedMemory &memory,
                                 const TransportParams &params,
                                 const TransportOptions &options) {
  return std::make_unique<Remote>(lines, memory, params, options);
}

void rondo::runtime::test::stopServing(const Lines &lines) {
  lines.questions->ask(frameOf(What::Leave));
  lines.calls->ask(frameOf(What::Leave));
}
