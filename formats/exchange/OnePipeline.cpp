//===- OnePipeline.cpp - One replica of a pipeline ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/OnePipeline.h"

#include "schedule/gathers/PlaceGathers.h"
#include "schedule/order/Shards.h"
#include "schedule/simulate/Simulator.h"
#include "schedule/transforms/Recomputed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

namespace {

/// The pipelines that the replicas of all stages form.
struct Pipelines {
  /// [replica][place]: a rank; all replicas have their stages at the same
  /// places.
  std::vector<std::vector<int32_t>> ranks;
  /// [rank]: its place in its pipeline; -1 if it has no stage.
  std::vector<int32_t> placeOf;
};

std::string stageText(int32_t stage) {
  return "stage " + std::to_string(stage);
}

/// `0 2`.
std::string listOf(llvm::ArrayRef<int32_t> numbers) {
  std::string text;
  for (int32_t number : numbers)
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

/// Why the replicas of a stage are not those of a data-parallel pipeline.
std::optional<Fault> findUnlike(const Problem &problem, int32_t stage,
                                const char *who) {
  const ReplicaRange own = problem.replicas.of(stage),
                     first = problem.replicas.of(0);
  const std::string rule =
      std::string("; ") + who +
      " have a stage on one rank, and data parallelism around them repeats "
      "the whole pipeline: ";
  if (own.size() != first.size())
    return failIn(stage, stageText(stage) + " is on " +
                             countOf(own.size(), "rank") + " and stage 0 on " +
                             std::to_string(first.size()) + rule +
                             "put all stages on as many ranks");
  for (const Replica &replica : own)
    if (replica.samples != own.begin()->samples)
      return failIn(stage, stageText(stage) + " gives its replicas " +
                               std::to_string(own.begin()->samples) + " and " +
                               std::to_string(replica.samples) +
                               " samples of each micro-batch" + rule +
                               "give all of them as many");
  const Replica &a = *own.begin(), &b = *first.begin();
  if (a.turns != b.turns)
    return failIn(stage, stageText(stage) +
                             (a.isRoundRobin()
                                  ? " takes whole micro-batches in turn, and "
                                    "stage 0 divides each one"
                                  : " divides each micro-batch, and stage 0 "
                                    "takes whole ones in turn") +
                             rule + "write `round_robin` on all or none");
  return std::nullopt;
}

/// Why the replicas of a stage do not have it where they have an earlier one;
/// empty if they do. Both are on one rank in the first replica or in another.
std::string whyNotTogether(const Problem &problem, int32_t earlier,
                           int32_t stage) {
  const auto rankOf = [&](int32_t of, int32_t replica) {
    return problem.replicas.of(of).begin()[replica].rank;
  };
  const bool areTogether = rankOf(earlier, 0) == rankOf(stage, 0);
  for (int32_t k = 0; k < problem.replicas.of(stage).size(); ++k)
    for (int32_t other = 0; other < problem.replicas.of(stage).size(); ++other)
      if (k != other && rankOf(earlier, k) == rankOf(stage, other))
        return "rank " + std::to_string(rankOf(stage, other)) +
               " has replica " + std::to_string(k) + " of " +
               stageText(earlier) + " and replica " + std::to_string(other) +
               " of " + stageText(stage);
  for (int32_t k = 1; k < problem.replicas.of(stage).size(); ++k)
    if ((rankOf(earlier, k) == rankOf(stage, k)) != areTogether)
      return "replica " + std::to_string(areTogether ? k : 0) + " has " +
             stageText(earlier) + " and " + stageText(stage) +
             " on two ranks, and replica " +
             std::to_string(areTogether ? 0 : k) + " on one";
  return "";
}

/// The fault of a stage whose replicas are not where those of some earlier one
/// are.
Fault apartFault(const Problem &problem, int32_t stage) {
  std::string why;
  for (int32_t earlier = 0; earlier < stage && why.empty(); ++earlier)
    why = whyNotTogether(problem, earlier, stage);
  return failIn(stage, why + "; each replica of the pipeline needs ranks of "
                             "its own, with the same stages together: list "
                             "the ranks of all stages in the same order");
}

Result<Pipelines> findPipelines(const Problem &problem, const char *who) {
  const Replicas &replicas = problem.replicas;
  Pipelines found;
  found.ranks.resize(replicas.of(0).size());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    if (std::optional<Fault> fault = findUnlike(problem, stage, who))
      return std::move(*fault);
    found.ranks[0].push_back(replicas.of(stage).begin()->rank);
  }
  std::vector<int32_t> &places = found.ranks[0];
  llvm::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (size_t k = 1; k < found.ranks.size(); ++k)
    found.ranks[k].assign(places.size(), -1);
  found.placeOf.assign(problem.numRanks(), -1);
  std::vector<size_t> replicaOf(problem.numRanks(), 0);
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const auto place =
        int32_t(llvm::lower_bound(places, replicas.of(stage).begin()->rank) -
                places.begin());
    for (auto [k, replica] : llvm::enumerate(replicas.of(stage))) {
      const int32_t rank = replica.rank, known = found.ranks[k][place];
      const bool isNew = found.placeOf[rank] < 0;
      if ((known >= 0 && known != rank) ||
          (!isNew && (found.placeOf[rank] != place || replicaOf[rank] != k)))
        return apartFault(problem, stage);
      found.ranks[k][place] = rank;
      found.placeOf[rank] = place;
      replicaOf[rank] = k;
    }
  }
  return found;
}

/// Makes a schedule and a problem of the first replica.
class Reduction {
public:
  Reduction(const ExchangedSchedule &given, Pipelines pipelines)
      : given(given), problem(given.problem), pipelines(std::move(pipelines)),
        first(*problem.replicas.of(0).begin()) {}

  std::optional<Fault> checkOrders() const;
  ExchangedSchedule schedule() const;
  std::string note() const;

private:
  int32_t count() const { return int32_t(pipelines.ranks.size()); }
  /// The action of a replica as that of its pipeline alone.
  Action moved(Action action) const {
    action.subject = uint64_t(problem.replicas[action.subject].stage);
    if (action.isTask() || action.traits().isCopy())
      action.index = uint64_t(int64_t(action.index) / first.turns);
    return action;
  }
  std::vector<Action> orderOf(int32_t rank) const {
    std::vector<Action> order;
    for (Action action : given.schedule.rank(rank))
      order.push_back(moved(action));
    return order;
  }
  Problem alone() const;

  const ExchangedSchedule &given;
  const Problem &problem;
  const Pipelines pipelines;
  const Replica &first;
};

} // namespace

/// Fails unless all replicas of the pipeline run the same order.
std::optional<Fault> Reduction::checkOrders() const {
  const int64_t uneven = problem.microbatches % first.turns;
  if (uneven != 0)
    return fail(countOf(problem.microbatches, "micro-batch") +
                " do not divide among " + Twine(first.turns) +
                " replicas; data parallelism gives each as many: let " +
                Twine(problem.microbatches - uneven) + " or " +
                Twine(problem.microbatches - uneven + first.turns) +
                " be in an iteration");
  for (int32_t k = 1; k < count(); ++k)
    for (auto [one, other] :
         llvm::zip_equal(pipelines.ranks[0], pipelines.ranks[k])) {
      const std::vector<Action> mine = orderOf(one), theirs = orderOf(other);
      for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i)
        if (i >= mine.size() || i >= theirs.size() || mine[i] != theirs[i])
          return fail("at position " + Twine(i) + " rank " + Twine(other) +
                      " has other work than rank " + Twine(one) +
                      ", which has the same stages in another replica; data "
                      "parallelism runs one order in all replicas: choose a "
                      "family, or give both ranks one order");
    }
  return std::nullopt;
}

Problem Reduction::alone() const {
  Problem whole = problem;
  if (problem.replicas.areSharded()) {
    whole = withWholeState(problem);
    whole.memoryCaps = problem.memoryCaps;
  }
  Problem one = whole;
  one.microbatches = problem.microbatches / first.turns;
  one.samples = first.samples;
  one.replicas = Replicas();
  one.costs.clear();
  one.recomputation.clear();
  one.hostMemory.loads.clear();
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const int32_t replica = problem.replicas.numberOf(stage);
    one.replicas.addStage(pipelines.placeOf[problem.rankOf(replica)],
                          first.samples);
    const auto *row = &whole.costs[int64_t(replica) * numCostColumns];
    one.costs.insert(one.costs.end(), row, row + numCostColumns);
    if (!problem.recomputation.empty())
      one.recomputation.push_back(problem.recomputation[replica]);
    if (problem.hostMemory.hasCopies())
      one.hostMemory.loads.push_back(problem.hostMemory.loads[replica]);
  }
  llvm::erase_if(one.edges, [&](const Edge &edge) {
    return problem.replicas[edge.from].index > 0 ||
           problem.replicas[edge.to].index > 0;
  });
  for (Edge &edge : one.edges) {
    edge.from = problem.replicas[edge.from].stage;
    edge.to = problem.replicas[edge.to].stage;
  }
  const auto keepRanks = [&](auto &figures) {
    auto all = std::move(figures);
    figures.clear();
    for (int32_t rank : pipelines.ranks[0])
      if (!all.empty())
        figures.push_back(all[rank]);
  };
  keepRanks(one.memoryCaps);
  keepRanks(one.devices);
  keepRanks(one.hosts);
  keepRanks(one.hostMemory.caps);
  keepRanks(one.hostMemory.links);
  keepRanks(one.hostMemory.sharedOf);
  keepRanks(one.nics.ofRank);
  one.links.clear();
  for (auto [from, a] : llvm::enumerate(pipelines.ranks[0]))
    for (auto [to, b] : llvm::enumerate(pipelines.ranks[0]))
      if (auto link = problem.links.find({a, b}); link != problem.links.end())
        one.links[{int32_t(from), int32_t(to)}] = link->second;
  return one;
}

ExchangedSchedule Reduction::schedule() const {
  ExchangedSchedule one = given;
  one.problem = alone();
  one.schedule = Schedule();
  one.schedule.reserve(given.schedule.numActions());
  for (int32_t rank : pipelines.ranks[0]) {
    for (Action action : orderOf(rank))
      one.schedule.append(action);
    one.schedule.endRank();
  }
  for (const auto &[pair, producers] : given.schedule.linkOrders) {
    const auto [from, to] = pair;
    if (!llvm::is_contained(pipelines.ranks[0], from) ||
        !llvm::is_contained(pipelines.ranks[0], to))
      continue;
    std::vector<Action> &order =
        one.schedule
            .linkOrders[{pipelines.placeOf[from], pipelines.placeOf[to]}];
    for (Action producer : producers)
      order.push_back(moved(producer));
  }
  for (auto &[task, next] : one.overlap) {
    task = moved(task);
    next = moved(next);
  }
  one.around.replicas = count();
  return one;
}

std::string Reduction::note() const {
  const std::string part =
      first.isRoundRobin()
          ? "one micro-batch in " + std::to_string(first.turns) + ", " +
                std::to_string(problem.microbatches / first.turns) +
                " an iteration, numbered from 0"
          : std::to_string(first.samples) + " of the " +
                countOf(problem.samples, "sample") + " of a micro-batch";
  return "this is the order of one of " + std::to_string(count()) +
         " replicas of the pipeline, that of " +
         (pipelines.ranks[0].size() == 1 ? "rank " : "ranks ") +
         listOf(pipelines.ranks[0]) + ", which takes " + part +
         "; run it with a data-parallel size of " + std::to_string(count());
}

/// Leaves out gathers and reductions. Fails if stages differ in their shards.
static std::optional<Fault> leaveOutMoves(const Problem &sharded,
                                          ExchangedSchedule &schedule,
                                          std::vector<std::string> &notes) {
  static constexpr const char *parts[] = {
      "", "moments", "gradients and moments", "weights, gradients and moments"};
  Surroundings &around = schedule.around;
  for (int32_t stage = 0; stage < sharded.numStages(); ++stage) {
    const int32_t shards = sharded.replicas.of(stage).begin()->shards;
    if (shards > 1 && around.shards > 1 && shards != around.shards)
      return failIn(stage, stageText(stage) + " keeps its state in " +
                               std::to_string(shards) +
                               " shards, and another stage in " +
                               std::to_string(around.shards) +
                               "; other tools shard all stages alike: write "
                               "the same `sharded` on all");
    around.shards = std::max(around.shards, shards);
    around.sharded.push_back(
        sharded.shardedState(sharded.replicas.numberOf(stage)));
  }
  int64_t moves = 0;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank)
    for (Action action : schedule.schedule.rank(rank))
      moves += action.kind() == ActionKind::Unshard ||
               action.kind() == ActionKind::ReduceGrad;
  schedule.schedule = withoutMoves(schedule.schedule);
  const ShardedState most = *llvm::max_element(around.sharded);
  // Stages by what they shard, most first.
  std::string kept;
  for (int state = int(most); state >= 0; --state) {
    std::string stages;
    int64_t count = 0;
    for (auto [stage, of] : llvm::enumerate(around.sharded))
      if (int(of) == state) {
        stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
        ++count;
      }
    if (count == 0)
      continue;
    kept += kept.empty() ? "" : "; ";
    kept += count == sharded.numStages()
                ? "stages keep"
                : nounFor(count, "stage") + " " + stages +
                      (count == 1 ? " keeps" : " keep");
    kept += count == sharded.numStages() || count > 1 ? " their " : " its ";
    kept += state == 0 ? "state whole"
                       : std::string(parts[state]) + " in " +
                             countOf(around.shards, "shard");
  }
  notes.push_back(kept + "; " + std::to_string(moves) +
                  " gathers and reductions left out: the other tool places its "
                  "own, so its times and "
                  "memory differ from those predicted");
  return std::nullopt;
}

/// Makes recomputation a part of the backward. Fails if R of a stage begins
/// with what R of another makes.
static std::optional<Fault>
leaveOutRecomputation(ExchangedSchedule &schedule, const char *who,
                      std::vector<std::string> &notes) {
  Problem &problem = schedule.problem;
  const int64_t beforeNs = simulate(problem, schedule.schedule).makespanNs;
  std::vector<int32_t> stages;
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    if (problem.recomputesAcross(stage))
      return failIn(stage, stageText(stage) +
                               " recomputes from what another stage "
                               "recomputes (`recompute across`), which takes "
                               "messages of their own; " +
                               who +
                               " recompute a stage from its own input: "
                               "leave out `across`");
    if (problem.recomputes(stage))
      stages.push_back(stage);
    Cost &again = problem.cost(stage, ActionKind::Recompute);
    for (ActionKind kind : {ActionKind::InputGrad, ActionKind::Backward}) {
      Cost &cost = problem.cost(stage, kind);
      cost.ns += again.ns;
      cost.acquireBytes += again.acquireBytes;
      cost.releaseBytes += again.releaseBytes;
    }
    again = Cost();
  }
  schedule.around.recomputation = std::move(problem.recomputation);
  problem.recomputation.clear();
  Schedule without;
  without.reserve(schedule.schedule.numActions());
  int64_t count = 0, early = 0;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    const ActionRange order = schedule.schedule.rank(rank);
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i].kind() != ActionKind::Recompute) {
        without.append(order[i]);
      } else {
        ++count;
        early += i + 1 == order.size() ||
                 order[i + 1].subject != order[i].subject ||
                 order[i + 1].index != order[i].index;
      }
    without.endRank();
  }
  without.linkOrders = std::move(schedule.schedule.linkOrders);
  schedule.schedule = std::move(without);
  notes.push_back(
      countOf(count, "recomputation") + " (R) of " +
      (stages.size() == 1 ? "stage " : "stages ") + listOf(stages) +
      " left out: checkpoint activations there, of the whole stage or of the "
      "layers that `recompute` lists, so that the backward runs the forward "
      "again, once the gradient is there" +
      (schedule.hasTimes
           ? "; predicted " + std::to_string(beforeNs) + " ns before, " +
                 std::to_string(
                     simulate(problem, schedule.schedule).makespanNs) +
                 " ns after"
           : "") +
      (early > 0 ? "; " + std::to_string(early) +
                       " of them came earlier than right before the backward"
                 : ""));
  return std::nullopt;
}

Result<ExchangedSchedule>
exchange::onePipeline(const ExchangedSchedule &given, const char *who,
                      std::vector<std::string> &notes) {
  if (given.problem.iterations > 1)
    return fail("the schedule spans " + Twine(given.problem.iterations) +
                " iterations that may overlap; " + who +
                " drain the pipeline in each: export a schedule of one "
                "iteration");
  ExchangedSchedule one = given;
  const bool isReplicated = given.problem.replicas.isReplicated();
  if (given.problem.isUneven() &&
      (isReplicated || hasRecomputation(given.problem)))
    return fail("micro-batches differ, and stages " +
                Twine(isReplicated ? "have replicas" : "recompute") + "; " +
                who + " have neither: give a problem " +
                (isReplicated ? "of one replica" : "without recomputation") +
                ", or equal micro-batches");
  if (isReplicated) {
    Result<Pipelines> pipelines = findPipelines(given.problem, who);
    if (!pipelines)
      return pipelines.fault();
    const Reduction reduction(given, std::move(*pipelines));
    if (std::optional<Fault> fault = reduction.checkOrders())
      return std::move(*fault);
    one = reduction.schedule();
    notes.push_back(reduction.note());
    if (given.problem.replicas.areSharded())
      if (std::optional<Fault> fault = leaveOutMoves(given.problem, one, notes))
        return std::move(*fault);
  }
  // Messages of R are edges as well, so this comes before the chain.
  if (hasRecomputation(one.problem))
    if (std::optional<Fault> fault = leaveOutRecomputation(one, who, notes))
      return std::move(*fault);
  if (!one.problem.isChain())
    return fail(Twine("the stages are no chain, in which each feeds the next "
                      "alone; ") +
                who + " have chains");
  return one;
}

Result<ShardedState> exchange::stateOfAll(const ExchangedSchedule &schedule,
                                          const char *who) {
  const std::vector<ShardedState> &sharded = schedule.around.sharded;
  for (size_t stage = 1; stage < sharded.size(); ++stage)
    if (sharded[stage] != sharded[0])
      return failIn(int32_t(stage),
                    stageText(int32_t(stage)) +
                        " does not shard its state as stage 0 does; " + who +
                        " shards that of all stages alike: write the same "
                        "`sharded` on all");
  return sharded.empty() ? ShardedState::None : sharded[0];
}

Result<bool> exchange::recomputesBlocks(const ExchangedSchedule &schedule,
                                        const char *who,
                                        std::vector<std::string> &notes) {
  if (schedule.around.recomputation.empty())
    return false;
  if (schedule.layers.empty())
    return fail(Twine("stages recompute, but which of their layers is not "
                      "known; ") +
                who +
                "'s flags are of blocks: export the plan (.mlir) of a model "
                "with an embedding, blocks and a head");
  if (llvm::any_of(schedule.layers, [](const StageLayers &stage) {
        return stage.recomputed > 0;
      }))
    return true;
  notes.push_back(std::string(who) +
                  " recomputes blocks alone, and no block here does");
  return false;
}

int32_t exchange::firstThatKeeps(const ExchangedSchedule &schedule) {
  for (auto [stage, layers] : llvm::enumerate(schedule.layers))
    if (layers.recomputed < layers.blocks)
      return int32_t(stage);
  return -1;
}

std::string exchange::noteOfBlocks(const char *who) {
  return std::string(who) +
         " keeps the input of each block that it recomputes, and recomputes "
         "neither the embedding nor the head; a stage with `recompute` keeps "
         "its own input alone";
}
