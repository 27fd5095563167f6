//===- LayoutTable.cpp - Layouts of a model on device groups --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/LayoutTable.h"

#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rondo {

double LayoutContext::peak() const {
  return double(machines.device.flopsPerUs[0]) * 1e6 *
         double(machines.devices());
}

double LayoutContext::operations(int64_t samples) const {
  return groups::flopsOfToken(model) * double(model.sequence) * double(samples);
}

namespace {

std::string percent(double share) {
  return formatv("{0:f1} %", share * 100).str();
}

std::string stateText(int zero) {
  return zero == 0 ? "whole" : "ZeRO-" + std::to_string(zero);
}

std::string recomputeText(const groups::Layout &layout) {
  switch (layout.recompute) {
  case groups::Recompute::None:
    return "none";
  case groups::Recompute::Selective:
    return "selective";
  case groups::Recompute::Full:
    return "full";
  case groups::Recompute::Layers:
    return std::to_string(layout.recomputedLayers) + " layers";
  case groups::Recompute::NormsAndActivations:
    return "norms, activations";
  case groups::Recompute::PerOperation:
    return "per operation";
  }
  return "";
}

std::string seconds(double time) { return formatNs(int64_t(time * 1e9)); }

/// Cells from the micro-batches on.
std::vector<std::string> cellsOf(const LayoutContext &context,
                                 const groups::Layout &layout,
                                 const groups::IterationTime &time,
                                 const groups::DeviceMemory &memory) {
  const double tokens =
      double(context.model.sequence) * double(layout.globalBatch);
  const groups::LargestPart part = groups::largestPart(time);
  return {std::to_string(layout.microbatches()) + " of " +
              std::to_string(layout.microbatch),
          layout.pipeline == 1 ? "-"
          : layout.isBalanced  ? "by work"
                               : "even",
          stateText(layout.zero),
          recomputeText(layout),
          seconds(time.total),
          formatv("{0:f0}", tokens / time.total).str(),
          percent(context.operations(layout.globalBatch) /
                  (context.peak() * time.total)),
          formatBytes(int64_t(memory.total())) + " of " +
              formatBytes(context.machines.device.memoryBytes),
          std::string(part.name) + ", " + percent(part.share)};
}

} // namespace

void printLayouts(raw_ostream &os, const LayoutContext &context,
                  ArrayRef<groups::FoundLayout> layouts) {
  Table table;
  table.add({"layout", "micro-batches", "cut", "state", "recompute", "time",
             "tokens/s", "MFU", "memory", "most besides work"});
  for (const groups::FoundLayout &found : layouts) {
    std::vector<std::string> row = {found.layout.text()};
    for (std::string &cell :
         cellsOf(context, found.layout, found.time, found.memory))
      row.push_back(std::move(cell));
    table.add(std::move(row));
  }
  table.print(os);
}

void printChanges(raw_ostream &os, const LayoutContext &context, double time,
                  ArrayRef<groups::Change> changes) {
  Table table;
  table.add({"change", "time", "gain", "memory"});
  for (const groups::Change &change : changes)
    table.add({change.what, seconds(change.time.total),
               percent(1 - change.time.total / time),
               formatBytes(int64_t(change.memory.total())) + " of " +
                   formatBytes(context.machines.device.memoryBytes)});
  table.print(os);
}

} // namespace rondo
