//===- batches.cpp - Batches of documents and their programs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/data/documents.h"
#include "runtime/trainer/batch_candidates.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

namespace {

/// Process 0 packs and plans the batches, and sends them to the others, which
/// only read their documents.
class PlannedBatches final : public Batches {
public:
  PlannedBatches(Trainer &trainer, uint64_t seed, int64_t last);

  BatchRun &at(int64_t iteration) override;
  BatchRun &referenceAt(int64_t iteration) override;
  BatchRun &heldOut() override;

private:
  BatchPlanner &planner();
  PackedBatch pack(int64_t iteration) const;
  void begin(int64_t iteration);
  bool mayPrepareAhead() const;
  void makeSizes(BatchRun &batch) const;
  void prepare(BatchRun &batch);

  Trainer &trainer;
  const Executable &exe;
  const uint64_t seed;
  const int64_t last, effort;
  PackingLimits limits;
  /// For programs that no iteration waits for.
  std::unique_ptr<BatchPlanner> ownPlanner;
  std::unique_ptr<BatchRun> current;
  BatchRun evaluation;
  /// The programs of an iteration, and its number.
  std::unique_ptr<BatchCandidates> candidates;
  int64_t planned = 0;
};

} // namespace

static const BatchLimitsDesc &limitsOf(const Executable &executable) {
  return *limitsOf(executable.programs[0]);
}

PlannedBatches::PlannedBatches(Trainer &trainer, uint64_t seed, int64_t last)
    : trainer(trainer), exe(trainer.executable()), seed(seed), last(last),
      effort(trainer.searchEffort()) {
  const BatchLimitsDesc &most = ::limitsOf(exe);
  limits.microbatches = most.microbatches;
  limits.rowTokens = most.rowTokens;
  limits.documentTokens = most.documentTokens;
}

BatchPlanner &PlannedBatches::planner() {
  if (!ownPlanner)
    ownPlanner = exe.extras.batchSearch->makePlanner(exe);
  return *ownPlanner;
}

PackedBatch PlannedBatches::pack(int64_t iteration) const {
  return trainer.allDocuments()->packBatch(seed, iteration, limits);
}

void PlannedBatches::begin(int64_t iteration) {
  candidates->begin(iteration);
  planned = iteration;
}

/// Whether any thread may make the sizes of a batch: a custom layer's body is
/// for one thread.
bool PlannedBatches::mayPrepareAhead() const {
  return std::none_of(
      exe.layers, exe.layers + exe.numLayers,
      [](const LayerDesc &layer) { return layer.kind == LayerKind::Custom; });
}

void PlannedBatches::makeSizes(BatchRun &batch) const {
  if (!batch.sizes)
    batch.sizes = std::make_shared<BatchSizes>(trainer.state(),
                                               batch.planned.program->desc());
}

/// Makes the ranks of a batch, whose program has just been set.
void PlannedBatches::prepare(BatchRun &batch) {
  makeSizes(batch);
  batch.sizes->attach();
  batch.run = trainer.makeRun(batch.planned.program->desc());
  batch.rows = [this, &batch](int64_t microbatch, int32_t *inputs,
                              int32_t *targets) {
    trainer.allDocuments()->fill(batch.planned.batch.rows[microbatch], inputs,
                                 targets);
  };
}

BatchRun &PlannedBatches::at(int64_t iteration) {
  const int64_t beginNs = nowNs();
  enter(trainer.world(), Phase::Data);
  current.reset();
  if (!candidates)
    candidates = std::make_unique<BatchCandidates>(
        exe, trainer.world(),
        BatchCandidates::Options{[this](int64_t of) { return pack(of); },
                                 [this](BatchRun &batch) {
                                   if (mayPrepareAhead())
                                     makeSizes(batch);
                                 },
                                 effort});
  if (planned != iteration)
    begin(iteration);
  int64_t waitNs = 0;
  current = candidates->take(waitNs);
  prepare(*current);
  if (iteration < last)
    begin(iteration + 1);
  current->waitNs = waitNs;
  current->prepareNs = nowNs() - beginNs - waitNs;
  return *current;
}

BatchRun &PlannedBatches::referenceAt(int64_t iteration) {
  current = std::make_unique<BatchRun>();
  current->planned = planner().early(pack(iteration));
  current->planned.program = planner().ofKind(runtime::ProgramKind::Sequential,
                                              current->planned.batch);
  prepare(*current);
  return *current;
}

BatchRun &PlannedBatches::heldOut() {
  if (evaluation.run)
    return evaluation;
  if (trainer.world().isFirst()) {
    evaluation.planned.batch =
        trainer.allDocuments()->packHeldOut(/*batch=*/0, limits);
    evaluation.planned.program = planner().ofKind(
        runtime::ProgramKind::Evaluation, evaluation.planned.batch);
  }
  shareBatch(trainer.world(), exe, "held-out batch", evaluation);
  prepare(evaluation);
  return evaluation;
}

static std::shared_ptr<Documents> open(const Options &options, int32_t vocab,
                                       bool isGenerated) {
  if (isGenerated)
    return generateDocuments(vocab);
  return openDocuments(options.data, options.heldOut, vocab,
                       options.endToken.value_or(defaultEndToken));
}

static std::unique_ptr<Batches> make(Trainer &trainer, uint64_t seed,
                                     int64_t last) {
  return std::make_unique<PlannedBatches>(trainer, seed, last);
}

const BatchRuns rondo::runtime::batchRuns = {open, make};
