//===- Gpt.td - The sizes of a GPT -------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_GPT_TD
#define RONDO_DIALECT_GPT_TD

include "dialect/PipeAttrs.td"

def Pipe_GptAttr : Pipe_StructAttr<"Gpt", "gpt",
    [DeclareAttrInterfaceMethods<Pipe_ArchitectureAttrInterface>]> {
  let summary = "sizes of a GPT";
  let description = [{
    `batch` is the number of samples of one micro-batch; `tied`: the head shares
    the weight of the token embedding.
  }];
  let parameters = (ins Pipe_Number:$vocab, Pipe_Number:$sequence,
      Pipe_Number:$hidden, Pipe_Number:$heads, Pipe_Number:$ffn, Pipe_Number:$batch,
      Pipe_BoolParameter:$tied);
}

#endif // RONDO_DIALECT_GPT_TD
