//===- PipeInterfaces.td - What tasks and messages share ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEINTERFACES_TD
#define RONDO_DIALECT_PIPEINTERFACES_TD

include "mlir/IR/Interfaces.td"

def Pipe_ActionOpInterface : OpInterface<"ActionOpInterface"> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    One action of a rank. Its traits are in `kinds/Actions.h`.
  }];
  let methods = [
    InterfaceMethod<"What it does.", "::rondo::ActionKind", "getActionKind">,
  ];
}

def Pipe_TaskOpInterface
    : OpInterface<"TaskOpInterface", [Pipe_ActionOpInterface]> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    A task, a send or a receive: a kind, a stage of the plan and a micro-batch,
    which is an affine map of enclosing loop variables with one result.
  }];
  let methods = [
    InterfaceMethod<"The stage, by its name in the plan.",
                    "::mlir::FlatSymbolRefAttr", "getStageAttr">,
    InterfaceMethod<"Which of the stage's homes; null: the one on the rank.",
                    "::mlir::IntegerAttr", "getReplicaAttr">,
    InterfaceMethod<"The micro-batch as a map of the loop variables.",
                    "::mlir::AffineMap", "getMap">,
    InterfaceMethod<"The loop variables.", "::mlir::OperandRange",
                    "getIndices">,
  ];
  let verify = [{ return ::rondo::pipe::detail::verifyTask($_op); }];
}

#endif // RONDO_DIALECT_PIPEINTERFACES_TD
