//===- EmitFunctions.cpp - Rank functions as EmitC ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitFunctions.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::codegen;

namespace {

/// Writes one function. Constants are consumed in the order of
/// RankCode::constants().
class FunctionWriter {
public:
  FunctionWriter(OpBuilder &builder, Location loc,
                 const SharedFunction &function)
      : builder(builder), loc(loc), function(function) {}

  void write();

private:
  void line(const Twine &text, ValueRange arguments = {}) {
    emitc::VerbatimOp::create(builder, loc, builder.getStringAttr(text),
                              arguments);
  }
  Value literal(const std::string &text) {
    return emitc::LiteralOp::create(builder, loc, builder.getI64Type(), text);
  }
  Value number() { return literal(function.spelling[next++]); }
  void writeRows();
  void writeNodes(const std::vector<CodeNode> &nodes);
  void writeAction(const CodeNode &node);

  OpBuilder &builder;
  Location loc;
  const SharedFunction &function;
  size_t next = 0;
  SmallVector<Value> variables;
};

void FunctionWriter::writeRows() {
  if (function.parameters.empty())
    return;
  line("// A row for each rank: " + llvm::join(function.parameters, ", "));
  for (auto [rank, row] : llvm::zip_equal(function.ranks, function.rows)) {
    std::string text = "constexpr int64_t " + function.name + "_row_" +
                       std::to_string(rank) + "[] = {";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(row, os);
    os << "};";
    line(text);
  }
}

void FunctionWriter::writeAction(const CodeNode &node) {
  std::string text = node.callee + "(rank, ";
  if (!node.message.empty())
    text += node.message + ", ";
  text += function.spelling[next++];
  if (node.hasReceiver)
    text += ", " + function.spelling[next++];
  SmallVector<Value> arguments;
  if (node.hasIndex) {
    std::string index;
    for (auto [depth, factor] : llvm::enumerate(node.factors)) {
      if (factor == 0)
        continue;
      index += index.empty() ? "{}" : " + {}";
      if (factor != 1)
        index += " * " + std::to_string(factor);
      arguments.push_back(variables[depth]);
    }
    StringRef shift = function.spelling[next++];
    if (index.empty())
      index = shift.str();
    else if (shift.starts_with("-"))
      index += " - " + shift.drop_front().str();
    else if (shift != "0")
      index += " + " + shift.str();
    text += ", " + index;
  }
  line(text + ");", arguments);
}

void FunctionWriter::writeNodes(const std::vector<CodeNode> &nodes) {
  for (const CodeNode &node : nodes) {
    if (!node.isLoop && node.repeats == 0) {
      writeAction(node);
      continue;
    }
    Value first, end, step;
    if (node.isLoop) {
      first = number(), end = number(), step = number();
    } else {
      const std::string each = std::to_string(node.repeats);
      first = literal("0");
      end = literal(node.repeats == 1 ? "repetitions(rank)"
                                      : "repetitions(rank) * " + each);
      step = literal(each);
    }
    auto loop = emitc::ForOp::create(builder, loc, first, end, step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    variables.push_back(loop.getInductionVar());
    writeNodes(node.body);
    variables.pop_back();
  }
}

void FunctionWriter::write() {
  writeRows();
  MLIRContext *context = builder.getContext();
  Type rankType = emitc::OpaqueType::get(context, "Rank &");
  Type rowType =
      emitc::PointerType::get(emitc::OpaqueType::get(context, "const int64_t"));
  auto func =
      emitc::FuncOp::create(builder, loc, function.name,
                            builder.getFunctionType({rankType, rowType}, {}));
  func.setSpecifiersAttr(builder.getStrArrayAttr({"static"}));
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  if (function.parameters.empty())
    line("(void){};", entry->getArgument(1));
  // A rank without stages does nothing.
  if (function.code.nodes.empty())
    line("(void){};", entry->getArgument(0));
  else
    line("Rank &rank = {};", entry->getArgument(0));
  for (auto [k, parameter] : llvm::enumerate(function.parameters))
    line("const int64_t " + parameter + " = {}[" + Twine(k) + "];",
         entry->getArgument(1));
  writeNodes(function.code.nodes);
  emitc::ReturnOp::create(builder, loc, Value());
}

} // namespace

void rondo::codegen::emitFunction(OpBuilder &builder, Location loc,
                                  const SharedFunction &function) {
  FunctionWriter(builder, loc, function).write();
}
