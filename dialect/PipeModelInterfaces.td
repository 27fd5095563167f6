//===- PipeModelInterfaces.td - Architectures and layers ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEMODELINTERFACES_TD
#define RONDO_DIALECT_PIPEMODELINTERFACES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/Interfaces.td"

def Pipe_ArchitectureAttrInterface : AttrInterface<"ArchitectureAttrInterface"> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    The sizes of a model of one `embedding`, `block`s and one `head`, and what
    the compiler has to know of them. An architecture is a .td file with its
    attribute, such as Gpt.td, a source with these methods, and its name in the
    list of ModelSyntax.h.
  }];
  let methods = [
    InterfaceMethod<"The word before the sizes, such as `gpt`.",
                    "::llvm::StringRef", "getWord", (ins),
                    [{ return ConcreteAttr::getMnemonic(); }]>,
    InterfaceMethod<"The sizes that all architectures have.",
                    "::rondo::pipe::ModelSizes", "getSizes">,
    InterfaceMethod<"The same with `batch` samples in a micro-batch.",
                    "::rondo::pipe::ArchitectureAttrInterface", "withBatch",
                    (ins "int64_t":$batch)>,
    InterfaceMethod<[{
                      Checks what is special to the architecture. getSizes() has
                      been checked: all are positive and fit 32 bits.
                    }],
                    "::llvm::LogicalResult", "verifyModel",
                    (ins "::mlir::Operation *":$model)>,
    InterfaceMethod<"The weight that embedding and head share if they are tied.",
                    "::llvm::StringRef", "getTiedTensor">,
    InterfaceMethod<"Numbers of a head's query.", "int64_t", "getQueryWidth">,
    InterfaceMethod<"Numbers of a token's keys, which are those of its values.",
                    "int64_t", "getKeysWidth">,
    InterfaceMethod<[{
                      Sets what is special to the architecture, and the kind of a
                      layer with a role.
                    }],
                    "void", "describe",
                    (ins "::rondo::pipe::LayerKind":$kind,
                         "::rondo::runtime::LayerDesc &":$layer)>,
    InterfaceMethod<"Prints `<...>`.", "void", "printSizes",
                    (ins "::mlir::AsmPrinter &":$printer),
                    [{ $_attr.print(printer); }]>,
  ];
}

def Pipe_LayerBodyAttrInterface : AttrInterface<"LayerBodyAttrInterface"> {
  let cppNamespace = "::rondo::pipe";
  let description = [{
    What a layer computes: a role in its model's architecture, or what it states
    of itself.
  }];
  let methods = [
    InterfaceMethod<"The word in the text.", "::rondo::pipe::LayerKind",
                    "getKind">,
    InterfaceMethod<"What it reads from the data set.",
                    "::rondo::pipe::LayerData", "getDataRead">,
    InterfaceMethod<"Whether it writes the loss.", "bool", "hasLoss">,
    InterfaceMethod<"Checks the figures that it states.",
                    "::llvm::LogicalResult", "verifyLayer",
                    (ins "::mlir::Operation *":$layer)>,
  ];
}

#endif // RONDO_DIALECT_PIPEMODELINTERFACES_TD
