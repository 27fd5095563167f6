//===- Figures.cpp - Times, sizes and shares as text ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/Figures.h"

#include "kinds/Counts.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo {

namespace {

struct Unit {
  int64_t size;
  const char *name;
};

/// Uses the largest unit of which the value is at least one.
std::string inUnits(int64_t value, ArrayRef<Unit> units) {
  const Unit *unit = &units.front();
  for (const Unit &larger : units)
    if (value >= larger.size)
      unit = &larger;
  std::string text;
  raw_string_ostream(text) << format("%.3f", double(value) / unit->size);
  StringRef shown = StringRef(text).rtrim('0').rtrim('.');
  return (shown + " " + unit->name).str();
}

} // namespace

std::string formatNs(int64_t ns) {
  return inUnits(ns, {{1, "ns"},
                      {1000, "us"},
                      {1000 * 1000, "ms"},
                      {1000 * 1000 * 1000, "s"}});
}

std::string formatBytes(int64_t bytes) {
  return inUnits(bytes, {{1, "B"},
                         {int64_t(1) << 10, "KiB"},
                         {int64_t(1) << 20, "MiB"},
                         {int64_t(1) << 30, "GiB"}});
}

std::string formatFlops(int64_t flops) {
  return inUnits(flops, {{1, "FLOP"},
                         {1000, "kFLOP"},
                         {1000000, "MFLOP"},
                         {1000000000, "GFLOP"},
                         {1000000000000, "TFLOP"}});
}

static std::string arenaOfDevice(int64_t arena, int64_t device) {
  return formatBytes(arena) +
         (device == noMemoryCap ? "" : " of " + formatBytes(device));
}

std::string fullestArena(ArrayRef<int64_t> arenas, ArrayRef<int64_t> devices) {
  // A hand-written program may have too few.
  if (arenas.empty() || arenas.size() > devices.size())
    return "of " + countOf(arenas.size(), "rank");
  auto fullness = [&](size_t rank) {
    return std::make_pair(double(arenas[rank]) / double(devices[rank]),
                          arenas[rank]);
  };
  size_t fullest = 0;
  for (size_t rank = 1; rank < arenas.size(); ++rank)
    if (fullness(rank) > fullness(fullest))
      fullest = rank;
  return arenaOfDevice(arenas[fullest], devices[fullest]) + " (rank " +
         std::to_string(fullest) + ")";
}

std::string arenasByRank(ArrayRef<int64_t> arenas, ArrayRef<int64_t> devices) {
  std::string text;
  for (auto [arena, device] : zip(arenas, devices))
    text += (text.empty() ? "" : ", ") + arenaOfDevice(arena, device);
  return text;
}

std::string formatPercent(double share) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * share);
  return text;
}

std::string shapeOf(const Problem &problem) {
  return countOf(problem.numRanks(), "rank") + ", " +
         countOf(problem.numStages(), "stage") + ", " +
         microbatchesText(problem);
}

std::string microbatchesText(const Problem &problem) {
  const std::string each = countOf(problem.microbatchesEach(), "micro-batch");
  return problem.iterations == 1
             ? each
             : countOf(problem.iterations, "iteration") + " of " + each;
}

std::string titleOf(const Problem &problem) {
  return problem.name + ": " + countOf(problem.numStages(), "stage") + " on " +
         countOf(problem.numRanks(), "rank") + ", " + microbatchesText(problem);
}

} // namespace rondo
