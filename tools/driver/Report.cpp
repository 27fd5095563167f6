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

std::string whyOtherKind(StringRef path, StringRef text,
                         ArrayRef<formats::FileKind> taken,
                         ArrayRef<formats::FileKind> others) {
  const std::optional<formats::FileKind> kind = formats::fileKindOf(text);
  if (!kind || is_contained(taken, *kind) || is_contained(others, *kind))
    return "";
  const std::string next = formats::nextStep(*kind, path, text);
  if (*kind == formats::FileKind::Gzip)
    return (path + ": the file is compressed; " + next).str();
  std::string wanted;
  for (formats::FileKind each : taken)
    wanted += (wanted.empty() ? "" : " or ") + formats::describe(each).str();
  return (path + ": it is " + formats::describe(*kind) + ", not " + wanted +
          ": " + next)
      .str();
}

int checkFileKind(StringRef path, StringRef text,
                  ArrayRef<formats::FileKind> taken,
                  ArrayRef<formats::FileKind> others) {
  const std::string why = whyOtherKind(path, text, taken, others);
  return why.empty() ? int(Success) : reportError(why);
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

} // namespace rondo::driver
