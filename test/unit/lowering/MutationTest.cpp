//===- MutationTest.cpp - Rules believe nothing that they are handed ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering, planning memory and the simulator hand over orders, collectives,
// slots, pools, arenas and times. Each test changes one entry, and the right
// rule finds it, or finds what an independent run of the program finds.
//
//===----------------------------------------------------------------------===//

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "lowering/ReferenceOrders.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/order/EqualMicrobatches.h"
#include "schedule/order/Residency.h"
#include "schedule/program/Slots.h"
#include "schedule/rules/Rules.h"

#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace rondo;
using namespace rondo::test;

namespace {

using Random = std::mt19937;
using Orders = std::vector<std::vector<Action>>;

constexpr int64_t stagedBytes = 128;

/// A program that keeps all rules, and what it is held to.
struct Sound {
  Problem problem;
  Schedule schedule;
  TrainingNeeds needs;
  Program program;
  std::vector<int64_t> devices;

  ProgramDemands demands() const {
    return {&schedule, needs, devices,
            std::vector<int64_t>(problem.numRanks(), stagedBytes), nullptr};
  }
  std::optional<Fault> check() const {
    return checkProgram(problem, program, demands());
  }
};

/// Two sums of weights that the first and the last stage share, and a norm.
TrainingNeeds needsOf(const Problem &problem) {
  TrainingNeeds needs;
  for (const char *tensor : {"a", "b"}) {
    Collective sum;
    sum.kind = CollectiveKind::TiedGradients;
    sum.tensor = tensor;
    sum.replicas = {0, problem.numReplicas() - 1};
    needs.collectives.push_back(sum);
  }
  needs.collectives.push_back(norm(problem));
  needs.hasSteps = true;
  return needs;
}

void planMemoryOf(Sound &sound, ProgramSimulation *withoutPlaces = nullptr) {
  KeptBytes kept;
  kept.staging.assign(sound.problem.numRanks(), stagedBytes);
  EXPECT_EQ(planMemory(sound.problem, sound.problem.replicas,
                       sound.problem.numRanks(), replicaBuffers(sound.problem),
                       sound.program, kept, inTurn, withoutPlaces),
            std::nullopt);
  sound.devices = sound.program.arenaBytes;
}

Problem drawProblem(Random &random) {
  Problem problem = linearProblem(2 + random() % 4, 2 + random() % 6,
                                  random() % 400, 128, random() % 2 * 500);
  return problem;
}

Sound drawSound(Random &random) {
  Sound sound;
  sound.problem = drawProblem(random);
  sound.schedule = randomOrders(sound.problem, random, /*hasSteps=*/false);
  sound.needs = needsOf(sound.problem);
  sound.program = insertCommunication(
      sound.problem, sound.schedule,
      simulate(sound.problem, sound.schedule, /*keepTimes=*/true), sound.needs);
  planMemoryOf(sound);
  return sound;
}

//===----------------------------------------------------------------------===//
// Entries of a program
//===----------------------------------------------------------------------===//

Orders ordersOf(const Program &program) {
  Orders orders;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank)
    orders.emplace_back(program.order.rank(rank).begin(),
                        program.order.rank(rank).end());
  return orders;
}

struct Spot {
  size_t rank = 0, position = 0;
};

/// A random action of some kind.
Spot drawSpot(const Orders &orders, Random &random,
              const std::function<bool(Action)> &isWanted) {
  std::vector<Spot> spots;
  for (size_t rank = 0; rank < orders.size(); ++rank)
    for (size_t i = 0; i < orders[rank].size(); ++i)
      if (isWanted(orders[rank][i]))
        spots.push_back({rank, i});
  return spots[random() % spots.size()];
}

std::function<bool(Action)> ofKind(ActionKind kind) {
  return [kind](Action action) { return action.kind() == kind; };
}
bool isTask(Action action) { return action.isTask(); }

/// Changes the orders at a random action of some kind.
template <typename Change>
bool changeOrder(Sound &sound, Random &random,
                 const std::function<bool(Action)> &isWanted, Change change) {
  Orders orders = ordersOf(sound.program);
  const Spot spot = drawSpot(orders, random, isWanted);
  if (!change(orders[spot.rank], spot.position))
    return false;
  sound.program.order = Schedule(orders);
  return true;
}

bool erase(std::vector<Action> &order, size_t at) {
  order.erase(order.begin() + static_cast<ptrdiff_t>(at));
  return true;
}
bool repeat(std::vector<Action> &order, size_t at) {
  order.insert(order.begin() + static_cast<ptrdiff_t>(at), order[at]);
  return true;
}
/// With the next one of the kind, which is another action.
bool swapWithNext(std::vector<Action> &order, size_t at,
                  const std::function<bool(Action)> &isWanted) {
  for (size_t i = at + 1; i < order.size(); ++i)
    if (isWanted(order[i])) {
      std::swap(order[at], order[i]);
      return true;
    }
  return false;
}
/// In front of everything else.
bool moveToFront(std::vector<Action> &order, size_t at) {
  std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(at),
              order.begin() + static_cast<ptrdiff_t>(at) + 1);
  return true;
}

struct Mutation {
  const char *field;
  Rule rule;
  /// Returns false if the program has nothing to change in this way.
  std::function<bool(Sound &, Random &)> apply;
};

Mutation
ofOrder(const char *field, Rule rule,
        const std::function<bool(Action)> &isWanted,
        const std::function<bool(std::vector<Action> &, size_t)> &how) {
  return {field, rule, [=](Sound &sound, Random &random) {
            return changeOrder(sound, random, isWanted, how);
          }};
}

Pool &drawPool(Sound &sound, Random &random) {
  std::vector<size_t> used;
  for (size_t i = 0; i < sound.program.pools.size(); ++i)
    if (sound.program.pools[i].slots > 0)
      used.push_back(i);
  return sound.program.pools[used[random() % used.size()]];
}

Mutation ofPool(const char *field, Rule rule,
                const std::function<void(Pool &)> &how) {
  return {field, rule, [=](Sound &sound, Random &random) {
            how(drawPool(sound, random));
            return true;
          }};
}

/// Where a rank's order has an action; -1: nowhere.
int64_t positionOf(ActionRange order, Action action) {
  const Action *at = std::find(order.begin(), order.end(), action);
  return at == order.end() ? -1 : at - order.begin();
}

/// Lets two activations that are held at the same time lie in one slot.
bool shareSlot(Sound &sound, Random &random) {
  const Problem &problem = sound.problem;
  const auto replica = static_cast<int32_t>(random() % problem.numReplicas());
  const ActionRange order = sound.program.order.rank(problem.rankOf(replica));
  const int64_t first = random() % problem.microbatches,
                second = random() % problem.microbatches;
  auto at = [&](ActionKind kind, int64_t microbatch) {
    return positionOf(order, Action(kind, replica, microbatch));
  };
  if (first == second ||
      at(ActionKind::Forward, first) > at(ActionKind::Forward, second) ||
      at(ActionKind::WeightGrad, first) < at(ActionKind::Forward, second))
    return false;
  Place &place = sound.program.place(replica, BufferKind::SavedForWeightGrad);
  std::vector<int32_t> slotOf;
  for (int64_t m = 0; m < problem.microbatches; ++m)
    slotOf.push_back(place.slot(m));
  slotOf[second] = slotOf[first];
  place.slotOf = slotOf;
  return true;
}

/// A place that is not empty.
Place &drawPlace(Sound &sound, Random &random) {
  std::vector<size_t> used;
  for (size_t i = 0; i < sound.program.places.size(); ++i)
    if (sound.program.places[i].pool >= 0)
      used.push_back(i);
  return sound.program.places[used[random() % used.size()]];
}

/// Posts a receive right after the task that reads it. False if another receive
/// of the channel would be passed.
bool postLate(const Problem &problem, std::vector<Action> &order, size_t at) {
  const Action receive = order[at];
  const Edge &edge = problem.edges[receive.subject];
  for (size_t i = at + 1; i < order.size(); ++i) {
    if (order[i].kind() == ActionKind::Recv &&
        problem.rankOf(problem.edges[order[i].subject].from) ==
            problem.rankOf(edge.from))
      return false;
    const bool reads = order[i].isTask() &&
                       static_cast<int32_t>(order[i].subject) == edge.to &&
                       order[i].index == receive.index &&
                       (order[i].kind() == ActionKind::Forward) ==
                           (edge.producer == ActionKind::Forward);
    if (!reads)
      continue;
    std::rotate(order.begin() + static_cast<ptrdiff_t>(at),
                order.begin() + static_cast<ptrdiff_t>(at) + 1,
                order.begin() + static_cast<ptrdiff_t>(i) + 1);
    return true;
  }
  return false;
}

std::vector<Mutation> mutations() {
  const auto send = ofKind(ActionKind::Send),
             receive = ofKind(ActionKind::Recv),
             issue = ofKind(ActionKind::AllReduce),
             await = ofKind(ActionKind::Await), step = ofKind(ActionKind::Step);
  return {
      // The order of actions.
      ofOrder("a task is left out", Rule::Tasks, isTask, erase),
      ofOrder("a task is there twice", Rule::Tasks, isTask, repeat),
      ofOrder("two tasks in another order", Rule::Tasks, isTask,
              [](auto &order, size_t at) {
                return swapWithNext(order, at, isTask);
              }),
      ofOrder("a task of another micro-batch", Rule::Tasks, isTask,
              [](auto &order, size_t at) {
                order[at].index = order[at].index == 0 ? 1 : 0;
                return true;
              }),
      ofOrder("a task of another kind", Rule::Tasks, isTask,
              [](auto &order, size_t at) {
                const bool isForward = order[at].kind() == ActionKind::Forward;
                order[at] = Action(isForward ? ActionKind::Backward
                                             : ActionKind::Forward,
                                   order[at].subject, order[at].index);
                return true;
              }),
      ofOrder("a task of another stage", Rule::Tasks, isTask,
              [](auto &order, size_t at) {
                order[at].subject = order[at].subject == 0 ? 1 : 0;
                return true;
              }),
      ofOrder("a step is left out", Rule::Tasks, step, erase),
      ofOrder("a step comes first", Rule::Tasks, step, moveToFront),
      ofOrder("a sum is not issued", Rule::Tasks, issue, erase),
      ofOrder("a sum is issued first", Rule::Tasks, issue, moveToFront),
      ofOrder("a sum is not awaited", Rule::Tasks, await, erase),
      ofOrder("a sum is awaited first", Rule::Tasks, await, moveToFront),
      ofOrder("a send is left out", Rule::Channels, send, erase),
      ofOrder("a send is there twice", Rule::Channels, send, repeat),
      ofOrder("a receive is left out", Rule::Channels, receive, erase),
      ofOrder("a receive is there twice", Rule::Channels, receive, repeat),
      ofOrder("a send of another micro-batch", Rule::Channels, send,
              [](auto &order, size_t at) {
                order[at].index = order[at].index == 0 ? 1 : 0;
                return true;
              }),
      ofOrder("two receives in another order", Rule::Channels, receive,
              [](auto &order, size_t at) {
                const Action first = order[at];
                return swapWithNext(order, at, [first](Action other) {
                  return other.kind() == first.kind() &&
                         other.subject == first.subject;
                });
              }),
      {"a message is left out", Rule::Channels,
       [](Sound &sound, Random &random) {
         Orders orders = ordersOf(sound.program);
         const Spot spot = drawSpot(orders, random, ofKind(ActionKind::Send));
         const Action sent = orders[spot.rank][spot.position];
         for (std::vector<Action> &order : orders)
           order.erase(
               std::remove_if(order.begin(), order.end(),
                              [&](Action action) {
                                return (action.kind() == ActionKind::Send ||
                                        action.kind() == ActionKind::Recv) &&
                                       action.subject == sent.subject &&
                                       action.index == sent.index;
                              }),
               order.end());
         sound.program.order = Schedule(orders);
         return true;
       }},
      {"a receive after its reader", Rule::WaitCycle,
       [=](Sound &sound, Random &random) {
         return changeOrder(sound, random, receive,
                            [&](auto &order, size_t at) {
                              return postLate(sound.problem, order, at);
                            });
       }},
      {"a rank's sums in another order", Rule::WaitCycle,
       [](Sound &sound, Random &random) {
         Orders orders = ordersOf(sound.program);
         for (Action &action : random() % 2 ? orders.front() : orders.back())
           if ((action.kind() == ActionKind::AllReduce ||
                action.kind() == ActionKind::Await) &&
               action.subject < 2)
             action.subject = 1 - action.subject;
         sound.program.order = Schedule(orders);
         return true;
       }},

      // Collectives.
      {"collectives: kind", Rule::Tasks,
       [](Sound &sound, Random &random) {
         CollectiveKind &kind = sound.program.collectives[random() % 3].kind;
         kind = kind == CollectiveKind::GradientNorm
                    ? CollectiveKind::TiedGradients
                    : CollectiveKind::GradientNorm;
         return true;
       }},
      {"collectives: tensor", Rule::Tasks,
       [](Sound &sound, Random &random) {
         sound.program.collectives[random() % 2].tensor += "x";
         return true;
       }},
      {"collectives: replicas", Rule::Tasks,
       [](Sound &sound, Random &random) {
         sound.program.collectives[random() % 3].replicas.pop_back();
         return true;
       }},
      {"collectives: delay", Rule::Tasks,
       [](Sound &sound, Random &random) {
         sound.program.collectives[random() % 3].delay = 1;
         return true;
       }},
      {"collectives: first element", Rule::Tasks,
       [](Sound &sound, Random &random) {
         sound.program.collectives[random() % 2].firstElement = 64;
         return true;
       }},

      // Slots.
      {"places: slots, of activations that are held at once", Rule::Buffers,
       shareSlot},
      {"places: a slot that the pool does not have", Rule::Buffers,
       [](Sound &sound, Random &random) {
         Place &place = drawPlace(sound, random);
         place.slotOf[random() % place.slotOf.size()] =
             sound.program.pools[place.pool].slots;
         return true;
       }},
      {"places: a pool that is not there", Rule::Buffers,
       [](Sound &sound, Random &random) {
         drawPlace(sound, random).pool =
             static_cast<int32_t>(sound.program.pools.size());
         return true;
       }},
      {"places: the pool of staging", Rule::Buffers,
       [](Sound &sound, Random &random) {
         drawPlace(sound, random) = {sound.program.staging.front(), {0}};
         return true;
       }},
      {"places: gradients where the weights lie", Rule::Buffers,
       [](Sound &sound, Random &random) {
         const auto replica =
             static_cast<int32_t>(random() % sound.problem.numReplicas());
         sound.program.place(replica, BufferKind::Gradients) =
             sound.program.place(replica, BufferKind::Weights);
         return true;
       }},
      {"places: their number", Rule::Tasks,
       [](Sound &sound, Random &) {
         sound.program.places.pop_back();
         return true;
       }},

      // Pools, staging and arenas.
      ofPool("pools: offset is not aligned", Rule::Arena,
             [](Pool &pool) { pool.offset += 1; }),
      ofPool("pools: offset is later", Rule::Arena,
             [](Pool &pool) { pool.offset += bufferAlignment; }),
      ofPool("pools: offset is below 0", Rule::Arena,
             [](Pool &pool) { pool.offset -= int64_t(1) << 40; }),
      ofPool("pools: slots are larger", Rule::Arena,
             [](Pool &pool) { pool.slotBytes += bufferAlignment; }),
      ofPool("pools: one slot more", Rule::Arena,
             [](Pool &pool) { ++pool.slots; }),
      ofPool("pools: too many slots for a table", Rule::Arena,
             [](Pool &pool) { pool.slots = maxSlots + 1; }),
      ofPool("pools: a rank that is not there", Rule::Arena,
             [](Pool &pool) { pool.rank = 1000; }),
      {"staging: no pool", Rule::Arena,
       [](Sound &sound, Random &random) {
         sound.program.staging[random() % sound.program.staging.size()] = -1;
         return true;
       }},
      {"staging: another rank's pool", Rule::Arena,
       [](Sound &sound, Random &) {
         std::swap(sound.program.staging[0], sound.program.staging[1]);
         return true;
       }},
      {"arenas: less bytes", Rule::Arena,
       [](Sound &sound, Random &random) {
         sound.program.arenaBytes[random() % sound.devices.size()] -=
             bufferAlignment;
         return true;
       }},
      {"arenas: more bytes than the device has", Rule::Arena,
       [](Sound &sound, Random &random) {
         sound.program.arenaBytes[random() % sound.devices.size()] += 1;
         return true;
       }},
      {"arenas: their number", Rule::Arena,
       [](Sound &sound, Random &) {
         sound.program.arenaBytes.pop_back();
         return true;
       }},
  };
}

// The first fault is the right one: rows of the table before it hold.
TEST(Mutations, OneEntryOfAProgramIsFoundByItsRule) {
  for (const Mutation &mutation : mutations()) {
    SCOPED_TRACE(mutation.field);
    Random random(1);
    int applied = 0;
    for (int round = 0; round < 400 && applied < 60; ++round) {
      Sound sound = drawSound(random);
      ASSERT_EQ(sound.check(), std::nullopt) << describe(*sound.check());
      if (!mutation.apply(sound, random))
        continue;
      ++applied;
      const std::optional<Fault> fault = sound.check();
      ASSERT_TRUE(fault);
      EXPECT_EQ(ruleId(fault->rule), std::string(ruleId(mutation.rule)))
          << describe(*fault, sound.problem);
    }
    EXPECT_GE(applied, 20);
  }
}

//===----------------------------------------------------------------------===//
// Whether a program runs to its end
//===----------------------------------------------------------------------===//

/// Runs a program without times: whatever may begin or end does, until nothing
/// changes. Each rank pair is a queue, and sends end when they are received.
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
           mayBegin(ranks.second, receives[carried]);
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

/// Random slots for some buffers; one in `moveOneIn` of these moves to a random
/// pool of its rank.
void giveOtherSlots(Program &program, Random &random, int32_t length,
                    uint32_t moveOneIn = 1) {
  for (Place &place : program.places)
    if (place.pool >= 0 && random() % 3 == 0) {
      if (moveOneIn == 1 || random() % moveOneIn == 0) {
        const auto other =
            static_cast<int32_t>(random() % program.pools.size());
        if (program.pools[other].rank == program.pools[place.pool].rank)
          place.pool = other;
      }
      place.slotOf.resize(1 + random() % length);
      for (int32_t &slot : place.slotOf)
        slot = static_cast<int32_t>(random() % program.pools[place.pool].slots);
    }
}

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

// Rule L2 runs the program itself, whatever slots and sums it has.
TEST(Mutations, WaitCyclesAreThoseOfAPlainRun) {
  Random random(5);
  int running = 0, stuck = 0;
  for (int round = 0; round < 3000; ++round) {
    Sound sound = drawSound(random);
    if (round % 2 == 0)
      moveSums(sound.program, random);
    for (int i = 0; i < 2; ++i) {
      const bool runs =
          PlainRun(sound.problem, sound.program, /*resident=*/0).isComplete();
      EXPECT_EQ(!checkWaitCycle(sound.problem, sound.program), runs);
      ++(runs ? running : stuck);
      giveOtherSlots(sound.program, random, sound.problem.microbatches);
    }
  }
  EXPECT_GT(running, 500);
  EXPECT_GT(stuck, 500);
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

// Slots are given by the times of a program without places. With wrong ones a
// slot is given away while its send is under way, and whoever takes it waits.
TEST(Mutations, TimesOfAProgramAreNotBelieved) {
  Random random(7);
  int larger = 0, smaller = 0;
  for (int round = 0; round < 600; ++round) {
    Sound one = drawSound(random);
    Sound other = one;
    ProgramSimulation known = simulateWithoutPlaces(one.problem, one.program);
    planMemoryOf(other, &known);
    EXPECT_EQ(other.program.arenaBytes, one.program.arenaBytes);
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

//===----------------------------------------------------------------------===//
// Short cuts
//===----------------------------------------------------------------------===//

/// A rank that does the same for all micro-batches, which the planner plans
/// once.
Sound reference(Random &random) {
  const Problem problem =
      linearProblem(2 + random() % 3, 2 + random() % 5, 100, 128, 0);
  Sound sound;
  sound.problem = sequentialProblem(problem);
  sound.schedule = sequentialSchedule(sound.problem, {});
  sound.needs = {{norm(problem)}, true};
  sound.program = insertCommunication(
      sound.problem, sound.schedule,
      simulate(sound.problem, sound.schedule, /*keepTimes=*/true), sound.needs);
  EXPECT_EQ(planMemory(sound.problem, problem.replicas, problem.numRanks(),
                       replicaBuffers(problem), sound.program),
            std::nullopt);
  return sound;
}

// The rules look at all micro-batches, also if the planner has looked at the
// first alone: the last ones are changed, and found.
TEST(Mutations, EqualMicrobatchesAreAllChecked) {
  Random random(9);
  int tasks = 0, slots = 0;
  for (int round = 0; round < 200; ++round) {
    const Sound sound = reference(random);
    ProgramDemands demands{&sound.schedule, sound.needs, {}, {}, nullptr};
    ASSERT_EQ(checkProgram(sound.problem, sound.program, demands),
              std::nullopt);
    const int64_t last = sound.problem.microbatches - 1;
    Sound changed = sound;
    const bool isApplied = changeOrder(
        changed, random,
        [&](Action action) {
          return action.isTask() && static_cast<int64_t>(action.index) == last;
        },
        [](auto &order, size_t at) { return swapWithNext(order, at, isTask); });
    if (isApplied) {
      const auto fault =
          checkProgram(changed.problem, changed.program, demands);
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->rule, Rule::Tasks);
      ++tasks;
    }
    // An activation of the last micro-batch where the other one lies.
    changed = sound;
    const auto replica =
        static_cast<int32_t>(random() % sound.problem.numReplicas());
    Place &place =
        changed.program.place(replica, BufferKind::SavedForWeightGrad);
    const Place &other =
        changed.program.place(replica, BufferKind::SavedForInputGrad);
    if (place.pool < 0 || other.pool < 0)
      continue;
    Pool &pool = changed.program.pools[place.pool];
    place.slotOf.assign(static_cast<size_t>(last) + 1, place.slot(0));
    place.slotOf.back() = pool.slots;
    const auto fault = checkProgram(changed.problem, changed.program, demands);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->rule, Rule::Buffers);
    ++slots;
  }
  EXPECT_GT(tasks, 100);
  EXPECT_GT(slots, 100);
}

/// Without the positions, which differ where an action has been added.
std::string wordsOf(std::optional<Fault> fault) {
  if (!fault)
    return "";
  fault->position = fault->otherPosition = 0;
  return describe(*fault);
}

/// A program of one rank that does the same for all micro-batches, in any order
/// and perhaps not all that it should, with any slots.
Program randomReference(const Problem &sequential, const Problem &problem,
                        std::mt19937 &random) {
  const Schedule schedule = sequentialSchedule(sequential, {});
  const ActionRange tasks = schedule.rank(0);
  std::vector<Action> first(tasks.begin(), tasks.begin() + tasks.size() / 5);
  for (uint32_t swaps = random() % 3; swaps > 0; --swaps)
    std::swap(first[random() % first.size()], first[random() % first.size()]);
  if (random() % 3 == 0)
    first.erase(first.begin() + random() % first.size());
  std::vector<Action> order;
  for (int32_t i = 0; i < 5; ++i)
    for (Action action : first) {
      action.index = i;
      order.push_back(action);
    }
  Program program = insertCommunication(sequential, schedule,
                                        simulate(sequential, schedule, true),
                                        {{norm(problem)}, true});
  EXPECT_EQ(planMemory(sequential, problem.replicas, problem.numRanks(),
                       replicaBuffers(problem), program),
            std::nullopt);
  program.order = Schedule({order});
  if (random() % 3 != 0) {
    for (Pool &pool : program.pools)
      pool.slots = 2;
    giveOtherSlots(program, random, random() % 2 ? 1 : 5, /*moveOneIn=*/8);
  }
  return program;
}

// Where a program itself shows that a rank does the same for all micro-batches,
// rules L2 and L3 look at the first alone. An action of no micro-batch in front
// makes them look at all.
TEST(Mutations, EqualMicrobatchesHaveTheFaultsOfTheFirst) {
  const Problem problem = linearProblem(3, 5, 100, 128, 0);
  const Problem sequential = sequentialProblem(problem);
  std::mt19937 random(6);
  int sound = 0, stuck = 0, overlapping = 0;
  for (int round = 0; round < 600; ++round) {
    const Program program = randomReference(sequential, problem, random);
    ASSERT_FALSE(firstOfEqualMicrobatches(program.order.rank(0), 5).empty());
    Program unequal = program;
    std::vector<Action> order = {Action(ActionKind::AllReduce, 0, 0)};
    for (Action action : program.order.rank(0))
      order.push_back(action);
    unequal.order = Schedule({order});
    ASSERT_TRUE(firstOfEqualMicrobatches(unequal.order.rank(0), 5).empty());
    const std::string cycle = wordsOf(checkWaitCycle(sequential, program)),
                      slots = wordsOf(checkBuffers(sequential, program));
    EXPECT_EQ(cycle, wordsOf(checkWaitCycle(sequential, unequal)));
    EXPECT_EQ(slots, wordsOf(checkBuffers(sequential, unequal)));
    sound += cycle.empty() && slots.empty();
    stuck += !cycle.empty();
    overlapping += cycle.empty() && !slots.empty();
  }
  EXPECT_GT(sound, 50);
  EXPECT_GT(stuck, 50);
  EXPECT_GT(overlapping, 50);
}

} // namespace
