//===- Report.cpp - Formats errors and figures ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Report.h"

#include "formats/json/Value.h"
#include "schedule/model/Problem.h"
#include "tools/driver/Commands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo::driver {

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

int reportError(const Twine &message) {
  outs().flush();
  WithColor::error(errs(), "rondo") << message << "\n";
  return Failure;
}

int reportUsage(const Twine &message) {
  reportError(message);
  return Usage;
}

int reportFault(StringRef path, const Twine &message) {
  const std::string whole = message.str();
  StringRef what = whole;
  const std::optional<json::TextPlace> place = json::takePlace(what);
  if (!place)
    return reportError(path + ": " + what);
  outs().flush();
  // As MLIR names it.
  WithColor::error(errs(), ((path == "-" ? "<stdin>" : path) + ":" +
                            Twine(place->line) + ":" + Twine(place->column))
                               .str())
      << what << "\n";
  return Failure;
}

int checkFileKind(StringRef path, StringRef text,
                  ArrayRef<formats::FileKind> taken,
                  ArrayRef<formats::FileKind> others) {
  const std::optional<formats::FileKind> kind = formats::fileKindOf(text);
  if (!kind || is_contained(taken, *kind) || is_contained(others, *kind))
    return Success;
  if (*kind == formats::FileKind::Gzip)
    return reportError(path + ": the file is compressed; " +
                       formats::nextStep(*kind, path, text));
  std::string wanted;
  for (formats::FileKind each : taken)
    wanted += (wanted.empty() ? "" : " or ") + formats::describe(each).str();
  return reportError(path + ": it is " + formats::describe(*kind) + ", not " +
                     wanted + ": " + formats::nextStep(*kind, path, text));
}

int reportUnread(StringRef path, StringRef text,
                 ArrayRef<formats::FileKind> taken, const Twine &message) {
  if (int code = checkFileKind(path, text, taken))
    return code;
  return reportFault(path, message);
}

void reportNote(const Twine &message) {
  outs().flush();
  WithColor::note(errs(), "rondo") << message << "\n";
}

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

} // namespace rondo::driver
