//===- EmitFunctions.cpp - Rank functions as C++ --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitFunctions.h"

#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::codegen;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Writes one function. Constants are consumed in the order of
/// RankCode::constants().
class FunctionWriter {
public:
  FunctionWriter(llvm::raw_ostream &os, const SharedFunction &function)
      : os(os), function(function) {}

  void write();

private:
  void line(const Twine &text) {
    os.indent(2 * (variables.size() + 1)) << text << "\n";
  }
  StringRef number() { return function.spelling[next++]; }
  void writeRows();
  void writeNodes(const std::vector<CodeNode> &nodes);
  void writeLoop(const CodeNode &node);
  void writeAction(const CodeNode &node);
  std::string index(const CodeNode &node);

  llvm::raw_ostream &os;
  const SharedFunction &function;
  size_t next = 0;
  /// Variables of the open loops.
  llvm::SmallVector<std::string> variables;
  /// v1 and v2 are the arguments.
  int numVariables = 2;
};

void FunctionWriter::writeRows() {
  if (function.parameters.empty())
    return;
  os << "// A row for each rank: " << llvm::join(function.parameters, ", ")
     << "\n";
  for (auto [rank, row] : llvm::zip_equal(function.ranks, function.rows)) {
    os << "constexpr int64_t " << function.name << "_row_" << rank << "[] = {";
    llvm::interleaveComma(row, os);
    os << "};\n";
  }
}

/// The index of an action: multiples of loop variables, and a constant.
std::string FunctionWriter::index(const CodeNode &node) {
  std::string sum;
  for (auto [depth, factor] : llvm::enumerate(node.factors)) {
    if (factor == 0)
      continue;
    sum += (sum.empty() ? "" : " + ") + variables[depth];
    if (factor != 1)
      sum += " * " + std::to_string(factor);
  }
  const StringRef shift = number();
  if (sum.empty())
    return shift.str();
  if (shift.starts_with("-"))
    return sum + " - " + shift.drop_front().str();
  return shift == "0" ? sum : sum + " + " + shift.str();
}

void FunctionWriter::writeAction(const CodeNode &node) {
  std::string text = node.callee + "(rank, ";
  if (!node.message.empty())
    text += node.message + ", ";
  text += number();
  if (node.hasReceiver)
    text += ", " + number().str();
  if (node.hasIndex)
    text += ", " + index(node);
  line(text + ");");
}

void FunctionWriter::writeLoop(const CodeNode &node) {
  std::string first = "0", end, step = std::to_string(node.repeats);
  if (node.isLoop) {
    first = number();
    end = number();
    step = number();
  } else {
    end = "repetitions(rank)";
    if (node.repeats != 1)
      end += " * " + step;
  }
  // i3, and j4 in it.
  const std::string variable =
      std::string(1, "ijklmnopqrst"[std::min<size_t>(variables.size(), 11)]) +
      std::to_string(++numVariables);
  line("for (int64_t " + variable + " = " + first + "; " + variable + " < " +
       end + "; " + variable + " += " + step + ") {");
  variables.push_back(variable);
  writeNodes(node.body);
  variables.pop_back();
  line("}");
}

void FunctionWriter::writeNodes(const std::vector<CodeNode> &nodes) {
  for (const CodeNode &node : nodes)
    if (node.isLoop || node.repeats != 0)
      writeLoop(node);
    else
      writeAction(node);
}

void FunctionWriter::write() {
  writeRows();
  os << "static void " << function.name << "(Rank & v1, const int64_t* v2) {\n";
  if (function.parameters.empty())
    line("(void)v2;");
  // A rank without stages does nothing.
  line(function.code.nodes.empty() ? "(void)v1;" : "Rank &rank = v1;");
  for (auto [k, parameter] : llvm::enumerate(function.parameters))
    line("const int64_t " + parameter + " = v2[" + Twine(k) + "];");
  writeNodes(function.code.nodes);
  line("return;");
  os << "}\n";
}

} // namespace

void rondo::codegen::emitFunction(llvm::raw_ostream &os,
                                  const SharedFunction &function) {
  FunctionWriter(os, function).write();
}
