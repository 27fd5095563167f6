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
/// Reports a file that is recognized as a kind outside `taken`; Success, and
/// nothing is printed, for other files and for `others`, kinds that have an
/// error of their own.
int checkFileKind(llvm::StringRef path, llvm::StringRef text,
                  llvm::ArrayRef<formats::FileKind> taken,
                  llvm::ArrayRef<formats::FileKind> others = {});
void reportNote(const llvm::Twine &message);

/// `12 ns`, `3.5 us`, `1.25 ms`, `2 s`: up to three decimals.
std::string formatNs(int64_t ns);
/// `12 FLOP`, `3.5 GFLOP`: up to three decimals.
std::string formatFlops(int64_t flops);
/// `12 B`, `3.5 KiB`, `1.25 MiB`, `2 GiB`.
std::string formatBytes(int64_t bytes);

/// The rank with the least room, `26.1 MiB of 64 MiB (rank 0)`, given arenas
/// and their devices' memory, which is noMemoryCap if unlimited.
std::string fullestArena(llvm::ArrayRef<int64_t> arenas,
                         llvm::ArrayRef<int64_t> devices);
/// `26.1 MiB of 64 MiB, 20 MiB of 64 MiB`.
std::string arenasByRank(llvm::ArrayRef<int64_t> arenas,
                         llvm::ArrayRef<int64_t> devices);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_REPORT_H
