//===- Alpa.cpp - Alpa's inter-operator program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the paper: of all plans whose slowest stage takes at most a given time,
// take the one with the least sum of stage latencies; of all such times, take
// the one that minimizes this sum plus (micro-batches - 1) times the slowest
// stage. Stages are on sub-meshes of 1, 2, 4, ... devices of a server or on
// whole servers. Different here: a stage is data parallel within its sub-mesh,
// where Alpa runs its intra-operator program. A stage's latency includes its
// share of the sum of gradients and the messages before it. Sub-meshes are
// consecutive in the order of devices by server.
//
//===----------------------------------------------------------------------===//

#include "planning/chain/OrderedGroups.h"
#include "planning/chain/baselines/Planners.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Times of the slowest stage that differ by a smaller factor count as equal.
constexpr double step = 1.005;
constexpr double never = std::numeric_limits<double>::infinity();

class AlpaProgram {
public:
  explicit AlpaProgram(const ChainProblem &problem);
  /// Whether a run takes a few seconds at most.
  bool isSmall() const {
    return static_cast<double>(latencyAt(L, L, meshes.size())) <= 2e7;
  }
  ChainPlan run();

private:
  struct State {
    double sum = never;
    int32_t end = 0, count = 0;
  };
  void listSizes(const std::vector<int32_t> &starts);
  double solve(double slowest);
  ChainPlan plan() const;
  size_t at(int32_t first, int32_t place) const {
    return static_cast<size_t>(first) * (G + 1) + place;
  }
  size_t latencyAt(int32_t first, int32_t end, size_t size) const {
    return (static_cast<size_t>(first) * (L + 1) + end) * meshes.size() + size;
  }

  const ChainCosts costs;
  const int32_t L, G, M;
  const baseline::ServerRow row;
  const ChainProblem &problem;
  /// Sub-meshes by first device; those of a place begin at `meshesFrom[place]`.
  struct Mesh {
    int32_t place, count;
    GroupLink within;
    /// Link from the device before the sub-mesh to all of its devices.
    GroupLink before;
  };
  std::vector<Mesh> meshes;
  std::vector<size_t> meshesFrom;
  /// [first layer][place]: the best stages for the layers and devices from
  /// there on.
  std::vector<State> states;
  std::vector<double> latencies;
};

AlpaProgram::AlpaProgram(const ChainProblem &problem)
    : costs(problem), L(problem.numLayers()), G(problem.numDevices()),
      M(problem.microbatches), row(baseline::devicesByServer(problem)),
      problem(problem) {
  listSizes(row.starts);
}

void AlpaProgram::listSizes(const std::vector<int32_t> &starts) {
  const int32_t *devices = row.devices.data();
  for (int32_t place = 0; place < G; ++place) {
    meshesFrom.push_back(meshes.size());
    const auto next = std::upper_bound(starts.begin(), starts.end(), place);
    std::vector<int32_t> counts;
    for (int32_t count = 1; place + count <= *next; count *= 2)
      counts.push_back(count);
    // A sub-mesh that begins with a server may also consist of whole servers.
    if (*(next - 1) == place)
      for (auto end = next; end != starts.end(); ++end)
        if (std::find(counts.begin(), counts.end(), *end - place) ==
            counts.end())
          counts.push_back(*end - place);
    for (int32_t count : counts) {
      Mesh mesh = {
          place, count, linkWithin(problem, devices + place, count), {}};
      if (place > 0)
        mesh.before = linkBetween(problem, devices + place - 1, 1,
                                  devices + place, count);
      meshes.push_back(mesh);
    }
  }
  meshesFrom.push_back(meshes.size());
}

double AlpaProgram::solve(double slowest) {
  states.assign(at(L, G) + 1, {});
  states[at(L, G)].sum = 0;
  for (int32_t first = L - 1; first >= 0; --first)
    for (int32_t place = G - 1; place >= 0; --place) {
      State &state = states[at(first, place)];
      for (size_t k = meshesFrom[place]; k < meshesFrom[place + 1]; ++k) {
        const Mesh &mesh = meshes[k];
        double messages = 0;
        if (first > 0 && place > 0)
          messages = static_cast<double>(
              costs.messageNs(first, mesh.count, 1, mesh.before.rate,
                              mesh.before.latencyNs) +
              costs.messageNs(first, mesh.count, 1, mesh.before.rateBack,
                              mesh.before.latencyNs));
        if (messages > slowest)
          continue;
        for (int32_t end = first + 1; end <= L; ++end) {
          const double ns = latencies[latencyAt(first, end, k)];
          if (ns > slowest)
            break;
          const double sum =
              ns + messages + states[at(end, place + mesh.count)].sum;
          if (sum < state.sum)
            state = {sum, end, mesh.count};
        }
      }
    }
  return states[at(0, 0)].sum;
}

ChainPlan AlpaProgram::plan() const {
  ChainPlan plan;
  for (int32_t first = 0, place = 0; first < L;) {
    const State &state = states[at(first, place)];
    plan.push_back({first,
                    state.end,
                    {row.devices.begin() + place,
                     row.devices.begin() + place + state.count}});
    first = state.end;
    place += state.count;
  }
  return plan;
}

ChainPlan AlpaProgram::run() {
  latencies.resize(latencyAt(L, L, meshes.size()));
  for (int32_t first = 0; first < L; ++first)
    for (int32_t end = first + 1; end <= L; ++end)
      for (size_t k = 0; k < meshes.size(); ++k) {
        const Mesh &mesh = meshes[k];
        double ns =
            static_cast<double>(costs.forwardNs(first, end, mesh.count) +
                                costs.backwardNs(first, end, mesh.count));
        ns += static_cast<double>(
                  costs.allReduceNs(first, end, mesh.count, mesh.within)) /
              M;
        latencies[latencyAt(first, end, k)] = ns;
      }
  std::vector<double> times(latencies);
  std::sort(times.begin(), times.end());
  ChainPlan best;
  double least = never, last = -1;
  for (double slowest : times) {
    if ((M - 1) * slowest >= least)
      break;
    if (slowest <= last * step)
      continue;
    last = slowest;
    // `step` above the time in the table, so that skipped times are included.
    const double limit = slowest * step, sum = solve(limit);
    if (sum == never || sum + (M - 1) * limit >= least)
      continue;
    least = sum + (M - 1) * limit;
    best = plan();
  }
  return best;
}

} // namespace

BaselinePlan baseline::alpa(const ChainProblem &problem, PlanEvaluator) {
  AlpaProgram program(problem);
  if (!program.isSmall())
    return tooLarge(problem);
  return {program.run(), ""};
}
