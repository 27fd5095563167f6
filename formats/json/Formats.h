//===- Formats.h - The formats whose keys are tables ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_FORMATS_H
#define RONDO_FORMATS_JSON_FORMATS_H

#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a heading with the name of each format and version, and the table of
/// its keys, in Markdown.
void writeFormats(llvm::raw_ostream &os);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_FORMATS_H
