//===- LoopOps.cpp - The text of loops ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/NextWord.h"
#include "dialect/Pipe.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rondo::pipe;

/// `step 2 { ... }`, the end of any loop.
static ParseResult parseBody(OpAsmParser &parser, OperationState &result,
                             OpAsmParser::Argument variable, int64_t &step) {
  if (succeeded(parser.parseOptionalKeyword("step")) &&
      parser.parseInteger(step))
    return failure();
  Region *body = result.addRegion();
  if (parseNext(parser, WORDS(step, {...}), WORDS()) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, variable) ||
      parseNext(parser, WORDS(step, {...}), WORDS()))
    return failure();
  if (body->empty())
    body->emplaceBlock().addArgument(variable.type, result.location);
  return success();
}

static void printBody(OpAsmPrinter &printer, Operation *loop, int64_t step) {
  if (step != 1)
    printer << " step " << step;
  printer.printOptionalAttrDictWithKeyword(loop->getAttrs());
  printer << ' ';
  printer.printRegion(loop->getRegion(0), /*printEntryBlockArgs=*/false);
}

void ForOp::build(OpBuilder &builder, OperationState &state, int64_t lower,
                  int64_t upper, int64_t step) {
  OpBuilder::InsertionGuard guard(builder);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.lower = lower;
  properties.upper = upper;
  properties.step = step;
  Block *body = builder.createBlock(state.addRegion());
  body->addArgument(builder.getIndexType(), state.location);
}

/// `%i = 0 to 8 step 2 { ... }`
ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument variable;
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.step = 1;
  variable.type = parser.getBuilder().getIndexType();
  if (parser.parseArgument(variable) || parser.parseEqual() ||
      parser.parseInteger(properties.lower) || parser.parseKeyword("to") ||
      parser.parseInteger(properties.upper))
    return failure();
  return parseBody(parser, result, variable, properties.step);
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getVariable() << " = " << getLower() << " to "
          << getUpper();
  printBody(printer, *this, getStep());
}

void RepeatOp::build(OpBuilder &builder, OperationState &state, int64_t step) {
  OpBuilder::InsertionGuard guard(builder);
  state.getOrAddProperties<Properties>().step = step;
  Block *body = builder.createBlock(state.addRegion());
  body->addArgument(builder.getIndexType(), state.location);
}

/// `%t step 2 { ... }`
ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument variable;
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.step = 1;
  variable.type = parser.getBuilder().getIndexType();
  if (parser.parseArgument(variable))
    return failure();
  return parseBody(parser, result, variable, properties.step);
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getVariable();
  printBody(printer, *this, getStep());
}

void RepeatOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.getNumArguments() == 1)
    setName(region.getArgument(0), "t");
}

/// %i, %j, %k and so on by depth.
void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  int depth = 0;
  for (Operation *op = (*this)->getParentOp(); isa_and_nonnull<ForOp>(op);
       op = op->getParentOp())
    ++depth;
  if (!region.empty() && region.getNumArguments() == 1)
    setName(region.getArgument(0), std::string(1, "ijklmn"[depth % 6]));
}
