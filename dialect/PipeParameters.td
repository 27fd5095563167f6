//===- PipeParameters.td - Parameters of attributes -*- tablegen -*--------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEPARAMETERS_TD
#define RONDO_DIALECT_PIPEPARAMETERS_TD

include "dialect/PipeEnums.td"
include "mlir/IR/AttrTypeBase.td"

class Pipe_OrElse<string value> : DefaultValuedParameter<"int64_t", value>;

/// 0 where it is left out.
class Pipe_AtLeast<int least, string what, string without>
    : Pipe_OrElse<"0"> {
  let parser = "parseAtLeast($_parser, " # least # ", \"" # what # "\", \"" #
               without # "\")";
}

def Pipe_BoolParameter : DefaultValuedParameter<"bool", "false"> {
  let parser = "parseBool($_parser)";
  let printer = "$_printer << ($_self ? \"true\" : \"false\")";
}

/// `[1, 2]`; left out if empty.
def Pipe_NumbersParameter : OptionalArrayRefParameter<"int64_t"> {
  let parser = "parseNumbers($_parser)";
  let printer = "printNumbers($_printer, $_self)";
}

/// A keyword of an enum as a field of a struct.
class Pipe_WordParameter<EnumInfo info> : EnumParameter<info> {
  let parser = "parseWord<" # info.cppNamespace # "::" # info.className #
               ">($_parser)";
  let printer = "printWord($_printer, $_self)";
}

/// A whole number or one with a point, which is printed with one.
class Pipe_RealOrElse<string value>
    : DefaultValuedParameter<"::llvm::APFloat", "::llvm::APFloat(" # value # ")"> {
  let parser = "parseReal($_parser)";
  let printer = "$_printer.printFloat($_self)";
}
def Pipe_Real : AttrOrTypeParameter<"::llvm::APFloat", ""> {
  let parser = "parseReal($_parser)";
  let printer = "$_printer.printFloat($_self)";
}

#endif // RONDO_DIALECT_PIPEPARAMETERS_TD
