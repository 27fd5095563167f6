//===- Pipe.td - All of the pipe dialect -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPE_TD
#define RONDO_DIALECT_PIPE_TD

include "dialect/PipeDialect.td"
include "dialect/PipeEnums.td"
include "dialect/PipeAttrs.td"
include "dialect/Gpt.td"
include "dialect/Llama.td"
include "dialect/PipeShardAttrs.td"
include "dialect/PipeInterfaces.td"
include "dialect/PipeSourceOps.td"
include "dialect/PipePlanOps.td"
include "dialect/PipeScheduleOps.td"
include "dialect/PipeShardOps.td"
include "dialect/PipeProgramOps.td"

#endif // RONDO_DIALECT_PIPE_TD
