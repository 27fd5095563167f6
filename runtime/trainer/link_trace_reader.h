//===- link_trace_reader.h - Traces of links, CSV or JSON lines -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_LINK_TRACE_READER_H
#define RONDO_RUNTIME_TRAINER_LINK_TRACE_READER_H

#include "runtime/transport/link_trace.h"

#include <cstdint>
#include <string>

namespace rondo::runtime {

/// Reads a link trace (docs/processes.md): CSV, or JSON lines if its first
/// character is a brace. `path` begins its errors. `ranks`: of the program.
/// `period`: in ms or iterations, what the trace goes by; 0: it is not
/// repeated. Throws Error.
LinkTrace parseLinkTrace(const std::string &text, const std::string &path,
                         int32_t ranks, int64_t period);
LinkTrace readLinkTrace(const std::string &path, int32_t ranks, int64_t period);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LINK_TRACE_READER_H
