//===- PipeDialect.cpp - Dialect, attributes and syntax -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/EarlierWords.h"
#include "dialect/FamilySyntax.h"
#include "dialect/ModelSyntax.h"
#include "dialect/Nearest.h"
#include "dialect/NextWord.h"
#include "dialect/Pipe.h"
#include "dialect/ReplicaSyntax.h"
#include "dialect/StructSyntax.h"
#include "dialect/UnevenSyntax.h"
#include "dialect/VersionSyntax.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace rondo::pipe;

//===----------------------------------------------------------------------===//
// Fields of attributes
//===----------------------------------------------------------------------===//

/// A keyword of an enum.
template <typename Enum>
static ParseResult parseWord(AsmParser &parser, Enum &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    word = "";
  if (std::optional<Enum> known = symbolizeEnum<Enum>(currentWord(word))) {
    value = *known;
    return success();
  }
  SmallVector<StringRef> known;
  // An enum may begin at 1.
  for (uint32_t i = stringifyEnum(static_cast<Enum>(0)).empty();
       !stringifyEnum(static_cast<Enum>(i)).empty(); ++i)
    known.push_back(stringifyEnum(static_cast<Enum>(i)));
  InFlightDiagnostic error = parser.emitError(loc)
                             << "expected one of " << llvm::join(known, ", ");
  if (!word.empty())
    error << ", not '" << word << "'" << rondo::didYouMean(word, known);
  return error;
}

/// The same as a field of a struct.
template <typename Enum> static FailureOr<Enum> parseWord(AsmParser &parser) {
  Enum value{};
  if (parseWord(parser, value))
    return failure();
  return value;
}

template <typename Enum>
static void printWord(AsmPrinter &printer, Enum value) {
  printer << stringifyEnum(value);
}

template <typename Enum>
static void printWord(OpAsmPrinter &printer, Operation *, Enum value) {
  printer << stringifyEnum(value);
}

/// `[@a, @b]`.
static ParseResult parseNames(OpAsmParser &parser, ArrayAttr &names) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr name;
  if (succeeded(parser.parseOptionalSymbolName(name)))
    return parser.emitError(loc)
           << "expected a list of names: write [@" << name.getValue() << "]";
  if (failed(parser.parseOptionalLSquare()))
    return parser.emitError(loc) << "expected a list of names: write [@a, @b]";
  SmallVector<Attribute> list;
  auto parseName = [&]() -> ParseResult {
    if (parser.parseSymbolName(name))
      return failure();
    list.push_back(FlatSymbolRefAttr::get(name));
    return success();
  };
  if (failed(parser.parseOptionalRSquare()) &&
      (parser.parseCommaSeparatedList(parseName) || parser.parseRSquare()))
    return failure();
  names = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printNames(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  printer << names;
}

static FailureOr<int64_t> parseNumber(AsmParser &parser) {
  int64_t value = 0;
  if (parser.parseInteger(value))
    return failure();
  return value;
}

static FailureOr<std::optional<int64_t>> parseMaybeNumber(AsmParser &parser) {
  int64_t value = 0;
  if (parser.parseInteger(value))
    return failure();
  return std::optional(value);
}

static FailureOr<std::string> parseText(AsmParser &parser) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  return text;
}

static FailureOr<bool> parseBool(AsmParser &parser) {
  // `true` and `false` are no keywords to parseKeyword().
  BoolAttr value;
  if (parser.parseAttribute(value))
    return failure();
  return value.getValue();
}

static FailureOr<llvm::APFloat> parseReal(AsmParser &parser) {
  // parseOptionalInteger() would take the minus of -0.5 and fail.
  const bool isNegative = succeeded(parser.parseOptionalMinus());
  const llvm::SMLoc at = parser.getCurrentLocation();
  if (isNegative && succeeded(parser.parseOptionalMinus()))
    return parser.emitError(at, "expected a number");
  double value = 0;
  int64_t whole = 0;
  if (OptionalParseResult result = parser.parseOptionalInteger(whole);
      result.has_value()) {
    if (failed(*result))
      return failure();
    value = static_cast<double>(whole);
  } else if (parser.parseFloat(value)) {
    return failure();
  }
  return llvm::APFloat(isNegative ? -value : value);
}

static FailureOr<RopeScalingAttr> parseRopeScaling(AsmParser &parser) {
  if (parser.parseKeyword("llama3"))
    return failure();
  auto parsed = llvm::dyn_cast_or_null<RopeScalingAttr>(
      RopeScalingAttr::parse(parser, {}));
  if (!parsed)
    return failure();
  return parsed;
}

static FailureOr<SmallVector<int64_t>> parseNumbers(AsmParser &parser) {
  SmallVector<int64_t> numbers;
  auto parseOne = [&] { return parser.parseInteger(numbers.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  return numbers;
}

static FailureOr<SmallVector<int64_t>> parseSamples(AsmParser &parser) {
  const SMLoc place = parser.getCurrentLocation();
  FailureOr<SmallVector<int64_t>> list = parseNumbers(parser);
  if (failed(list) || !list->empty())
    return list;
  return parser.emitError(place, "[] has no numbers of samples; write one or "
                                 "more, or leave the key out");
}

static void printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << '[';
  llvm::interleaveComma(numbers, printer);
  printer << ']';
}

/// `[data<...>, data<...>]`.
template <typename Struct>
static FailureOr<SmallVector<Struct>> parseStructs(AsmParser &parser) {
  SmallVector<Struct> list;
  auto parseOne = [&]() -> ParseResult {
    if (parser.parseKeyword(Struct::getMnemonic()))
      return failure();
    list.push_back(
        llvm::dyn_cast_or_null<Struct>(Struct::parse(parser, Type())));
    return success(bool(list.back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  return list;
}

template <typename Struct>
static void printStructs(AsmPrinter &printer, ArrayRef<Struct> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](Struct each) {
    printer << Struct::getMnemonic();
    each.print(printer);
  });
  printer << ']';
}

/// `2`, or `[2, 1]`.
static FailureOr<SmallVector<int64_t>> parseTimes(AsmParser &parser) {
  SmallVector<int64_t> numbers(1);
  const OptionalParseResult one = parser.parseOptionalInteger(numbers.front());
  if (one.has_value())
    return failed(*one) ? FailureOr<SmallVector<int64_t>>() : numbers;
  return parseNumbers(parser);
}

static FailureOr<SmallVector<int64_t>> parseByMicrobatch(AsmParser &parser) {
  const SMLoc place = parser.getCurrentLocation();
  FailureOr<SmallVector<int64_t>> list = parseTimes(parser);
  if (failed(list) || !list->empty())
    return list;
  return parser.emitError(place, "[] has no figures; write one number, or one "
                                 "for each micro-batch");
}

static FailureOr<SmallVector<int64_t>> parseCounts(AsmParser &parser) {
  const SMLoc place = parser.getCurrentLocation();
  FailureOr<SmallVector<int64_t>> list = parseTimes(parser);
  if (failed(list) || !list->empty())
    return list;
  return parser.emitError(place,
                          "[] has no numbers of chunks; write one number "
                          "for all ranks or one for each, or leave the "
                          "word out");
}

/// A number that is `least` or more where it is written; 0: left out.
static FailureOr<int64_t> parseAtLeast(AsmParser &parser, int64_t least,
                                       StringRef what, StringRef without) {
  int64_t number = 0;
  const SMLoc place = parser.getCurrentLocation();
  if (parser.parseInteger(number) || number >= least)
    return number == 0 ? FailureOr<int64_t>() : number;
  return parser.emitError(place)
         << what << " is " << number << "; it must be " << least
         << " or more; without it, " << without;
}

/// `, shards = 2`, if it is there; 0 if not. At least 2.
static ParseResult parseShardCount(AsmParser &parser, int64_t &shards) {
  shards = 0;
  if (failed(parser.parseOptionalComma()))
    return success();
  if (!takeWord(parser, "shards", "pieces"))
    return parser.emitError(parser.getCurrentLocation()) << "expected 'shards'";
  if (parser.parseEqual())
    return failure();
  FailureOr<int64_t> count = parseAtLeast(
      parser, 2, "shards", "all replicas of the stage have the state once");
  if (failed(count))
    return failure();
  shards = *count;
  return success();
}

static void printShardCount(AsmPrinter &printer, int64_t shards) {
  if (shards != 0)
    printer << ", shards = " << shards;
}

static void printCounts(AsmPrinter &printer, ArrayRef<int64_t> counts) {
  if (counts.size() == 1)
    printer << counts.front();
  else
    printNumbers(printer, counts);
}

//===----------------------------------------------------------------------===//
// Parts of ops
//===----------------------------------------------------------------------===//

/// `<memory_bytes = ..., flops_per_us = ...>`, or nothing.
static ParseResult parseDeviceFigures(OpAsmParser &parser,
                                      DeviceAttr &figures) {
  if (failed(parser.parseOptionalLess()))
    return success();
  Attribute parsed = DeviceAttr::parseFields(parser);
  if (!parsed)
    return failure();
  figures = cast<DeviceAttr>(parsed);
  return success();
}

static void printDeviceFigures(OpAsmPrinter &printer, Operation *,
                               DeviceAttr figures) {
  if (!figures)
    return;
  printer << ' ';
  figures.print(printer);
}

/// `block`, `synthetic<forward_ns = ..., ...>`, `custom<body = ..., ...>`.
static ParseResult parseLayerBody(OpAsmParser &parser,
                                  LayerBodyAttrInterface &body) {
  LayerKind kind{};
  if (parseWord(parser, kind))
    return failure();
  Attribute parsed;
  switch (kind) {
  case LayerKind::Synthetic:
    parsed = SyntheticAttr::parse(parser, Type());
    break;
  case LayerKind::Custom:
    parsed = CustomAttr::parse(parser, Type());
    break;
  default:
    parsed = RoleAttr::get(parser.getContext(), kind);
  }
  body = llvm::dyn_cast_or_null<LayerBodyAttrInterface>(parsed);
  return success(bool(body));
}

static void printLayerBody(OpAsmPrinter &printer, Operation *,
                           LayerBodyAttrInterface body) {
  printer << stringifyLayerKind(body.getKind());
  if (auto synthetic = llvm::dyn_cast<SyntheticAttr>(body))
    synthetic.print(printer);
  else if (auto custom = llvm::dyn_cast<CustomAttr>(body))
    custom.print(printer);
}

/// `[%i * 2 + 3]`
static ParseResult
parseMicrobatch(OpAsmParser &parser, AffineMapAttr &map,
                SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices) {
  Attribute parsed;
  NamedAttrList ignored;
  if (parser.parseAffineMapOfSSAIds(indices, parsed, "map", ignored))
    return failure();
  map = cast<AffineMapAttr>(parsed);
  return success();
}

static void printMicrobatch(OpAsmPrinter &printer, Operation *,
                            AffineMapAttr map, OperandRange indices) {
  printer << '[';
  printer.printAffineMapOfSSAIds(map, indices);
  printer << ']';
}

/// The number of a step; nothing: 0.
static ParseResult
parseStepNumber(OpAsmParser &parser, AffineMapAttr &map,
                SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices) {
  Attribute parsed;
  NamedAttrList ignored;
  if (parser.parseAffineMapOfSSAIds(indices, parsed, "map", ignored,
                                    OpAsmParser::Delimiter::OptionalSquare))
    return failure();
  map = cast<AffineMapAttr>(parsed);
  if (map.getValue().getNumResults() == 0)
    map = AffineMapAttr::get(
        AffineMap::get(0, 0, parser.getBuilder().getAffineConstantExpr(0)));
  return success();
}

static void printStepNumber(OpAsmPrinter &printer, Operation *,
                            AffineMapAttr map, OperandRange indices) {
  if (map.getValue().isSingleConstant() &&
      map.getValue().getSingleConstantResult() == 0)
    return;
  printer << '[';
  printer.printAffineMapOfSSAIds(map, indices);
  printer << ']';
}

/// `schedule_order`, or `[2, 0, 1]`.
static ParseResult parseAccumulation(OpAsmParser &parser,
                                     Accumulate &accumulate,
                                     DenseI32ArrayAttr &order) {
  return parseOrder(
      parser, [&] { return parseWord(parser, accumulate); }, order);
}

static void printAccumulation(OpAsmPrinter &printer, Operation *,
                              Accumulate accumulate, DenseI32ArrayAttr order) {
  if (!order) {
    printer << stringifyAccumulate(accumulate);
    return;
  }
  printer << '[';
  llvm::interleaveComma(order.asArrayRef(), printer);
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Generated definitions
//===----------------------------------------------------------------------===//

#include "dialect/PipeDialect.cpp.inc"
#include "dialect/PipeEnums.cpp.inc"
#include "dialect/PipeInterfaces.cpp.inc"
#include "dialect/PipeModelInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PipeAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/PipeOps.cpp.inc"

LogicalResult GathersAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> weights,
                                  ArrayRef<int64_t> gradients,
                                  ArrayRef<int64_t> ahead, GatherRule rule,
                                  int64_t unit) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (ArrayRef<int64_t> counts : {weights, gradients, ahead})
    for (int64_t count : counts)
      if (count < 0 || count > most)
        return emitError() << "gathers<...> has " << count
                           << " chunks; there must be 0 to " << most;
  if (rule == GatherRule::Unit &&
      !(weights.empty() && gradients.empty() && ahead.empty()))
    return emitError() << "gathers<rule = unit> takes no weights, gradients or "
                          "ahead: its units say how many chunks are whole";
  if (rule != GatherRule::Unit && unit != 0)
    return emitError() << "gathers<unit = " << unit
                       << "> needs rule = unit: other rules count chunks";
  return success();
}

std::map<std::string, int64_t> FamilyAttr::getArgumentMap() const {
  std::map<std::string, int64_t> result;
  for (NamedAttribute argument : getArguments())
    if (const auto number = dyn_cast<IntegerAttr>(argument.getValue()))
      result[argument.getName().str()] = number.getInt();
  return result;
}

StringRef FamilyAttr::getOffload() const {
  const auto word = getArguments().getAs<StringAttr>(offloadName);
  return word ? word.getValue() : StringRef();
}

StringRef FamilyAttr::getOrder() const {
  const auto word = getArguments().getAs<StringAttr>(orderName);
  return word ? word.getValue() : StringRef();
}

/// The error for an unknown op.
static ParseResult refuseOp(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  SmallVector<StringRef> known;
  for (RegisteredOperationName op :
       parser.getContext()->getRegisteredOperationsByDialect("pipe"))
    known.push_back(op.getStringRef());
  return parser.emitError(parser.getNameLoc())
         << "unknown op" << rondo::didYouMean(name, known);
}

std::optional<Dialect::ParseOpHook>
PipeDialect::getParseOperationHook(StringRef name) const {
  if (name == "pipe.card")
    return parseEarlier<NicOp>;
  if (name == "pipe.all_reduce")
    return parseEarlier<IssueOp>;
  if (name == "pipe.staging")
    return refuseStaging;
  return refuseOp;
}

void PipeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/PipeAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PipeOps.cpp.inc"
      >();
}
