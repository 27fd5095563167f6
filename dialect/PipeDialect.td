//===- PipeDialect.td - The pipe dialect -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEDIALECT_TD
#define RONDO_DIALECT_PIPEDIALECT_TD

include "mlir/IR/OpBase.td"

def PipeDialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::rondo::pipe";
  let summary = "pipeline-parallel training: model, plan, schedule, program";
  let description = [{
    One dialect in four phases. *Source*: a `pipe.cluster` and a `pipe.model`.
    *Partitioned*: a `pipe.plan` cuts the model into stages and puts each on a
    rank. *Scheduled*: a `pipe.schedule` says in which order every rank runs its
    tasks. *Lowered*: a `pipe.program` adds messages, collectives, optimizer
    steps and a slot for every buffer.

    Tasks are forward F, input gradient I, weight gradient W and backward B,
    which is I and W as one. Papers on zero-bubble schedules write B for I.

    Orders are stored in `pipe.for` loops; the micro-batch of a task is a sum of
    multiples of loop variables. Op verifiers are local; passes check the rules
    of whole schedules and programs.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// The error for an unknown op suggests the nearest name.
    std::optional<ParseOpHook>
    getParseOperationHook(llvm::StringRef name) const override;
  }];
}

class Pipe_Op<string mnemonic, list<Trait> traits = []>
    : Op<PipeDialect, mnemonic, traits>;

/// The directive that checks the next word of an op's text, see parseNext().
class Pipe_Next<string words, string due> {
  string check = "`` custom<Next>(\"WORDS(" # words # ")\", \"WORDS(" # due # ")\") ";
}

/// The assembly format `text` with a check before each of the `required`
/// words, after the last optional word and after the body. `words` are the words
/// of the op in their order, for the error about one that is not in its place.
class Pipe_InOrder<string words, string text, list<string> required = []> {
  defvar checked = !foldl(text, required, all, word,
      !subst("`" # word # "`", Pipe_Next<words, word>.check # "`" # word # "`", all));
  defvar last = Pipe_Next<words, "">.check;
  string format = !subst("attr-dict", last # "attr-dict", checked)
      # !if(!lt(!find(text, "$body"), 0), "", " " # last);
}

#endif // RONDO_DIALECT_PIPEDIALECT_TD
