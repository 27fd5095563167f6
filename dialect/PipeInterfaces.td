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

def Pipe_IndexedOpInterface
    : OpInterface<"IndexedOpInterface", [Pipe_ActionOpInterface]> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    An action with a number, of a micro-batch or of an iteration: an affine map
    of enclosing loop variables with one result.
  }];
  let methods = [
    InterfaceMethod<"The number as a map of the loop variables.",
                    "::mlir::AffineMap", "getMap">,
    InterfaceMethod<"The loop variables.", "::mlir::OperandRange",
                    "getIndices">,
  ];
  let verify = [{ return ::rondo::pipe::detail::verifyIndex($_op); }];
}

def Pipe_ReplicaOpInterface
    : OpInterface<"ReplicaOpInterface", [Pipe_IndexedOpInterface]> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    An action of a replica of a stage, or a message that one makes: a task, a
    step, a move of sharded state, a send or a receive.
  }];
  let methods = [
    InterfaceMethod<"The stage, by its name in the plan.",
                    "::mlir::FlatSymbolRefAttr", "getStageAttr">,
    InterfaceMethod<"Which of the stage's replicas; null: the one on the rank.",
                    "::mlir::IntegerAttr", "getReplicaAttr">,
  ];
}

#endif // RONDO_DIALECT_PIPEINTERFACES_TD
