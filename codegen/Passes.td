//===- Passes.td - From programs to C++ --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PASSES_TD
#define RONDO_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCpp : Pass<"pipe-emit-cpp", "::mlir::ModuleOp"> {
  let summary = "print a schedule's programs as one C++ executable";
  let description = [{
    Prints C++ on the standard output: the constant tables of
    runtime/rondo_runtime.h, a function for each group of ranks that run the same
    code, and main(). Loops remain loops. Numbers that differ between the ranks of
    a group are parameters, in a constant row per rank. The module stays; `-o
    /dev/null` leaves it out of the output.

    The module must have passed `pipe-verify-lowered`. `schedule` names the
    `pipe.executable` or the schedule to emit; the default is the first executable
    in the file, or the first schedule if there is none. An executable has a
    pipeline for each of its schedules, and a sequential reference and an
    evaluation for each number and size of micro-batches. Program 0 is a
    reference. The program compiles only against a runtime with the same version
    of the tables.

    Code generation decides nothing: the order, the messages and the memory are
    the program's.
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", /*default=*/"\"\"",
           "the executable or schedule to emit (default: the first in the file)">,
    Option<"backend", "backend", "std::string", /*default=*/"\"\"",
           "the runtime's object that makes devices and transports (default: by "
           "the plan's target)">,
    Option<"imposesLinks", "impose-links", "bool", /*default=*/"false",
           "the program can impose links; an adaptive executable always can">
  ];
}

#endif // RONDO_CODEGEN_PASSES_TD
