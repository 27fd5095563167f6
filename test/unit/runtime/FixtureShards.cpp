//===- FixtureShards.cpp - Stages with several replicas -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ActList.h"

#include "runtime/bodies/tensors.h"
#include "runtime/model/stage_sizes.h"

#include <algorithm>
#include <map>
#include <set>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// The tied tensor in a stage's weights, in elements, and a replica's shard.
struct TiedPlace {
  int64_t begin = 0, count = 0, shard = 0;

  /// The tensor's element at a border of shards.
  int64_t border(int64_t number) const {
    return std::clamp<int64_t>(number * shard - begin, 0, count);
  }
};

TiedPlace tiedPlace(const Spec &spec, int firstLayer, int numLayers) {
  TiedPlace place;
  int64_t offset = 0;
  for (int l = 0; l < numLayers; ++l) {
    const LayerDesc &layer = spec.layers[firstLayer + l];
    for (const LayerTensor &tensor : layerTensors(layer)) {
      const std::string shared = tensor.sharedWith ? tensor.sharedWith : "";
      if (shared != "wte.weight" && tensorName(tensor) != "wte.weight")
        continue;
      place.begin = offset / 4 + tensor.offset;
      place.count = tensor.count;
    }
    offset += layerSizes(layer).gradients;
  }
  place.shard = rondo::elementsOfShard(offset / 4, spec.sharding.shards);
  return place;
}

/// A sum for each range that one replica of either stage's groups has.
void addTied(const Spec &spec, std::vector<Collective> &all) {
  const int shards = spec.sharding.shards, replicas = spec.sharding.replicas;
  const int last = static_cast<int>(spec.layersOfStage.size()) - 1;
  const int lastLayers = spec.layersOfStage[last];
  const TiedPlace places[] = {
      tiedPlace(spec, 0, spec.layersOfStage[0]),
      tiedPlace(spec, static_cast<int>(spec.layers.size()) - lastLayers,
                lastLayers)};
  const int stages[] = {0, last};
  std::set<int64_t> borders;
  for (const TiedPlace &place : places)
    for (int p = 0; p <= shards; ++p)
      borders.insert(place.border(p));
  for (auto it = borders.begin(); std::next(it) != borders.end(); ++it) {
    Collective sum{
        CollectiveKind::TiedGradients, {}, *it, *std::next(it) - *it};
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < replicas; ++j)
        if (const int p = j % shards; places[k].border(p) <= *it &&
                                      *std::next(it) <= places[k].border(p + 1))
          sum.replicas.push_back(stages[k] * replicas + j);
    all.push_back(sum);
  }
}

bool isTask(const Act &act) { return act.kind <= Act::R; }

/// Inserts what moves state into a list of replicas.
class ShardWriter {
public:
  ShardWriter(const Sharding &how, const std::vector<Collective> &all,
              std::vector<Act> plain)
      : how(how), all(all), plain(std::move(plain)) {
    for (const Act &act : this->plain)
      if (isTask(act))
        here.insert(act.stage);
    findRuns();
  }

  std::vector<Act> write(bool trains) {
    size_t run = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      const Act &act = plain[i];
      if (how.shards == 1 || !isTask(act)) {
        list.push_back(act);
        continue;
      }
      if (run < runs.size() && runs[run].first == i) {
        gather(run);
        list.push_back({Act::Await,
                        find(CollectiveKind::GatherWeights, act.stage),
                        gathers[act.stage] - 1});
        if (how.isEarly && run + 1 < runs.size() &&
            replicaOf(run + 1) != act.stage)
          gather(run + 1);
      }
      list.push_back(act);
      if (run < runs.size() && runs[run].second == i) {
        list.push_back({Act::Reshard, act.stage, gathered[act.stage]});
        ++run;
      }
      if (trains && (act.kind == Act::B || act.kind == Act::W))
        madeGradients(act.stage);
    }
    for (int64_t replica : here)
      awaitSum(replica);
    return list;
  }

private:
  int64_t replicaOf(size_t run) const { return plain[runs[run].first].stage; }
  int64_t groupOf(int64_t replica) const {
    return replica - replica % how.shards;
  }
  int64_t find(CollectiveKind kind, int64_t replica) const {
    for (size_t c = 0; c < all.size(); ++c)
      if (all[c].kind == kind && all[c].replicas[0] == groupOf(replica))
        return static_cast<int64_t>(c);
    return -1;
  }
  /// The first and the last task that a gather serves.
  void findRuns() {
    for (size_t i = 0, tasks = 0; i < plain.size(); ++i) {
      if (!isTask(plain[i]))
        continue;
      const bool goesOn = !runs.empty() &&
                          replicaOf(runs.size() - 1) == plain[i].stage &&
                          tasks < static_cast<size_t>(how.tasksEach);
      if (!goesOn) {
        runs.push_back({i, i});
        tasks = 0;
      }
      runs.back().second = i;
      ++tasks;
    }
  }
  void gather(size_t run) {
    if (!begun.insert(run).second)
      return;
    const int64_t replica = replicaOf(run);
    gathered[replica] = gathers[replica]++;
    list.push_back({Act::Unshard, replica, gathered[replica]});
  }
  /// All replicas of a group that are here reduce together.
  void madeGradients(int64_t replica) {
    ++made[replica];
    std::vector<int64_t> group;
    for (int64_t h = groupOf(replica); h < groupOf(replica) + how.shards; ++h)
      if (here.count(h))
        group.push_back(h);
    for (int64_t h : group)
      if (made[h] < (sums[h] + 1) * how.unit)
        return;
    for (int64_t h : group) {
      awaitSum(h);
      list.push_back({Act::Reduce, h, sums[h]++});
      open.insert(h);
    }
    if (!how.isLate)
      for (int64_t h : group)
        awaitSum(h);
  }
  void awaitSum(int64_t replica) {
    if (open.erase(replica))
      list.push_back({Act::Await,
                      find(CollectiveKind::ScatterGradients, replica),
                      sums[replica] - 1});
  }

  const Sharding how;
  const std::vector<Collective> &all;
  const std::vector<Act> plain;
  std::vector<Act> list;
  std::set<int64_t> here, open;
  std::vector<std::pair<size_t, size_t>> runs;
  std::set<size_t> begun;
  std::map<int64_t, int64_t> gathers, gathered, made, sums;
};

} // namespace

std::vector<Collective>
rondo::runtime::test::shardedCollectives(const Spec &spec) {
  const int shards = spec.sharding.shards, replicas = spec.sharding.replicas;
  const auto stages = static_cast<int32_t>(spec.layersOfStage.size());
  std::vector<Collective> all;
  auto replicasOf = [&](int32_t first, int count, int step) {
    std::vector<int32_t> list;
    for (int i = 0; i < count; ++i)
      list.push_back(first + i * step);
    return list;
  };
  for (int32_t first = 0; shards > 1 && first < stages * replicas;
       first += shards)
    for (CollectiveKind kind :
         {CollectiveKind::GatherWeights, CollectiveKind::ScatterGradients})
      all.push_back({kind, replicasOf(first, shards, 1)});
  for (int32_t s = 0; replicas > shards && s < stages; ++s)
    for (int32_t p = 0; p < shards; ++p)
      all.push_back({CollectiveKind::ReplicaGradients,
                     replicasOf(s * replicas + p, replicas / shards, shards)});
  if (isTied(spec))
    addTied(spec, all);
  all.push_back(
      {CollectiveKind::GradientNorm, replicasOf(0, stages * replicas, 1)});
  return all;
}

Lists rondo::runtime::test::shardedLists(const Spec &spec, const Lists &lists,
                                         const std::vector<int> &ranks,
                                         const std::vector<Collective> &all,
                                         bool trains) {
  const int replicas = spec.sharding.replicas;
  const bool isOnOne = numRanks(ranks) == 1;
  Lists result;
  for (int r = 0; r < numRanks(ranks); ++r) {
    std::vector<Act> plain;
    for (Act act : lists[isOnOne ? 0 : r / replicas]) {
      if (act.kind == Act::AllReduce || act.kind == Act::Step)
        continue;
      for (int j = 0; j < replicas; ++j) {
        Act own = act;
        own.stage = act.stage * replicas + j;
        if (isOnOne || j == r % replicas)
          plain.push_back(own);
      }
    }
    std::vector<Act> list =
        ShardWriter(spec.sharding, all, plain).write(trains);
    for (size_t c = 0; trains && c < all.size(); ++c) {
      const bool takesPart =
          std::any_of(all[c].replicas.begin(), all[c].replicas.end(),
                      [&](int32_t replica) { return ranks[replica] == r; });
      if (takesPart && !rondo::movesState(all[c].kind))
        list.push_back({Act::AllReduce, static_cast<int64_t>(c)});
    }
    for (size_t h = 0; trains && spec.steps && h < ranks.size(); ++h)
      if (ranks[h] == r)
        list.push_back({Act::Step, static_cast<int64_t>(h)});
    result.push_back(list);
  }
  return result;
}
