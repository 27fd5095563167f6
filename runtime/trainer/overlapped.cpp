//===- overlapped.cpp - Trains with iterations that overlap ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace rondo::runtime;

struct Trainer::Done {
  /// Number of iterations that all replicas here have finished.
  int64_t iterations = 0;
  /// Indexed by iteration: its end at the stage that makes the loss, ns since
  /// the run began.
  std::vector<int64_t> endNs;
  /// Indexed by iteration and replica of that stage: the mean loss over the
  /// iteration's micro-batches.
  std::vector<std::vector<double>> losses;
  /// Indexed by iteration: the stages that have skipped their step.
  std::vector<std::vector<int32_t>> skipped;
  /// IterationResult::enqueueNs, the mean of the run.
  int64_t enqueueNs = -1;
  int stopSignal = 0;
};

Trainer::Done Trainer::doneBy(ProgramRun &run, const TrainingSpan &span,
                              int64_t startNs) const {
  const ProgramDesc &program = run.program();
  auto recordOf = [&](int32_t replica) -> const ReplicaRecord * {
    return programState.holds(replica)
               ? run.rank(program.rankOfReplica[replica]).record(replica)
               : nullptr;
  };
  Done done;
  done.iterations = span.count;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (const ReplicaRecord *record = recordOf(h))
      done.iterations = std::min(done.iterations,
                                 record->steps.load(std::memory_order_acquire));
  done.endNs.assign(done.iterations, 0);
  done.losses.resize(done.iterations);
  done.skipped.resize(done.iterations);
  // A model without a loss is timed at its last stage.
  const int32_t timed = lossStage >= 0 ? lossStage : exe.numStages - 1;
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const int32_t stage = exe.replicas[h].stage;
    const ReplicaRecord *record = recordOf(h);
    for (int64_t t = 0; t < done.iterations; ++t) {
      if (stage == lossStage)
        done.losses[t].push_back(0);
      if (!record)
        continue;
      if (stage == timed)
        done.endNs[t] = std::max(done.endNs[t], record->endNs[t] - startNs);
      std::vector<int32_t> &skipped = done.skipped[t];
      if (record->skipped[t] && (skipped.empty() || skipped.back() != stage))
        skipped.push_back(stage);
      if (stage != lossStage)
        continue;
      for (int64_t i = 0; i < program.microbatches; ++i)
        if (takes(program.shares[h], i))
          done.losses[t].back() += record->losses[t * program.microbatches + i];
      done.losses[t].back() /= program.microbatches;
    }
  }
  return done;
}

/// Gives every process what all of them know.
void Trainer::exchangeDone(const TrainingSpan &span, int stopSignal,
                           Done &done) {
  std::string own = std::to_string(stopSignal);
  auto add = [&](int64_t number) { own += ' ' + std::to_string(number); };
  for (int64_t t = 0; t < span.count; ++t) {
    add(done.endNs[t]);
    add(static_cast<int64_t>(done.skipped[t].size()));
    for (int32_t stage : done.skipped[t])
      add(stage);
    for (double loss : done.losses[t]) {
      char text[40];
      // Hexadecimal, so that no bit is lost.
      std::snprintf(text, sizeof text, " %a", loss);
      own += text;
    }
  }
  const std::vector<std::string> all = world().store->exchange(
      "iterations " + std::to_string(span.first) + " to " +
          std::to_string(span.first + span.count - 1),
      own, Store::Patience::WhileReported);
  std::vector<int32_t> rankOfLoss;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].stage == lossStage)
      rankOfLoss.push_back(exe.replicas[h].rank);
  for (size_t p = 0; p < all.size(); ++p) {
    char *rest = nullptr;
    done.stopSignal =
        std::max(done.stopSignal,
                 static_cast<int>(std::strtol(all[p].c_str(), &rest, 10)));
    for (int64_t t = 0; t < span.count; ++t) {
      done.endNs[t] =
          std::max<int64_t>(done.endNs[t], std::strtoll(rest, &rest, 10));
      for (int64_t k = std::strtoll(rest, &rest, 10); k > 0; --k) {
        std::vector<int32_t> &skipped = done.skipped[t];
        const auto stage = static_cast<int32_t>(std::strtol(rest, &rest, 10));
        if (std::find(skipped.begin(), skipped.end(), stage) == skipped.end())
          skipped.push_back(stage);
      }
      for (size_t k = 0; k < rankOfLoss.size(); ++k) {
        const double loss = std::strtod(rest, &rest);
        if (static_cast<int32_t>(p) == rankOfLoss[k])
          done.losses[t][k] = loss;
      }
    }
  }
  for (std::vector<int32_t> &skipped : done.skipped)
    std::sort(skipped.begin(), skipped.end());
}

IterationResult Trainer::resultOf(const ProgramDesc &program,
                                  const TrainingSpan &span, int64_t index,
                                  const Done &done) const {
  IterationResult result;
  result.learningRate = learningRate(ratesUpTo(span.last), span.first + index);
  result.norm = std::numeric_limits<double>::quiet_NaN();
  result.skippedStages = done.skipped[index];
  result.isFinite = result.skippedStages.empty();
  result.enqueueNs = done.enqueueNs;
  result.ns = std::max<int64_t>(1, done.endNs[index] -
                                       (index > 0 ? done.endNs[index - 1] : 0));
  size_t k = 0;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].stage == lossStage)
      result.loss += done.losses[index][k++] * program.shares[h].samples /
                     samplesOf(program);
  return result;
}

int Trainer::trainSpan(ProgramRun &run, const TrainingSpan &span,
                       const Report &report,
                       const std::atomic<int> &stopSignal) {
  const ProgramDesc &program = run.program();
  if (!program.overlap) {
    const IterationResult result =
        train(run, span.seed, span.first, span.last, stopSignal);
    if (report)
      report(span.first, result);
    return result.stopSignal;
  }
  Span iterations;
  iterations.iterations = span.count;
  iterations.before = span.first - 1;
  iterations.seed = span.seed;
  iterations.rates = ratesUpTo(span.last);
  iterations.tracedIterations = span.traced;
  if (tokens || streams)
    iterations.writeData = [&](int32_t replica, int64_t microbatch, char *to) {
      const int64_t iteration = span.first + microbatch / program.microbatches;
      stageMicrobatch(
          program, replica, microbatch, trainingSamples(span.seed, iteration),
          [&](int64_t offset, const void *values, int64_t bytes) {
            std::memcpy(to + offset, values, static_cast<size_t>(bytes));
          });
    };

  rankConnections->transport().beginIteration(span.first);
  const int64_t startNs = nowNs();
  int64_t reported = 0;
  auto tell = [&](const Done &done, int64_t end) {
    for (; reported < end; ++reported)
      if (report)
        report(span.first + reported, resultOf(program, span, reported, done));
  };
  std::function<void()> look;
  if (world().isAlone() && report)
    look = [&] {
      // The last one has ended when the run has.
      const Done done = doneBy(run, span, startNs);
      tell(done, std::min(done.iterations, span.count - 1));
    };
  const int64_t enqueuedNs = enqueueNs(run);
  run.iterate(threads, iterations, look);
  Done done = doneBy(run, span, startNs);
  if (enqueuedNs >= 0)
    done.enqueueNs = (enqueueNs(run) - enqueuedNs) / span.count;
  done.stopSignal = stopSignal;
  if (!world().isAlone())
    exchangeDone(span, stopSignal, done);
  done.endNs.back() = std::max(done.endNs.back(), nowNs() - startNs);
  tell(done, span.count);
  return done.stopSignal;
}
