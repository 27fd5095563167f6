//===- Communication.h - Where messages are sent and received ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_COMMUNICATION_H
#define RONDO_LOWERING_COMMUNICATION_H

#include "schedule/program/Program.h"

namespace rondo {

/// Writes the order of a program: the schedule's tasks, a send behind each
/// producer, a receive for each message, and the collectives and optimizer
/// steps that training needs.
///
/// Sums of a stage's gradients over its replicas are issued as soon as the rank
/// has its own. Without steps in the schedule, all else comes at the end of
/// each rank. A schedule's own steps stay where they are: a collective is
/// issued as soon as the rank has the gradients that it reads, and awaited in
/// front of the first step that needs it. The schedule must keep checkSteps().
///
/// Every directed rank pair is one in-order queue. Its sends are in the order
/// of their producers, or in the schedule's link order where there is one, and
/// its receives are in the same order. A receive is posted by simulated need:
/// in front of the task that the receiver runs when the link would begin to
/// carry the message, so that no message waits for its receiver, and no slot is
/// held longer than that needs. A bound on receive slots moves it later. Over
/// several iterations the place is the same in each.
///
/// `simulation` is the schedule's, complete and with times. O(actions).
Program insertCommunication(const Problem &problem, const Schedule &schedule,
                            const Simulation &simulation, TrainingNeeds needs);

/// Writes the same program with its messages where PyTorch's pipeline runtime
/// puts them, to tell what a schedule would cost there: rounds over the ranks,
/// in each of which a rank takes its next task if that has its inputs; the
/// message of the task is sent, and at once received by the other rank, behind
/// all that either has taken so far. Link orders are not looked at. All ranks
/// keep one order of messages, so one queue a rank cannot deadlock.
///
/// `joined` says by position in the schedule's array which actions are taken
/// together with the next one, when both have their inputs, with their messages
/// behind both; empty: none. Actions that are no tasks wait for nothing.
///
/// The schedule keeps S1 to S4. It is taken as far as it runs, which may be
/// short of its end only where actions are joined. O(actions + rounds * ranks).
Program insertCommunicationInRounds(const Problem &problem,
                                    const Schedule &schedule,
                                    const std::vector<bool> &joined = {});

} // namespace rondo

#endif // RONDO_LOWERING_COMMUNICATION_H
