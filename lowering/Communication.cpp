//===- Communication.cpp - Places sends and receives ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Communication.h"

#include "lowering/RankCollectives.h"
#include "lowering/RankMoves.h"
#include "schedule/model/EdgeTable.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/simulate/Network.h"
#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

namespace {

/// A message between two ranks, with the positions of its two ends.
struct Message {
  int32_t edge = 0, index = 0;
  /// Positions of producer and consumer within their ranks' orders.
  int32_t producer = -1, consumer = -1;
  /// Position in the receiver's order before which the receive is to be posted.
  int32_t wanted = 0;
};

/// All messages of one directed rank pair in channel order.
struct Channel {
  int32_t from = 0, to = 0;
  std::vector<Message> messages;
  /// Next message to post, and receives that are posted and not yet consumed.
  size_t posted = 0;
  int32_t outstanding = 0;
};

class Inserter {
public:
  Inserter(const Problem &problem, const Schedule &schedule,
           const Simulation &simulation)
      : problem(problem), schedule(schedule), simulation(simulation),
        hasOwnSteps(schedule.hasSteps()), links(problem) {}

  Program run(TrainingNeeds needs);

private:
  void findMessages();
  void orderChannels();
  void wantReceives(Channel &channel);
  void wantAlike(Channel &channel) const;
  void writeRank(int32_t rank, const TrainingNeeds &needs, Program &program);
  void post(Channel &channel, Schedule &order);
  /// A send to issue after the task at a position.
  struct PendingSend {
    int32_t position, edge, index;
  };
  std::vector<PendingSend> sendsOf(int32_t rank) const;

  const Problem &problem;
  const Schedule &schedule;
  const Simulation &simulation;
  const bool hasOwnSteps;
  const LinkTable links;
  /// Indexed by link.
  std::vector<Channel> channels;
  /// [rank]: its channels.
  std::vector<std::vector<int32_t>> incoming, outgoing;
};

/// Collects the messages of each channel in the order of their producers.
void Inserter::findMessages() {
  channels.resize(links.count());
  incoming.resize(problem.numRanks());
  outgoing.resize(problem.numRanks());
  for (int32_t link = 0; link < links.count(); ++link) {
    Channel &channel = channels[link];
    channel.from = links[link].from;
    channel.to = links[link].to;
    outgoing[channel.from].push_back(link);
    incoming[channel.to].push_back(link);
  }
  for (size_t e = 0; e < problem.edges.size(); ++e)
    if (const int32_t link = links.ofEdge(e); link >= 0) {
      std::vector<Message> &messages = channels[link].messages;
      messages.reserve(messages.capacity() + problem.microbatches);
    }

  // Consumers first: [edge][micro-batch] is the position of the consumer.
  std::vector<std::vector<int32_t>> consumers(problem.edges.size());
  const EdgeTable edges(problem);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange actions = schedule.rank(r);
    for (int32_t i = 0; i < actions.size(); ++i) {
      Action a = actions[i];
      for (int32_t e : edges.inputs(a.subject, a.kind())) {
        consumers[e].resize(problem.microbatches, -1);
        consumers[e][a.index] = i;
      }
    }
  }
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange actions = schedule.rank(r);
    for (int32_t i = 0; i < actions.size(); ++i) {
      Action a = actions[i];
      for (int32_t e : edges.outputs(a.subject, a.kind())) {
        const int32_t link = links.ofEdge(e);
        if (link < 0 || consumers[e].empty() || consumers[e][a.index] < 0)
          continue;
        Message m;
        m.edge = e;
        m.index = static_cast<int32_t>(a.index);
        m.producer = i;
        m.consumer = consumers[e][a.index];
        channels[link].messages.push_back(m);
      }
    }
  }
}

/// Applies the schedule's link orders.
void Inserter::orderChannels() {
  for (Channel &channel : channels) {
    auto it = schedule.linkOrders.find({channel.from, channel.to});
    if (it == schedule.linkOrders.end())
      continue;
    // (replica, what it sends, micro-batch) -> place in the order.
    std::map<std::tuple<int32_t, MessageKind, int64_t>, int64_t> places;
    for (Action a : it->second)
      places.emplace(std::make_tuple(int32_t(a.subject), a.traits().produces,
                                     int64_t(a.index)),
                     places.size());
    auto placeOf = [&](const Message &m) {
      const Edge &edge = problem.edges[m.edge];
      return places[{edge.from, edge.message(), m.index}];
    };
    std::stable_sort(channel.messages.begin(), channel.messages.end(),
                     [&](const Message &a, const Message &b) {
                       return placeOf(a) < placeOf(b);
                     });
  }
}

/// Sets `wanted` of each message: the position of the task that the receiver
/// runs when the link begins to carry the message. A queue keeps its order, so
/// `wanted` never decreases along a channel.
void Inserter::wantReceives(Channel &channel) {
  const Link link = problem.linkBetween(channel.from, channel.to);
  const int64_t begin = schedule.rankBegin(channel.to),
                beginOfSender = schedule.rankBegin(channel.from);
  const auto numTasks = static_cast<int32_t>(schedule.rank(channel.to).size());
  int64_t linkFreeNs = 0;
  int32_t position = 0;
  for (Message &m : channel.messages) {
    const int64_t startNs =
        std::max(simulation.endNs[beginOfSender + m.producer], linkFreeNs);
    linkFreeNs = startNs + link.occupancyNs(problem.bytesOf(m.edge, m.index));
    // Gathers and reductions are only issued here and copies run on lanes of
    // their own, so they do not delay a receive.
    auto isOnOtherLane = [&](Action action) {
      return action.traits().movesState() || action.traits().isCopy();
    };
    while (position < numTasks &&
           (isOnOtherLane(schedule.rank(channel.to)[position]) ||
            simulation.endNs[begin + position] <= startNs))
      ++position;
    m.wanted = position;
  }
}

/// If iterations overlap, receives must be posted at the same place in each
/// iteration, so that the order repeats. Each message gets the largest lead (in
/// tasks) of all messages at its place in an iteration. The first and the last
/// quarter of the window, where ranks wait for others, are left out.
void Inserter::wantAlike(Channel &channel) const {
  const int64_t each = problem.microbatchesEach(),
                quarter = problem.iterations / 4;
  std::map<std::pair<int32_t, int64_t>, int32_t> ahead;
  for (const Message &m : channel.messages) {
    const int64_t t = m.index / each;
    if (t < quarter || t >= problem.iterations - quarter)
      continue;
    int32_t &most = ahead[{m.edge, m.index % each}];
    most = std::max(most, m.consumer - m.wanted);
  }
  for (Message &m : channel.messages)
    m.wanted = std::max(0, m.consumer - ahead[{m.edge, m.index % each}]);
}

void Inserter::post(Channel &channel, Schedule &order) {
  const Message &m = channel.messages[channel.posted++];
  order.append(Action(ActionKind::Recv, m.edge, m.index));
  ++channel.outstanding;
}

/// Each send follows its producer and all sends before it in its channel.
std::vector<Inserter::PendingSend> Inserter::sendsOf(int32_t rank) const {
  std::vector<PendingSend> sends;
  for (int32_t c : outgoing[rank]) {
    const auto before = static_cast<ptrdiff_t>(sends.size());
    int32_t position = 0;
    for (const Message &m : channels[c].messages) {
      position = std::max(position, m.producer);
      sends.push_back({position, m.edge, m.index});
    }
    std::inplace_merge(sends.begin(), sends.begin() + before, sends.end(),
                       [](const PendingSend &a, const PendingSend &b) {
                         return a.position < b.position;
                       });
  }
  return sends;
}

void Inserter::writeRank(int32_t rank, const TrainingNeeds &needs,
                         Program &program) {
  Schedule &order = program.order;
  ActionRange tasks = schedule.rank(rank);
  int32_t slots = problem.channels.receiveSlots;
  const std::vector<PendingSend> sends = sendsOf(rank);
  size_t nextSend = 0;
  // The messages that each task consumes, by position of the task.
  struct Arrival {
    int32_t consumer, channel;
    size_t message;
  };
  auto isEarlier = [](const Arrival &a, const Arrival &b) {
    return a.consumer < b.consumer;
  };
  std::vector<Arrival> arrivals;
  for (int32_t c : incoming[rank]) {
    const auto before = static_cast<ptrdiff_t>(arrivals.size());
    for (size_t k = 0; k < channels[c].messages.size(); ++k)
      arrivals.push_back({channels[c].messages[k].consumer, c, k});
    // Arrivals of one channel are mostly in order already.
    auto middle = arrivals.begin() + before;
    if (!std::is_sorted(middle, arrivals.end(), isEarlier))
      std::stable_sort(middle, arrivals.end(), isEarlier);
    std::inplace_merge(arrivals.begin(), middle, arrivals.end(), isEarlier);
  }

  RankCollectives collectives(problem, tasks, rank, needs.collectives);
  RankMoves moves(problem, program, simulation, schedule.rankBegin(rank));
  // If the schedule has no steps, only sums over replicas can overlap tasks.
  const CollectiveKind lastAmongTasks = hasOwnSteps
                                            ? CollectiveKind::GradientNorm
                                            : CollectiveKind::ReplicaGradients;
  size_t nextArrival = 0;
  for (int64_t i = 0; i < tasks.size(); ++i) {
    for (int32_t c : incoming[rank]) {
      Channel &channel = channels[c];
      while (channel.posted < channel.messages.size() &&
             channel.messages[channel.posted].wanted <= i &&
             (slots == 0 || channel.outstanding < slots))
        post(channel, order);
    }
    size_t firstArrival = nextArrival;
    for (; nextArrival < arrivals.size() && arrivals[nextArrival].consumer == i;
         ++nextArrival) {
      Channel &channel = channels[arrivals[nextArrival].channel];
      while (channel.posted <= arrivals[nextArrival].message)
        post(channel, order);
    }
    moves.awaitFor(tasks[i], i, order);
    collectives.awaitFor(tasks[i], order);
    order.append(tasks[i]);
    if (tasks[i].kind() == ActionKind::Step)
      collectives.issueUpdates(tasks[i], order);
    for (size_t k = firstArrival; k < nextArrival; ++k)
      --channels[arrivals[k].channel].outstanding;
    while (nextSend < sends.size() && sends[nextSend].position <= i) {
      const PendingSend &s = sends[nextSend++];
      order.append(Action(ActionKind::Send, s.edge, s.index));
    }
    if (collectives.isDueBehind(i, lastAmongTasks))
      moves.awaitReductions(order);
    collectives.issueBehind(i, lastAmongTasks, order);
  }
  moves.awaitReductions(order);
  // Issues and awaits the remaining collectives. If the schedule has steps,
  // these are the ones that steps after the end of the window await.
  collectives.finish(order);
  if (!hasOwnSteps) {
    for (int32_t replica = 0; needs.hasSteps && replica < problem.numReplicas();
         ++replica)
      if (problem.rankOf(replica) == rank) {
        const Action step(ActionKind::Step, replica, 0);
        order.append(step);
        collectives.issueUpdates(step, order);
      }
  }
  collectives.finishUpdates(order);
  order.endRank();
}

Program Inserter::run(TrainingNeeds needs) {
  findMessages();
  orderChannels();
  for (Channel &channel : channels) {
    wantReceives(channel);
    if (problem.iterations > 1)
      wantAlike(channel);
  }
  Program program;
  program.order.copyOrders = schedule.copyOrders;
  program.collectives = needs.collectives;
  // In addition to tasks and messages, each replica has a step, a collective
  // and its await.
  int64_t numActions = schedule.numActions();
  for (const Channel &channel : channels)
    numActions += 2 * int64_t(channel.messages.size());
  program.order.reserve(numActions + 3 * problem.numReplicas());
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    writeRank(r, needs, program);
  return program;
}

} // namespace

Program rondo::insertCommunication(const Problem &problem,
                                   const Schedule &schedule,
                                   const Simulation &simulation,
                                   TrainingNeeds needs) {
  return Inserter(problem, schedule, simulation).run(std::move(needs));
}
