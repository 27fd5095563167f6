//===- Report.h - Formats errors and figures --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_REPORT_H
#define RONDO_TOOLS_DRIVER_REPORT_H

#include "formats/FileKind.h"
#include "kinds/Counts.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>

namespace rondo::driver {

/// Prints `rondo: error: message`; returns the exit code of a failure.
int reportError(const llvm::Twine &message);
/// The same for an invalid command line.
int reportUsage(const llvm::Twine &message);
/// The same for what is wrong in a file: `path:3:4: error: message` if the
/// message begins with a place, as json::placeIn() writes it, else with the
/// path alone.
int reportFault(llvm::StringRef path, const llvm::Twine &message);
/// The same for a text that a command cannot read as a file of `taken`, one or
/// several kinds. A file that is recognized as another kind is named instead,
/// with the command that reads it.
int reportUnread(llvm::StringRef path, llvm::StringRef text,
                 llvm::ArrayRef<formats::FileKind> taken,
                 const llvm::Twine &message);
/// Which kind a file is recognized as, outside `taken`, with the command that
/// reads it; empty for other files and for `others`, kinds that have an error
/// of their own.
std::string whyOtherKind(llvm::StringRef path, llvm::StringRef text,
                         llvm::ArrayRef<formats::FileKind> taken,
                         llvm::ArrayRef<formats::FileKind> others = {});
/// Reports that; Success, and nothing is printed, if it is empty.
int checkFileKind(llvm::StringRef path, llvm::StringRef text,
                  llvm::ArrayRef<formats::FileKind> taken,
                  llvm::ArrayRef<formats::FileKind> others = {});
void reportNote(const llvm::Twine &message);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_REPORT_H
