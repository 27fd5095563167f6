//===- PipeParameters.td - Parameters of attributes -*- tablegen -*--------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_PIPEPARAMETERS_TD
#define RONDO_DIALECT_PIPEPARAMETERS_TD

include "dialect/PipeEnums.td"
include "mlir/IR/AttrTypeBase.td"

/// A whole number.
def Pipe_Number : AttrOrTypeParameter<"int64_t", ""> {
  let parser = "parseNumber($_parser)";
  let printer = "$_printer << $_self";
}

class Pipe_OrElse<string value> : DefaultValuedParameter<"int64_t", value> {
  let parser = Pipe_Number.parser;
  let printer = Pipe_Number.printer;
}

/// A whole number that may be left out.
def Pipe_MaybeNumber
    : DefaultValuedParameter<"std::optional<int64_t>", "std::nullopt"> {
  let parser = "parseMaybeNumber($_parser)";
  let printer = "$_printer << *$_self";
}

/// A text in quotes.
def Pipe_Text : StringRefParameter<> {
  let parser = "parseText($_parser)";
}

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

/// `[1, 2]`, where it is written one or more.
def Pipe_SamplesParameter : OptionalArrayRefParameter<"int64_t"> {
  let parser = "parseSamples($_parser)";
  let printer = "printNumbers($_printer, $_self)";
}

/// `[1, 2]`; left out if empty.
def Pipe_NumbersParameter : OptionalArrayRefParameter<"int64_t"> {
  let parser = "parseNumbers($_parser)";
  let printer = "printNumbers($_printer, $_self)";
}

/// `[data<name = ..., ...>, ...]`; left out if empty.
def Pipe_StreamsParameter : OptionalArrayRefParameter<"StreamAttr"> {
  let parser = "parseStructs<StreamAttr>($_parser)";
  let printer = "printStructs($_printer, $_self)";
}

/// `[part<name = ..., ...>, ...]`; left out if empty.
def Pipe_PartsParameter : OptionalArrayRefParameter<"SavedPartAttr"> {
  let parser = "parseStructs<SavedPartAttr>($_parser)";
  let printer = "printStructs($_printer, $_self)";
}

/// Has another key in earlier modules.
class Pipe_EarlierKey<string key> {
  string earlierKey = key;
}

/// `1`, or `[1, 2]`; 0 if it is left out.
class Pipe_TimesParameter<string earlier>
    : ArrayRefParameter<"int64_t">, Pipe_EarlierKey<earlier> {
  let parser = "parseTimes($_parser)";
  let printer = "printCounts($_printer, $_self)";
  let defaultValue = "noTime";
}

/// `1`, or `[1, 2]`; 0 if it is left out.
def Pipe_SizesParameter
    : ArrayRefParameter<"int64_t", "a number, or one for each of `samples`"> {
  let parser = "parseTimes($_parser)";
  let printer = "printCounts($_printer, $_self)";
  let defaultValue = "noTime";
}

/// `1`, or `[1, 2]`.
def Pipe_Sizes
    : ArrayRefParameter<"int64_t", "a number, or one for each of `samples`"> {
  let parser = "parseTimes($_parser)";
  let printer = "printCounts($_printer, $_self)";
}

/// `1`, or `[1, 2]`, one for each micro-batch.
def Pipe_ByMicrobatch
    : ArrayRefParameter<"int64_t", "a number, or one for each micro-batch"> {
  let parser = "parseByMicrobatch($_parser)";
  let printer = "printCounts($_printer, $_self)";
}

/// The same; 0 if it is left out.
def Pipe_ByMicrobatchOrZero
    : ArrayRefParameter<"int64_t", "a number, or one for each micro-batch"> {
  let parser = "parseByMicrobatch($_parser)";
  let printer = "printCounts($_printer, $_self)";
  let defaultValue = "noTime";
}

/// The same; empty if it is left out.
def Pipe_ByMicrobatchOrNone
    : ArrayRefParameter<"int64_t", "a number, or one for each micro-batch"> {
  let parser = "parseByMicrobatch($_parser)";
  let printer = "printCounts($_printer, $_self)";
  let defaultValue = "::llvm::ArrayRef<int64_t>()";
}

/// A keyword of an enum that may be left out.
class Pipe_WordOrElse<EnumInfo info, string value>
    : DefaultValuedParameter<info.cppNamespace # "::" # info.className, value> {
  let parser = "parseWord<" # cppType # ">($_parser)";
  let printer = "printWord($_printer, $_self)";
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

/// Field `k` of an attribute, in the code of its parser and its printer.
class Pipe_Field<dag fields, int k> {
  defvar key = !getdagname(fields, k);
  defvar type = !getdagarg<AttrOrTypeParameter>(fields, k);
  defvar isOptional = !not(!empty(type.defaultValue));
  string declaration = "std::optional<" # type.cppStorageType # "> " # key # ";\n";
  string entry = "{\"" # key # "\", " # !if(isOptional, "false", "true") #
      ", [&] { return keepField(" # key # ", [&] { return " #
      !subst("$_parser", "parser", type.parser) # "; }); }" #
      !if(!isa<Pipe_EarlierKey>(type),
          ", \"" # !cast<Pipe_EarlierKey>(type).earlierKey # "\"", "") #
      "},\n";
  string member = type.cppType # " " # key # "{" # !cond(
      // An empty array or attribute.
      !eq(type.defaultValue, type.cppStorageType # "()"): "",
      isOptional: type.defaultValue,
      // No default constructor.
      !eq(type.cppType, "::llvm::APFloat"): "0.0",
      true: "") # "};\n";
  string stored = "getImpl()->" # key;
  string given = "fields." # key;
  string value = type.cppType # "(" #
      !if(isOptional,
          key # " ? " # type.cppType # "(*" # key # ") : " # type.cppType #
              "(" # type.defaultValue # ")",
          "*" # key) # ")";
  defvar print = "printKey(printer, isFirst, \"" # key # "\"); " #
      !subst("$_self", "getImpl()->" # key,
             !subst("$_printer", "printer", type.printer)) # ";";
  string printed = !if(isOptional,
      "if (!(getImpl()->" # key # " == " # type.cppType # "(" #
          type.defaultValue # "))) { " # print # " }\n",
      print # "\n");
}

/// An attribute whose fields are written `<name = value, ...>`, in any order.
/// Unlike the struct directive of assembly formats, its parser lists the known
/// keys in the error for an unknown one. Each parameter states its parser and
/// its printer. In Fields, required parameters begin as 0 or empty.
class Pipe_StructAttr<string name, string attrMnemonic,
                      list<Trait> traits = []>
    : AttrDef<PipeDialect, name, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
  string fieldsDeclaration = [{
    /// All but the first `<`.
    static ::mlir::Attribute parseFields(::mlir::AsmParser &parser);
    /// All parameters by key, with their defaults. Code that uses this struct
    /// needs no change if a key is added.
    struct Fields {
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.member), "") # [{
    };
    Fields getFields() const;
    static }] # cppClassName # [{ get(::mlir::MLIRContext *context,
                                      const Fields &fields);
  }];
  let extraClassDeclaration = fieldsDeclaration;
  let extraClassDefinition = [{
    $cppClass::Fields $cppClass::getFields() const {
      return {
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.stored), ", ") # [{
      };
    }
    $cppClass $cppClass::get(::mlir::MLIRContext *context, const Fields &fields) {
      return get(context,
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.given), ", ") # [{);
    }
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      return parser.parseLess() ? ::mlir::Attribute() : parseFields(parser);
    }
    ::mlir::Attribute $cppClass::parseFields(::mlir::AsmParser &parser) {
      const ::llvm::SMLoc at = parser.getCurrentLocation();
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.declaration), "") # [{
      if (parseStruct(parser, {
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.entry), "") # [{
          }))
        return {};
      return parser.getChecked<$cppClass>(at, parser.getContext(),
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.value), ",\n") # [{);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      bool isFirst = true;
      printer << '<';
  }] # !interleave(!foreach(k, !range(!size(parameters)),
                            Pipe_Field<parameters, k>.printed), "") # [{
      printer << '>';
    }
  }];
}

#endif // RONDO_DIALECT_PIPEPARAMETERS_TD
