//===- rank.cpp - Runs the actions of one rank of a program ---------------===//

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

#include "runtime/execution/actions.h"
#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

std::string rondo::runtime::actionName(ActionKind kind, Message message,
                                       int64_t stage, int64_t microbatch) {
  const ActionTraits &traits = traitsOf(kind);
  const std::string number = std::to_string(stage);
  if (traits.isTask())
    return number + traits.letter + std::to_string(microbatch);
  std::string text = std::string(traits.keyword) + " " + number;
  if (traits.subject == Subject::Edge)
    text += traitsOf(traitsOf(message).producer).letter +
            std::to_string(microbatch);
  return text;
}

/// Notes an action for the watchdog, and for the trace if there is one.
class Rank::Action {
public:
  Action(Rank &rank, ActionKind kind, int64_t stage, int64_t microbatch,
         Message message = Message::Activation)
      : rank(rank), kind(kind), message(message), stage(stage),
        microbatch(microbatch) {
    rank.current.store((static_cast<uint64_t>(kind) << 58) |
                           (static_cast<uint64_t>(message) << 56) |
                           (static_cast<uint64_t>(stage) << 32) |
                           static_cast<uint64_t>(microbatch),
                       std::memory_order_relaxed);
    rank.begun.store(rank.begun.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    restart();
  }
  /// The waits are over.
  void restart() {
    if (rank.keepTrace)
      startNs = rank.device.stamp();
  }
  ~Action() {
    if (rank.keepTrace)
      rank.trace.push_back({kind, message, static_cast<int32_t>(stage),
                            static_cast<int32_t>(microbatch), startNs,
                            rank.device.stamp()});
  }

private:
  Rank &rank;
  const ActionKind kind;
  const Message message;
  const int64_t stage, microbatch;
  int64_t startNs = 0;
};

std::string Rank::currentAction() const {
  uint64_t packed = current.load(std::memory_order_relaxed);
  return actionName(static_cast<ActionKind>(packed >> 58),
                    static_cast<Message>((packed >> 56) & 0x3),
                    static_cast<int64_t>((packed >> 32) & 0xffffff),
                    static_cast<int64_t>(packed & 0xffffffff));
}

Rank::Rank(State &state, const ProgramDesc &program, const Wiring &wiring,
           Transport &transport, int32_t rank, const OptimizerConfig &optimizer)
    : program(program), device(state.device(rank)), transport(transport),
      me(rank), optimizer(optimizer), lossScale(1.0 / program.microbatches),
      stream(device.stream()), stages(state.homes().size()) {
  // Of the pools that this rank's stages use; -1: not yet counted.
  std::vector<int32_t> firstFence(program.numPools, -1);
  int32_t numFences = 0;
  const int32_t last = static_cast<int32_t>(stages.size()) - 1;
  auto channel = [&](int32_t fromStage, int32_t toStage) {
    return wiring.channelOf[program.rankOfHome[fromStage] * program.numRanks +
                            program.rankOfHome[toStage]];
  };
  for (int32_t s = 0; s <= last; ++s) {
    if (program.rankOfHome[s] != me)
      continue;
    LocalStage &stage = stages[s];
    stage.binding = &state.homes()[s];
    for (int b = 0; b < numBuffers; ++b) {
      const PlacementDesc &placement = program.placements[s * numBuffers + b];
      if (placement.pool < 0)
        continue;
      const PoolDesc &pool = program.pools[placement.pool];
      if (firstFence[placement.pool] < 0) {
        firstFence[placement.pool] = numFences;
        numFences += pool.slots;
      }
      stage.places[b] = {
          state.address(pool, 0), pool.slotBytes, placement.slotOf,
          static_cast<uint32_t>(placement.period), firstFence[placement.pool]};
    }
    if (s > 0 && program.rankOfHome[s - 1] != me) {
      stage.inputFrom = channel(s - 1, s);
      stage.inputGradTo = channel(s, s - 1);
      stage.inputTickets.assign(program.microbatches, -1);
    }
    if (s < last && program.rankOfHome[s + 1] != me) {
      stage.outputTo = channel(s, s + 1);
      stage.outputGradFrom = channel(s + 1, s);
      stage.outputGradTickets.assign(program.microbatches, -1);
    }
  }
  fences.resize(numFences);
}

void Rank::runIteration() {
  const size_t firstEvent = trace.size();
  transport.iterate(me, !keepTrace, [this] {
    const RankDesc &desc = program.ranks[me];
    issued.clear();
    hasRun.assign(program.numCollectives, false);
    desc.run(*this, desc.row);
    if (!issued.empty())
      throw Error("the program of rank " + std::to_string(me) +
                  " does not await collective " +
                  std::to_string(issued.front()));
    for (Fence &fence : fences) {
      if (fence.channel >= 0)
        transport.waitSent(fence.channel, fence.ticket);
      fence.channel = -1;
    }
  });
  for (size_t i = firstEvent; i < trace.size(); ++i) {
    trace[i].startNs = device.timeOf(trace[i].startNs);
    trace[i].endNs = device.timeOf(trace[i].endNs);
  }
}

Rank::LocalStage &Rank::local(int64_t stage, int64_t microbatch) {
  if (stage < 0 || stage >= static_cast<int64_t>(stages.size()) ||
      !stages[stage].binding || microbatch < 0 ||
      microbatch >= program.microbatches)
    throw Error("the program of rank " + std::to_string(me) + " runs stage " +
                std::to_string(stage) + ", micro-batch " +
                std::to_string(microbatch) + ", which it does not hold");
  return stages[stage];
}

/// Waits for the send that still reads the slot.
void Rank::acquire(const Place &place, int64_t microbatch) {
  if (!place.base)
    return;
  Fence &fence = fences[place.firstFence + place.slot(microbatch)];
  if (fence.channel < 0)
    return;
  transport.waitSent(fence.channel, fence.ticket);
  fence.channel = -1;
}

void Rank::awaitMessage(int32_t channel, std::vector<int64_t> &tickets,
                        int64_t stage, int64_t microbatch, Message message) {
  if (channel < 0)
    return;
  int64_t ticket = tickets[microbatch];
  if (ticket < 0)
    throw Error("rank " + std::to_string(me) + " needs " +
                nameOf({message, static_cast<int32_t>(stage),
                        static_cast<int32_t>(microbatch)}) +
                ", which it has not posted a receive for");
  tickets[microbatch] = -1;
  transport.waitReceived(channel, static_cast<Transport::Ticket>(ticket));
}

LayerArgs Rank::argsOf(const LocalStage &stage, size_t l,
                       int64_t microbatch) const {
  const HomeBinding &binding = *stage.binding;
  const LayerBinding &layer = binding.layers[l];
  auto at = [&](Buffer buffer, int64_t offset) -> char * {
    char *base = stage.place(buffer).at(microbatch);
    return base ? base + offset : nullptr;
  };
  LayerArgs args{};
  args.weights = binding.weights + layer.weightsOffset;
  args.gradients = binding.gradients + layer.gradientsOffset;
  args.savedForInputGrad =
      at(Buffer::SavedForInputGrad, layer.savedForInputGradOffset);
  args.savedForWeightGrad =
      at(Buffer::SavedForWeightGrad, layer.savedForWeightGradOffset);
  // Activations between layers of the stage lie in front of the scratch and
  // are used in turn.
  char *workspace = stage.place(Buffer::Workspace).at(microbatch);
  auto inner = [&](size_t border) {
    return workspace + (border % 2) * binding.innerBytes;
  };
  if (workspace)
    args.workspace = workspace + binding.numInner * binding.innerBytes;
  bool isFirst = l == 0, isLast = l + 1 == binding.layers.size();
  args.inputs[0] = isFirst ? at(Buffer::Input, 0) : inner(l - 1);
  args.output = isLast ? at(Buffer::Output, 0) : inner(l);
  args.outputGrad = isLast ? at(Buffer::OutputGrad, 0) : inner(l);
  args.inputGrads[0] = isFirst ? at(Buffer::InputGrad, 0) : inner(l - 1);
  args.data =
      reinterpret_cast<const int32_t *>(at(Buffer::Data, layer.dataOffset));
  if (hasLoss(*layer.desc))
    args.loss = binding.control.losses + microbatch;
  args.lossScale = lossScale;
  args.microbatch = microbatch;
  args.stream = stream;
  return args;
}

void Rank::forward(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::Forward, s, microbatch);
  acquire(stage.place(Buffer::Output), microbatch);
  acquire(stage.place(Buffer::SavedForInputGrad), microbatch);
  acquire(stage.place(Buffer::SavedForWeightGrad), microbatch);
  awaitMessage(stage.inputFrom, stage.inputTickets, s - 1, microbatch,
               Message::Activation);
  action.restart();
  const std::vector<LayerBinding> &layers = stage.binding->layers;
  for (size_t l = 0; l < layers.size(); ++l) {
    LayerArgs args = argsOf(stage, l, microbatch);
    layers[l].body.forward(layers[l].desc, &args);
  }
}

void Rank::inputGrad(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::InputGrad, s, microbatch);
  acquire(stage.place(Buffer::InputGrad), microbatch);
  awaitMessage(stage.outputGradFrom, stage.outputGradTickets, s + 1, microbatch,
               Message::Gradient);
  action.restart();
  const std::vector<LayerBinding> &layers = stage.binding->layers;
  for (size_t l = layers.size(); l-- > 0;) {
    LayerArgs args = argsOf(stage, l, microbatch);
    layers[l].body.inputGrad(layers[l].desc, &args);
  }
}

void Rank::weightGrad(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::WeightGrad, s, microbatch);
  const std::vector<LayerBinding> &layers = stage.binding->layers;
  for (size_t l = layers.size(); l-- > 0;) {
    LayerArgs args = argsOf(stage, l, microbatch);
    layers[l].body.weightGrad(layers[l].desc, &args);
  }
}

void Rank::send(Message message, int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::Send, s, microbatch, message);
  bool isActivation = message == Message::Activation;
  Buffer buffer = isActivation ? Buffer::Output : Buffer::InputGrad;
  const Place &place = stage.place(buffer);
  int32_t channel = isActivation ? stage.outputTo : stage.inputGradTo;
  MessageName name{message, static_cast<int32_t>(s),
                   static_cast<int32_t>(microbatch)};
  if (channel < 0)
    throw Error("the program of rank " + std::to_string(me) + " sends " +
                nameOf(name) + ", which no other rank needs");
  Transport::Ticket ticket =
      transport.send(channel, name, place.at(microbatch),
                     stage.binding->desc->bytes[static_cast<int>(buffer)]);
  if (place.base)
    fences[place.firstFence + place.slot(microbatch)] = {channel, ticket};
}

void Rank::receive(Message message, int64_t s, int64_t microbatch) {
  bool isActivation = message == Message::Activation;
  LocalStage &stage = local(isActivation ? s + 1 : s - 1, microbatch);
  Action action(*this, ActionKind::Recv, s, microbatch, message);
  Buffer buffer = isActivation ? Buffer::Input : Buffer::OutputGrad;
  const Place &place = stage.place(buffer);
  int32_t channel = isActivation ? stage.inputFrom : stage.outputGradFrom;
  MessageName name{message, static_cast<int32_t>(s),
                   static_cast<int32_t>(microbatch)};
  if (channel < 0)
    throw Error("the program of rank " + std::to_string(me) + " receives " +
                nameOf(name) + ", which it makes itself");
  acquire(place, microbatch);
  Transport::Ticket ticket =
      transport.receive(channel, name, place.at(microbatch),
                        stage.binding->desc->bytes[static_cast<int>(buffer)]);
  (isActivation ? stage.inputTickets : stage.outputGradTickets)[microbatch] =
      ticket;
}

void Rank::checkCollective(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(me) + " runs " +
                actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

void Rank::allReduce(int64_t collective) {
  checkCollective(ActionKind::AllReduce, collective);
  Action action(*this, ActionKind::AllReduce, collective, 0);
  issued.push_back(static_cast<int32_t>(collective));
}

/// Transports do a collective in one go, which waits for all its ranks. So it
/// runs here, behind those that the rank has issued before it: every rank has
/// the same order, and the compiler's proof asks for no more than that ranks
/// come to their awaits.
void Rank::await(int64_t collective) {
  checkCollective(ActionKind::Await, collective);
  Action action(*this, ActionKind::Await, collective, 0);
  if (std::find(issued.begin(), issued.end(), collective) == issued.end()) {
    if (hasRun[collective])
      return;
    throw Error("the program of rank " + std::to_string(me) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  }
  for (int32_t next = -1; next != collective;) {
    next = issued.front();
    issued.pop_front();
    runCollective(next);
    hasRun[next] = true;
  }
}

void Rank::step(int64_t s) {
  LocalStage &stage = local(s, 0);
  Action action(*this, ActionKind::Step, s, 0);
  device.step(stage.binding->optimized, optimizer.adamw);
}

//===----------------------------------------------------------------------===//
// What emitted code calls.
//===----------------------------------------------------------------------===//

void rondo::runtime::forward(Rank &rank, int64_t stage, int64_t microbatch) {
  rank.forward(stage, microbatch);
}
void rondo::runtime::input_grad(Rank &rank, int64_t stage, int64_t microbatch) {
  rank.inputGrad(stage, microbatch);
}
void rondo::runtime::weight_grad(Rank &rank, int64_t stage,
                                 int64_t microbatch) {
  rank.weightGrad(stage, microbatch);
}
void rondo::runtime::backward(Rank &rank, int64_t stage, int64_t microbatch) {
  rank.inputGrad(stage, microbatch);
  rank.weightGrad(stage, microbatch);
}
void rondo::runtime::send(Rank &rank, Message message, int64_t stage,
                          int64_t microbatch) {
  rank.send(message, stage, microbatch);
}
void rondo::runtime::recv(Rank &rank, Message message, int64_t stage,
                          int64_t microbatch) {
  rank.receive(message, stage, microbatch);
}
void rondo::runtime::all_reduce(Rank &rank, int64_t collective) {
  rank.allReduce(collective);
}
void rondo::runtime::await(Rank &rank, int64_t collective) {
  rank.await(collective);
}
void rondo::runtime::step(Rank &rank, int64_t stage) { rank.step(stage); }
