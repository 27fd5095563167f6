//===- TorchTrace.h - Iterations in PyTorch's traces ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same ranges of PyTorch's profiler as in TraceReader.h, with their times.
// They are tasks alone: what a rank waited for is not in such a trace.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_TORCHTRACE_H
#define RONDO_FORMATS_JSON_TORCHTRACE_H

#include "schedule/model/Fault.h"
#include "schedule/timeline/Measured.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo::json {

/// Traces by rank, of clocks that show the same time. A rank's n-th range of a
/// name belongs to the n-th iteration; of iterations at the end that are not
/// whole nothing is kept. An error is one sentence that names the trace.
Result<MeasuredRun> readTorchTraces(llvm::ArrayRef<std::string> names,
                                    llvm::ArrayRef<llvm::StringRef> texts);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TORCHTRACE_H
