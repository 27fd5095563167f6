//===- Communication.h - Places sends and receives --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_COMMUNICATION_H
#define RONDO_LOWERING_COMMUNICATION_H

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/simulate/Simulator.h"

namespace rondo {

/// Writes the order of a program: the schedule's tasks, a send after each
/// producer, a receive for each message, and the collectives and optimizer
/// steps that training needs.
///
/// The sum of a stage's gradients over its replicas is issued as soon as the
/// rank has its own gradients. If the schedule has no steps, the other
/// collectives and the steps come at the end of each rank. If it has steps,
/// these stay in their places: a collective is issued as soon as the rank has
/// the gradients that it reads, and awaited before the first step that needs
/// it. The schedule must keep checkSteps().
///
/// Every directed rank pair is one in-order queue. Its sends are in the order
/// of their producers, or in the schedule's link order if it has one. Its
/// receives are in the same order. A receive is posted before the task that the
/// receiver runs when the simulated link would begin to carry the message: no
/// message waits for its receiver, and no slot is held longer than necessary. A
/// bound on receive slots moves the receive later. In a window of several
/// iterations, the place is the same in each.
///
/// `simulation` is that of the schedule, complete and with times. O(actions).
Program insertCommunication(const Problem &problem, const Schedule &schedule,
                            const Simulation &simulation, TrainingNeeds needs);

/// Writes the same program with its messages where PyTorch's pipeline runtime
/// places them, to find out what a schedule would cost there. It works in
/// rounds over the ranks. In each round, a rank takes its next task if the
/// task's inputs have arrived. The message of the task is sent and at once
/// received by the other rank, after all actions that both ranks have taken so
/// far. Link orders are ignored. All ranks keep one order of messages, so one
/// queue per rank cannot deadlock.
///
/// `joined[position in the schedule's array]`: the action is taken together
/// with the next one, once both have their inputs, and the messages of both
/// follow both. Empty: none. Actions that are not tasks wait for nothing.
///
/// The schedule must keep S1 to S4. The program ends where no rank can take an
/// action, which is before the schedule's end only if actions are joined.
/// O(actions + rounds * ranks).
Program insertCommunicationInRounds(const Problem &problem,
                                    const Schedule &schedule,
                                    const std::vector<bool> &joined = {});

} // namespace rondo

#endif // RONDO_LOWERING_COMMUNICATION_H
