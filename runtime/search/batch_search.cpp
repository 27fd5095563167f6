//===- batch_search.cpp - Programs for batches of documents ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner of programs that draw documents. Such a program names
// `batchSearch` among its extras. runtime/adaptive/batch_background.cpp calls
// the planner on a thread of its own while the ranks train, and
// runtime/trainer/batches.cpp for references and evaluations.
//
//===----------------------------------------------------------------------===//

#include "runtime/adaptive/batch_programs.h"
#include "runtime/search/program_plan.h"
#include "runtime/search/row_numbers.h"

#include "kinds/AffineCost.h"
#include "planning/FittingSearch.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace rondo;
using namespace rondo::runtime;

/// Effort of the search that finds the order of sums, in units of 1,000 tasks:
/// some milliseconds, and more for large problems.
static int64_t earlyEffort(const Problem &problem) {
  return 300 + problem.numTasks();
}

static DocumentLengths lengthsOf(const PackedBatch &batch) {
  DocumentLengths lengths;
  for (const std::vector<PackedDocument> &row : batch.rows) {
    lengths.emplace_back();
    for (const PackedDocument &document : row)
      lengths.back().push_back(document.tokens);
  }
  return lengths;
}

/// Executables with limits of batches have one program of each kind.
static const ProgramDesc &firstOf(const Executable &executable,
                                  runtime::ProgramKind kind) {
  return *std::find_if(
      executable.programs, executable.programs + executable.numPrograms,
      [&](const ProgramDesc &program) { return program.kind == kind; });
}

/// A schedule whose micro-batch order[i] is now micro-batch i.
static Schedule renumbered(const Schedule &schedule,
                           const std::vector<int32_t> &order) {
  std::vector<int64_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int64_t>(i);
  Schedule result;
  result.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r)) {
      action.index = place[action.index];
      result.append(action);
    }
    result.endRank();
  }
  return result;
}

namespace {

/// A program of the executable, and the figures of programs like it.
struct Kind {
  Kind(const Executable &executable, const ProgramDesc &desc)
      : desc(desc), values(valuesOf(executable, desc)),
        like{executable, this->desc, values}, plan(figuresOf(like)) {}
  Kind(const Kind &) = delete;

  const ProgramDesc &desc;
  const ProgramValues values;
  const LikeProgram like;
  const PlanFigures plan;
};

/// The problem of a batch, and its tables for programs like the pipeline.
struct BatchProblem {
  Problem problem;
  std::shared_ptr<const BatchTables> tables;
  PlanFigures plan;
};

class Planner final : public BatchPlanner {
public:
  explicit Planner(const Executable &executable)
      : exe(executable),
        pipeline(exe, firstOf(exe, runtime::ProgramKind::Pipeline)) {}

  PlannedBatch early(PackedBatch batch) override;
  std::shared_ptr<const FoundProgram>
  improve(const PlannedBatch &planned, int64_t effort, uint64_t seed,
          const std::atomic<bool> &interrupt) override;
  std::shared_ptr<const FoundProgram> ofKind(runtime::ProgramKind kind,
                                             const PackedBatch &batch) override;

private:
  BatchProblem problemOf(const Kind &kind, const PackedBatch &batch) const;
  std::shared_ptr<const FoundProgram> compiled(const BatchProblem &of) const;
  std::shared_ptr<const FoundProgram> programOf(const BatchProblem &of,
                                                Schedule tasks) const;
  void choose(const BatchProblem &of, std::optional<Schedule> found,
              PlannedBatch &planned) const;
  PlannedBatch earlyOfReplicas(const PackedBatch &batch,
                               const BatchProblem &given,
                               SearchOptions options) const;

  const Executable &exe;
  const Kind pipeline;
  std::unique_ptr<Kind> sequential, evaluation;
};

} // namespace

BatchProblem Planner::problemOf(const Kind &kind,
                                const PackedBatch &batch) const {
  const Problem &like = pipeline.values.problem;
  BatchProblem result;
  result.tables = std::make_shared<const BatchTables>(
      exe, kind.desc, kind.values.problem, lengthsOf(batch));
  const BatchTables &tables = *result.tables;
  result.plan = kind.plan;
  result.plan.buffersByMicrobatch = tables.buffers();
  Problem &problem = result.problem = like;
  const BatchLimitsDesc &limits = *limitsOf(pipeline.desc);
  const int64_t count = problem.microbatches;
  std::vector<Cost> costs(problem.costs.size() * count);
  std::vector<int64_t> bytes(problem.edges.size() * count);
  for (int32_t i = 0; i < count; ++i) {
    const RowSize size = tables.size(i);
    for (int32_t h = 0; h < problem.numReplicas(); ++h) {
      CostRow row;
      for (int32_t k = 0; k < numCostColumns; ++k) {
        row[k] = problem.costs[h * numCostColumns + k];
        row[k].ns = size.of(limits.workNs[h * numCostColumns + k]);
      }
      setBytes(problem, h, result.plan.buffersByMicrobatch[i][h], row.data());
      for (int32_t k = 0; k < numCostColumns; ++k)
        costs[(h * numCostColumns + k) * count + i] = row[k];
    }
    for (size_t e = 0; e < problem.edges.size(); ++e)
      bytes[e * count + i] = tables.messageBytes(static_cast<int32_t>(e), i);
  }
  problem.setUneven(std::move(costs), std::move(bytes));
  setCaps(pipeline.like, problem);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.memoryCaps[r] =
        std::min(problem.memoryCaps[r], limits.activationBytes[r]);
  return result;
}

/// The compiled order and places are those of the largest batch, so they serve
/// every one.
std::shared_ptr<const FoundProgram>
Planner::compiled(const BatchProblem &of) const {
  const Program &program = pipeline.values.program;
  return std::make_shared<const FoundProgram>(
      pipeline.desc, pipeline.desc.name, program, of.problem,
      BatchProgram{of.tables, simulateProgram(of.problem, program).makespanNs});
}

/// Null: the order breaks a rule or does not fit.
std::shared_ptr<const FoundProgram> Planner::programOf(const BatchProblem &of,
                                                       Schedule tasks) const {
  if (checkSchedule(of.problem, tasks) || checkAccumulation(of.problem, tasks))
    return nullptr;
  LoweredProgram lowered{rondo::ProgramKind::Pipeline, of.problem,
                         std::move(tasks), Program(), ProgramSimulation()};
  if (placeLike(pipeline.like, of.plan, of.problem, lowered))
    return nullptr;
  const int64_t ns = simulateProgram(of.problem, lowered.program).makespanNs;
  return std::make_shared<const FoundProgram>(
      pipeline.desc, pipeline.desc.name, std::move(lowered.program), of.problem,
      BatchProgram{of.tables, ns});
}

static SearchResult searchBatch(const BatchProblem &of,
                                const SearchOptions &options) {
  return searchPlan(of.plan, of.problem, options,
                    [](const Problem &problem, const SearchOptions &how) {
                      return search(problem, how);
                    });
}

/// The rows in another order.
static PackedBatch ordered(PackedBatch batch,
                           const std::vector<int32_t> &order) {
  PackedBatch result;
  for (int32_t row : order)
    result.rows.push_back(std::move(batch.rows[row]));
  return result;
}

/// The better one of the found schedule and the compiled one.
void Planner::choose(const BatchProblem &of, std::optional<Schedule> found,
                     PlannedBatch &planned) const {
  planned.source = PlannedBatch::Source::Early;
  if (found)
    planned.program = programOf(of, std::move(*found));
  std::shared_ptr<const FoundProgram> known = compiled(of);
  if (planned.program &&
      planned.program->batch().predictedNs <= known->batch().predictedNs)
    return;
  planned.program = std::move(known);
  planned.source = PlannedBatch::Source::Compiled;
}

/// Replicas take rows by their numbers, so these come first; the search of a
/// schedule keeps them.
PlannedBatch Planner::earlyOfReplicas(const PackedBatch &batch,
                                      const BatchProblem &given,
                                      SearchOptions options) const {
  options.orders = OrderClass::Sums;
  PlannedBatch best;
  for (const std::vector<int32_t> &order :
       numberRows(given.problem, options.effort)) {
    PlannedBatch next;
    next.order = order;
    next.batch = ordered(batch, order);
    const BatchProblem of = problemOf(pipeline, next.batch);
    SearchResult found = searchBatch(of, options);
    if (found.schedule)
      found.schedule->accumulation.clear();
    choose(of, std::move(found.schedule), next);
    if (!best.program ||
        next.program->batch().predictedNs < best.program->batch().predictedNs)
      best = std::move(next);
  }
  return best;
}

PlannedBatch Planner::early(PackedBatch batch) {
  const BatchProblem given = problemOf(pipeline, batch);
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = earlyEffort(given.problem);
  options.inIndexOrder = !given.problem.isUneven();
  if (given.problem.isUneven() && given.problem.replicas.areRoundRobin())
    return earlyOfReplicas(batch, given, options);
  SearchResult found = searchBatch(given, options);
  PlannedBatch planned;
  planned.order.resize(batch.rows.size());
  std::iota(planned.order.begin(), planned.order.end(), 0);
  if (found.schedule && !found.schedule->accumulation.empty()) {
    planned.order = found.schedule->accumulation;
    found.schedule = renumbered(*found.schedule, planned.order);
  }
  planned.batch = ordered(std::move(batch), planned.order);
  choose(problemOf(pipeline, planned.batch), std::move(found.schedule),
         planned);
  return planned;
}

std::shared_ptr<const FoundProgram>
Planner::improve(const PlannedBatch &planned, int64_t effort, uint64_t seed,
                 const std::atomic<bool> &interrupt) {
  const BatchProblem of = problemOf(pipeline, planned.batch);
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  options.seed = seed;
  options.orders = OrderClass::Sums;
  options.inIndexOrder = true;
  options.interrupt = &interrupt;
  options.starts = {tasksOf(planned.program->program())};
  SearchResult found = searchBatch(of, options);
  if (!found.schedule)
    return nullptr;
  found.schedule->accumulation.clear();
  std::shared_ptr<const FoundProgram> program =
      programOf(of, std::move(*found.schedule));
  return program && program->batch().predictedNs <
                        planned.program->batch().predictedNs
             ? program
             : nullptr;
}

std::shared_ptr<const FoundProgram> Planner::ofKind(runtime::ProgramKind which,
                                                    const PackedBatch &batch) {
  const bool isReference = which == runtime::ProgramKind::Sequential;
  std::unique_ptr<Kind> &kind = isReference ? sequential : evaluation;
  if (!kind)
    kind = std::make_unique<Kind>(exe, firstOf(exe, which));
  const BatchProblem of = problemOf(*kind, batch);
  LoweredProgram lowered;
  lowered.kind = isReference ? rondo::ProgramKind::Sequential
                             : rondo::ProgramKind::Evaluation;
  lowered.executing = executingProblem(lowered.kind, of.problem);
  lowered.tasks =
      tasksOf(lowered.kind, lowered.executing, of.problem, Schedule());
  if (placeLike(kind->like, of.plan, of.problem, lowered))
    // The places of the largest batch serve every batch.
    lowered.program = kind->values.program;
  return std::make_shared<const FoundProgram>(
      kind->desc, kind->desc.name, std::move(lowered.program),
      lowered.executing, BatchProgram{of.tables, 0});
}

static std::unique_ptr<BatchPlanner> makePlanner(const Executable &executable) {
  return std::make_unique<Planner>(executable);
}

const BatchSearch rondo::runtime::batchSearch = {makePlanner};
