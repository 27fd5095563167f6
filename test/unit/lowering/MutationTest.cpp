//===- MutationTest.cpp - Rules believe nothing that they are handed ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering and planning memory hand over orders, collectives, slots, pools and
// arenas. Each mutation changes one entry, and the right rule finds it.
//
//===----------------------------------------------------------------------===//

#include "test/unit/lowering/SoundPrograms.h"

#include "schedule/model/BufferNumbers.h"
#include "schedule/order/Residency.h"
#include "schedule/program/Slots.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace rondo;
using namespace rondo::test;

namespace {

std::function<bool(Action)> ofKind(ActionKind kind) {
  return [kind](Action action) { return action.kind() == kind; };
}

bool erase(std::vector<Action> &order, size_t at) {
  order.erase(order.begin() + static_cast<ptrdiff_t>(at));
  return true;
}
bool repeat(std::vector<Action> &order, size_t at) {
  order.insert(order.begin() + static_cast<ptrdiff_t>(at), order[at]);
  return true;
}

/// Before everything else.
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

/// Position of an action in a rank's order; -1: it is not there.
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

/// Posts a receive right after the task that reads it. False if another
/// receive of the channel would be passed.
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
         drawPlace(sound, random) = {sound.program.staging.front(), {0}, {}};
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

} // namespace
