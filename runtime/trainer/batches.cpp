//===- batches.cpp - Batches of documents and their programs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/batch_background.h"
#include "runtime/data/documents.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <sstream>
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
  void share(const std::string &name, BatchRun &batch) const;
  void prepare(BatchRun &batch);

  Trainer &trainer;
  const Executable &exe;
  const uint64_t seed;
  const int64_t last, effort;
  PackingLimits limits;
  /// For programs that no iteration waits for.
  std::unique_ptr<BatchPlanner> ownPlanner;
  /// In process 0, and the iteration that it plans.
  std::unique_ptr<BackgroundPlanner> background;
  int64_t planned = 0;
  BatchRun current, evaluation;
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
  if (!background)
    background = std::make_unique<BackgroundPlanner>(
        exe.extras.batchSearch->makePlanner(exe), effort);
  background->begin([this, iteration] { return pack(iteration); },
                    static_cast<uint64_t>(iteration));
  planned = iteration;
}

/// A batch as text, and back.
static std::string encode(const BatchRun &batch) {
  std::ostringstream out;
  const PlannedBatch &planned = batch.planned;
  out << planned.batch.rows.size();
  for (const std::vector<PackedDocument> &row : planned.batch.rows) {
    out << ' ' << row.size();
    for (const PackedDocument &document : row)
      out << ' ' << document.position << ' ' << document.tokens;
  }
  out << '\n';
  return out.str() + encode(*planned.program);
}

static void decode(const std::string &text, const Executable &executable,
                   BatchRun &batch) {
  PlannedBatch &planned = batch.planned;
  const size_t end = text.find('\n');
  std::istringstream in(text.substr(0, end));
  size_t rows = 0;
  in >> rows;
  planned.batch.rows.clear();
  for (; rows > 0 && in; --rows) {
    size_t documents = 0;
    in >> documents;
    std::vector<PackedDocument> &row = planned.batch.rows.emplace_back();
    for (; documents > 0 && in; --documents) {
      PackedDocument document{};
      in >> document.position >> document.tokens;
      row.push_back(document);
    }
  }
  if (!in || end == std::string::npos)
    throw Error("process 0 has sent a batch that cannot be read");
  planned.program = decode(text.substr(end + 1), executable);
}

/// Sends the batch of process 0 to the others.
void PlannedBatches::share(const std::string &name, BatchRun &batch) const {
  const World &world = trainer.world();
  if (world.isAlone())
    return;
  const std::string text =
      world.store
          ->exchange(name, world.isFirst() ? encode(batch) : "",
                     Store::Patience::WhileAlive)
          .front();
  if (!world.isFirst())
    decode(text, exe, batch);
}

/// Before another program takes the place of the batch's.
static void release(BatchRun &batch) {
  batch.run.reset();
  batch.sizes.reset();
}

/// Makes the ranks of a batch, whose program has just been set.
void PlannedBatches::prepare(BatchRun &batch) {
  const ProgramDesc &program = batch.planned.program->desc();
  batch.sizes = std::make_shared<BatchSizes>(trainer.state(), program);
  batch.run = trainer.makeRun(program);
  batch.rows = [this, &batch](int64_t microbatch, int32_t *inputs,
                              int32_t *targets) {
    trainer.allDocuments()->fill(batch.planned.batch.rows[microbatch], inputs,
                                 targets);
  };
}

BatchRun &PlannedBatches::at(int64_t iteration) {
  enter(trainer.world(), Phase::Data);
  release(current);
  if (trainer.world().isFirst()) {
    if (planned != iteration)
      begin(iteration);
    BackgroundPlanner::Result result = background->take();
    current.planned = std::move(result.planned);
    current.seconds = result.seconds;
    if (iteration < last)
      begin(iteration + 1);
  }
  share("batch " + std::to_string(iteration), current);
  prepare(current);
  return current;
}

BatchRun &PlannedBatches::referenceAt(int64_t iteration) {
  release(current);
  current.planned = planner().early(pack(iteration));
  current.planned.program =
      planner().ofKind(runtime::ProgramKind::Sequential, current.planned.batch);
  prepare(current);
  return current;
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
  share("held-out batch", evaluation);
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
