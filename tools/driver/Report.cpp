//===- Report.cpp - Errors and figures for people -------------------------===//

#include "tools/driver/Report.h"

#include "tools/driver/Commands.h"

#include "llvm/ADT/ArrayRef.h"
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

/// In the largest unit that the value fills.
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

void reportNote(const Twine &message) {
  outs().flush();
  WithColor::note(errs(), "rondo") << message << "\n";
}

std::string countOf(int64_t count, const char *noun) {
  const char *ending = StringRef(noun).ends_with("ch") ? "es" : "s";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
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

} // namespace rondo::driver
