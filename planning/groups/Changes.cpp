//===- Changes.cpp - Changes of a run by their gain -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Changes.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace rondo::groups {

namespace {

class ChangeSearch {
public:
  ChangeSearch(const Run &run, const Machines &machines,
               const Constants &constants, double memoryBytes)
      : run(run), machines(machines), constants(constants),
        memoryBytes(memoryBytes),
        least(GroupCosts(run.model, machines, run.layout, run.execution,
                         constants, run.stageLayers)
                  .iterationTime()
                  .total) {}

  std::vector<Change> find();

private:
  void tryRun(const std::string &what, Run changed);
  /// Tries values of a degree; replicas fill or free the devices.
  void tryDegree(const char *name, int64_t Layout::*degree, int64_t most);
  void tryNumber(const char *name, int64_t Layout::*number, int64_t most);
  void tryFlag(const char *name, bool Execution::*flag);
  void tryState();
  void finishDecision();

  const Run &run;
  const Machines &machines;
  const Constants &constants;
  const double memoryBytes;
  const double least;
  std::optional<Change> best;
  std::vector<Change> found;
};

void ChangeSearch::tryRun(const std::string &what, Run changed) {
  const Layout &layout = changed.layout;
  changed.execution = effective(changed.execution, layout);
  if (!fault(run.model, layout).empty() ||
      layout.devices() != machines.devices())
    return;
  const GroupCosts costs(run.model, machines, layout, changed.execution,
                         constants, changed.stageLayers);
  const DeviceMemory memory = costs.memory();
  if (memory.total() > memoryBytes)
    return;
  const IterationTime time = costs.iterationTime();
  if (time.total < (best ? best->time.total : least))
    best = {what, changed, time, memory};
}

std::string instead(const char *name, int64_t value, int64_t old) {
  return std::string(name) + ": " + std::to_string(value) + " instead of " +
         std::to_string(old);
}

void ChangeSearch::tryDegree(const char *name, int64_t Layout::*degree,
                             int64_t most) {
  const Layout &layout = run.layout;
  const int64_t old = layout.*degree;
  const int64_t both = old * layout.data;
  for (int64_t value = 1; value <= std::min(most, both); ++value) {
    if (value == old || both % value != 0)
      continue;
    Run changed = run;
    changed.layout.*degree = value;
    changed.layout.data = both / value;
    changed.layout.sequenceParallel =
        changed.layout.tensor > 1 &&
        (layout.sequenceParallel || layout.tensor == 1);
    if (changed.layout.pipeline == 1)
      changed.layout.chunks = 1;
    changed.stageLayers.clear();
    tryRun(instead(name, value, old) + ", and " +
               std::to_string(changed.layout.data) + " replicas instead of " +
               std::to_string(layout.data),
           changed);
  }
  finishDecision();
}

void ChangeSearch::tryNumber(const char *name, int64_t Layout::*number,
                             int64_t most) {
  for (int64_t value = 1; value <= most; ++value) {
    if (value == run.layout.*number)
      continue;
    Run changed = run;
    changed.layout.*number = value;
    changed.stageLayers.clear();
    tryRun(instead(name, value, run.layout.*number), changed);
  }
  finishDecision();
}

void ChangeSearch::tryFlag(const char *name, bool Execution::*flag) {
  if (run.execution.*flag)
    return;
  Run changed = run;
  changed.execution.*flag = true;
  tryRun(name, changed);
  finishDecision();
}

void ChangeSearch::tryState() {
  static const char *const names[] = {"whole", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
  for (int zero = 0; zero < 4; ++zero) {
    const bool isFsdp = run.execution.stack == Stack::Fsdp;
    if (zero == run.layout.zero || isFsdp != (zero > 1))
      continue;
    Run changed = run;
    changed.layout.zero = zero;
    tryRun(std::string("state of replicas: ") + names[zero] + " instead of " +
               names[run.layout.zero],
           changed);
  }
  finishDecision();
}

void ChangeSearch::finishDecision() {
  if (best)
    found.push_back(std::move(*best));
  best.reset();
}

std::vector<Change> ChangeSearch::find() {
  const Transformer &model = run.model;
  const Layout &layout = run.layout;
  tryDegree("devices of a tensor group", &Layout::tensor,
            std::min<int64_t>(machines.domain, 8));
  tryDegree("devices of a context group", &Layout::context,
            std::max<int64_t>(1, model.sequence / 2048));
  tryDegree("ranks of the pipeline", &Layout::pipeline, model.layers);
  tryNumber("pipeline stages of a rank", &Layout::chunks,
            layout.pipeline > 1 ? model.layers / layout.pipeline : 1);
  tryNumber("samples of a micro-batch", &Layout::microbatch, 16);
  if (model.experts)
    tryNumber("devices of an expert group", &Layout::expert,
              model.experts->count);
  tryState();
  if (layout.recompute != Recompute::None) {
    Run changed = run;
    changed.layout.recompute = Recompute::None;
    changed.layout.recomputedLayers = 0;
    tryRun("recomputation: nothing", changed);
    if (layout.recompute == Recompute::Full) {
      changed.layout.recompute = Recompute::Selective;
      tryRun("recomputation: selective instead of all", changed);
    }
    finishDecision();
  }
  if (!layout.isBalanced && layout.pipeline > 1) {
    Run changed = run;
    changed.layout.isBalanced = true;
    changed.stageLayers.clear();
    tryRun("layers cut by work, with fewer on the rank of the head", changed);
    finishDecision();
  }
  if (layout.tensor > 1)
    tryFlag("messages of tensor groups overlap products",
            &Execution::overlapsTensor);
  tryFlag("sums of gradients overlap the last backward",
          &Execution::overlapsData);
  if (layout.expert > 1)
    tryFlag("messages to experts overlap another micro-batch",
            &Execution::overlapsExperts);
  std::sort(found.begin(), found.end(), [](const Change &a, const Change &b) {
    return a.time.total < b.time.total;
  });
  return std::move(found);
}

} // namespace

std::vector<Change> bestChanges(const Run &run, const Machines &machines,
                                const Constants &constants, double memoryBytes,
                                size_t count) {
  std::vector<Change> found =
      ChangeSearch(run, machines, constants, memoryBytes).find();
  if (found.size() > count)
    found.erase(found.begin() + int64_t(count), found.end());
  return found;
}

} // namespace rondo::groups
