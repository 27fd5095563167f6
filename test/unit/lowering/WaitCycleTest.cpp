//===- WaitCycleTest.cpp - Whether a program runs to its end --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules are compared with an independent run of the program, also of
// programs that were planned by wrong times.
//
//===----------------------------------------------------------------------===//

#include "test/unit/lowering/SoundPrograms.h"

#include "schedule/model/BufferNumbers.h"
#include "schedule/order/Residency.h"
#include "schedule/program/Slots.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Runs a program without times: whatever may begin or end does, until nothing
/// changes. Eager sends between queues of rank pairs end when they are issued,
/// others when they are received. Receive slots are not limited.
class PlainRun {
public:
  PlainRun(const Problem &problem, const Program &program, int32_t resident)
      : problem(problem), order(program.order), edges(problem),
        buffers(problem), slots(program),
        limits(limitResidency(problem, order, resident)),
        at(order.numRanks(), 0), launched(order.numRanks()),
        hasEnded(order.numActions()), lastSend(slots.count(), -1) {
    for (int32_t rank = 0; rank < order.numRanks(); ++rank)
      at[rank] = order.rankBegin(rank);
  }

  bool isComplete() {
    while (isProgress)
      advance();
    int64_t passed = 0;
    for (int32_t rank = 0; rank < order.numRanks(); ++rank)
      passed += at[rank] - order.rankBegin(rank);
    return passed == order.numActions();
  }

private:
  Action action(int64_t position) const { return order.all()[position]; }

  void advance() {
    isProgress = false;
    for (int32_t rank = 0; rank < order.numRanks(); ++rank)
      while (at[rank] < order.rankBegin(rank) + order.rank(rank).size() &&
             mayPass(rank, action(at[rank]))) {
        pass(rank, action(at[rank]));
        ++at[rank];
        isProgress = true;
      }
    for (auto &[ranks, ends] : channels)
      for (auto &[sends, receives, carried] = ends;
           carried < std::min(sends.size(), receives.size()) &&
           mayBegin(ranks.first, sends[carried]) &&
           mayBegin(ranks.second, receives[carried]) &&
           isNextMessage(ranks.first, sends[carried]) &&
           isNextMessage(ranks.second, receives[carried]);
           ++carried) {
        hasEnded[sends[carried]] = hasEnded[receives[carried]] = true;
        const Action received = action(receives[carried]);
        arrived[{uint64_t(received.subject), uint64_t(received.index)}] = true;
        isProgress = true;
      }
    for (auto &[collective, issued] : issues)
      if (!summed[collective] && issued.size() == partiesOf(collective) &&
          std::all_of(issued.begin(), issued.end(), [&](const auto &one) {
            return mayBegin(one.first, one.second) &&
                   isNextSum(one.first, one.second);
          })) {
        summed[collective] = isProgress = true;
        for (const auto &[rank, position] : issued)
          hasEnded[position] = true;
      }
  }

  /// A launch begins when it is the K-th after one that has ended.
  bool mayBegin(int32_t rank, int64_t position) const {
    if (limits.empty() || limits[rank] == 0)
      return true;
    const std::vector<int64_t> &all = launched[rank];
    const auto place =
        std::find(all.begin(), all.end(), position) - all.begin();
    return place < limits[rank] || hasEnded[all[place - limits[rank]]];
  }
  bool isOneQueue() const { return problem.channels.queues == Queues::PerRank; }
  /// In a queue of its own, a rank's messages follow each other as issued.
  bool isNextMessage(int32_t rank, int64_t position) const {
    return !isOneQueue() ||
           std::all_of(launched[rank].begin(), launched[rank].end(),
                       [&](int64_t other) {
                         return other >= position || hasEnded[other] ||
                                action(other).kind() == ActionKind::AllReduce;
                       });
  }
  /// A rank's collectives run one after another.
  bool isNextSum(int32_t rank, int64_t position) const {
    for (int64_t i = order.rankBegin(rank); i < position; ++i)
      if (action(i).kind() == ActionKind::AllReduce && !hasEnded[i])
        return false;
    return true;
  }
  size_t partiesOf(int64_t collective) const {
    size_t count = 0;
    for (Action each : order.all())
      count += each.kind() == ActionKind::AllReduce &&
               static_cast<int64_t>(each.subject) == collective;
    return count;
  }

  bool isFree(int32_t buffer, int64_t microbatch) const {
    const int64_t slot = slots.of(buffer, microbatch);
    return slot < 0 || lastSend[slot] < 0 || hasEnded[lastSend[slot]];
  }

  bool mayPass(int32_t rank, Action next) const {
    switch (next.kind()) {
    case ActionKind::Send:
      return true;
    case ActionKind::Recv:
      return isFree(buffers.received(next.subject), next.index);
    case ActionKind::AllReduce:
    case ActionKind::Step:
      return true;
    case ActionKind::Await:
      return summed.count(next.subject) && summed.at(next.subject);
    default:
      break;
    }
    for (int32_t e : edges.inputs(next.subject, next.kind()))
      if (problem.rankOf(problem.edges[e].from) != rank &&
          !arrived.count({uint64_t(e), uint64_t(next.index)}))
        return false;
    return buffers.forEachTaken(edges, next.subject, next, [&](int32_t buffer) {
      return isFree(buffer, next.index);
    });
  }

  void pass(int32_t rank, Action next) {
    const int64_t position = at[rank];
    const bool isSend = next.kind() == ActionKind::Send;
    if (isSend || next.kind() == ActionKind::Recv) {
      const Edge &edge = problem.edges[next.subject];
      auto &[sends, receives, carried] =
          channels[{problem.rankOf(edge.from), problem.rankOf(edge.to)}];
      (isSend ? sends : receives).push_back(position);
      launched[rank].push_back(position);
      const int64_t slot = slots.of(buffers.sent(next.subject), next.index);
      if (isSend && slot >= 0)
        lastSend[slot] = position;
      if (isSend && !isOneQueue() &&
          problem.channels.protocol == Protocol::Eager)
        hasEnded[position] = true;
    }
    if (next.kind() == ActionKind::AllReduce) {
      launched[rank].push_back(position);
      issues[next.subject].push_back({rank, position});
    }
  }

  struct Ends {
    std::vector<int64_t> sends, receives;
    size_t carried = 0;
  };

  const Problem &problem;
  const Schedule &order;
  const EdgeTable edges;
  const BufferNumbers buffers;
  const Slots slots;
  const std::vector<int32_t> limits;
  bool isProgress = true;
  std::vector<int64_t> at;
  std::vector<std::vector<int64_t>> launched;
  std::vector<bool> hasEnded;
  std::vector<int64_t> lastSend;
  std::map<std::pair<int32_t, int32_t>, Ends> channels;
  std::map<std::pair<uint64_t, uint64_t>, bool> arrived;
  std::map<int64_t, std::vector<std::pair<int32_t, int64_t>>> issues;
  std::map<int64_t, bool> summed;
};

/// The sums of a rank somewhere among what it does, each awaited at once.
void moveSums(Program &program, Random &random) {
  Orders orders = ordersOf(program);
  for (std::vector<Action> &order : orders) {
    std::vector<uint64_t> sums;
    for (Action action : order)
      if (action.kind() == ActionKind::AllReduce)
        sums.push_back(action.subject);
    order.erase(std::remove_if(order.begin(), order.end(),
                               [](Action action) {
                                 return action.kind() ==
                                            ActionKind::AllReduce ||
                                        action.kind() == ActionKind::Await;
                               }),
                order.end());
    for (uint64_t sum : sums)
      order.insert(order.begin() +
                       static_cast<ptrdiff_t>(random() % order.size()),
                   {Action(ActionKind::AllReduce, sum, 0),
                    Action(ActionKind::Await, sum, 0)});
  }
  program.order = Schedule(orders);
}

// Rule L2 runs the program itself, whatever slots, sums and channels it has.
TEST(Mutations, WaitCyclesAreThoseOfAPlainRun) {
  for (const ChannelModel &channels :
       {ChannelModel{Protocol::Rendezvous, 0, Queues::PerPair},
        ChannelModel{Protocol::Eager, 0, Queues::PerPair},
        ChannelModel{Protocol::Rendezvous, 0, Queues::PerRank},
        ChannelModel{Protocol::Eager, 0, Queues::PerRank}}) {
    Random random(5);
    int running = 0, stuck = 0;
    for (int round = 0; round < 2000; ++round) {
      Sound sound = drawSound(random);
      sound.problem.channels = channels;
      if (round % 2 == 0)
        moveSums(sound.program, random);
      for (int i = 0; i < 2; ++i) {
        const bool runs =
            PlainRun(sound.problem, sound.program, /*resident=*/0).isComplete();
        ASSERT_EQ(!checkWaitCycle(sound.problem, sound.program), runs)
            << round << " " << i << " " << int(channels.protocol) << " "
            << int(channels.queues);
        ++(runs ? running : stuck);
        giveOtherSlots(sound.program, random, sound.problem.microbatches);
      }
    }
    EXPECT_GT(running, 300);
    EXPECT_GT(stuck, 300);
  }
}

// Rule L6 runs it again, with as many launches in flight as the program states.
TEST(Mutations, LaunchesInFlightAreThoseOfAPlainRun) {
  Random random(6);
  int running = 0, stuck = 0;
  for (int round = 0; round < 1500; ++round) {
    Sound sound = drawSound(random);
    // Some receives earlier than they are needed.
    Orders orders = ordersOf(sound.program);
    for (std::vector<Action> &order : orders)
      for (size_t i = 1; i < order.size(); ++i)
        if (order[i].kind() == ActionKind::Recv &&
            order[i - 1].kind() != ActionKind::Recv && random() % 2)
          std::swap(order[i], order[i - 1]);
    sound.program.order = Schedule(orders);
    sound.program.pools.clear();
    sound.program.places.clear();
    sound.program.resident = static_cast<int32_t>(1 + random() % 2);
    if (checkChannels(sound.problem, sound.program) ||
        checkWaitCycle(sound.problem, sound.program))
      continue;
    const bool runs =
        PlainRun(sound.problem, sound.program, sound.program.resident)
            .isComplete();
    EXPECT_EQ(!checkResidency(sound.problem, sound.program), runs);
    ++(runs ? running : stuck);
  }
  EXPECT_GT(running, 100);
  EXPECT_GT(stuck, 100);
}

//===----------------------------------------------------------------------===//
// Times that are handed over
//===----------------------------------------------------------------------===//

// Messages are placed by times. With wrong ones they are placed badly, and the
// rules say of that program what is true of it.
TEST(Mutations, TimesOfAScheduleAreNotBelieved) {
  Random random(8);
  int sound = 0, late = 0;
  for (int round = 0; round < 1000; ++round) {
    Sound one = drawSound(random);
    Simulation times = simulate(one.problem, one.schedule, /*keepTimes=*/true);
    for (std::vector<int64_t> *list :
         {&times.startNs, &times.endNs, &times.arrivalNs})
      for (int64_t &ns : *list)
        if (random() % 4 == 0)
          ns = random() % (2 * times.makespanNs);
    one.program =
        insertCommunication(one.problem, one.schedule, times, one.needs);
    one.program.resident = 0;
    planMemoryOf(one);
    const bool runs =
        PlainRun(one.problem, one.program, /*resident=*/0).isComplete();
    const std::optional<Fault> fault = one.check();
    EXPECT_EQ(!fault, runs);
    if (fault) {
      EXPECT_EQ(fault->rule, Rule::WaitCycle) << describe(*fault, one.problem);
    }
    ++(runs ? sound : late);
  }
  EXPECT_GT(sound, 20);
  EXPECT_GT(sound + late, 900);
}

void expectSameMemory(const Program &a, const Program &b) {
  EXPECT_EQ(a.arenaBytes, b.arenaBytes);
  ASSERT_EQ(a.places.size(), b.places.size());
  for (size_t buffer = 0; buffer < a.places.size(); ++buffer) {
    EXPECT_EQ(a.places[buffer].pool, b.places[buffer].pool);
    EXPECT_EQ(a.places[buffer].slotOf, b.places[buffer].slotOf);
  }
}

// Slots are given by the times of a program without places. With wrong times a
// slot is given away while its send is under way, and its next user waits.
TEST(Mutations, TimesOfAProgramAreNotBelieved) {
  Random random(7);
  int larger = 0, smaller = 0;
  for (int round = 0; round < 600; ++round) {
    Sound one = drawSound(random);
    Sound other = one;
    ProgramSimulation known = simulateWithoutPlaces(one.problem, one.program),
                      simulated;
    planMemoryOf(one, &simulated);
    EXPECT_EQ(simulated.endNs, known.endNs);
    planMemoryOf(other, &known);
    expectSameMemory(other.program, one.program);
    for (int64_t &ns : known.endNs)
      if (random() % 2)
        ns = random() % 2 ? 0 : ns + 100000;
    planMemoryOf(other, &known);
    const int64_t own = *std::max_element(one.program.arenaBytes.begin(),
                                          one.program.arenaBytes.end()),
                  its = *std::max_element(other.program.arenaBytes.begin(),
                                          other.program.arenaBytes.end());
    larger += its > own;
    smaller += its < own;
    const bool runs =
        PlainRun(other.problem, other.program, /*resident=*/0).isComplete();
    const std::optional<Fault> fault = other.check();
    EXPECT_EQ(!fault, runs);
    if (fault) {
      EXPECT_EQ(fault->rule, Rule::WaitCycle)
          << describe(*fault, other.problem);
    }
  }
  EXPECT_GT(larger, 50);
  EXPECT_GT(smaller, 10);
}

} // namespace
