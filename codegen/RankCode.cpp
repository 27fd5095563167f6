//===- RankCode.cpp - What one rank runs, ready for printing --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/RankCode.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <optional>

using namespace rondo;
using namespace rondo::codegen;

static std::string messageOf(MessageKind message) {
  return std::string("Message::") + traitsOf(message).name;
}

namespace {

class Reader {
public:
  Reader(const Problem &problem, const EdgeTable &edges, ActionReader actionOf)
      : problem(problem), edges(edges), actionOf(actionOf) {}

  std::vector<CodeNode> read(mlir::Block &block) {
    std::vector<CodeNode> nodes;
    for (mlir::Operation &op : block)
      nodes.push_back(readOp(op));
    return nodes;
  }

private:
  CodeNode readOp(mlir::Operation &op);
  void readIndex(pipe::IndexedOpInterface task, CodeNode &node);

  /// Whether several edges carry such a message of the replica.
  bool isOneOfSeveral(const Edge &edge) const {
    return llvm::count_if(
               edges.outputs(edge.from, edge.producer), [&](int32_t other) {
                 return problem.edges[other].producer == edge.producer;
               }) > 1;
  }

  const Problem &problem;
  const EdgeTable &edges;
  ActionReader actionOf;
  llvm::SmallVector<mlir::Value> variables;
};

CodeNode Reader::readOp(mlir::Operation &op) {
  CodeNode node;
  if (auto loop = llvm::dyn_cast<pipe::ForOp>(op)) {
    node.isLoop = true;
    node.constants = {loop.getLower(), loop.getUpper(), loop.getStep()};
    variables.push_back(loop.getVariable());
    node.body = read(loop.getBody().front());
    variables.pop_back();
    return node;
  }
  if (auto repeat = llvm::dyn_cast<pipe::RepeatOp>(op)) {
    node.repeats = repeat.getStep();
    variables.push_back(repeat.getVariable());
    node.body = read(repeat.getBody().front());
    variables.pop_back();
    return node;
  }
  // The runtime's functions are named like the ops.
  const ActionKind kind =
      llvm::cast<pipe::ActionOpInterface>(op).getActionKind();
  node.callee = traitsOf(kind).keyword;
  node.subject = traitsOf(kind).subject;
  auto indexed = llvm::cast<pipe::IndexedOpInterface>(op);
  // The only step of an iteration is not numbered.
  const bool isStep =
      traitsOf(kind).index == IndexMeaning::Step &&
      !(kind == ActionKind::Await && problem.replicas.areSharded());
  if (!isStep || problem.iterations > 1)
    readIndex(indexed, node);
  else
    node.constants = {int64_t(actionOf(&op).subject)};
  return node;
}

/// The index is a sum of multiples of loop variables, so evaluating the map at
/// unit vectors gives its factors.
void Reader::readIndex(pipe::IndexedOpInterface task, CodeNode &node) {
  node.hasIndex = true;
  mlir::AffineMap map = task.getMap();
  auto valueAt = [&](std::optional<unsigned> unit) {
    llvm::SmallVector<int64_t> point(map.getNumInputs(), 0);
    if (unit)
      point[*unit] = 1;
    return map.compose(point).front();
  };
  int64_t shift = valueAt(std::nullopt);
  node.factors.assign(variables.size(), 0);
  for (auto [k, index] : llvm::enumerate(task.getIndices())) {
    auto *it = llvm::find(variables, index);
    node.factors[it - variables.begin()] += valueAt(k) - shift;
  }
  const Action action = actionOf(task);
  node.constants = {int64_t(action.subject)};
  if (action.traits().subject == Subject::Edge) {
    const Edge &edge = problem.edges[action.subject];
    node.message = messageOf(edge.message());
    node.constants = {edge.from};
    node.hasReceiver = isOneOfSeveral(edge);
    if (node.hasReceiver)
      node.constants.push_back(edge.to);
  }
  node.constants.push_back(shift);
}

} // namespace

RankCode rondo::codegen::readRank(pipe::RankOp rank, const Problem &problem,
                                  const EdgeTable &edges,
                                  ActionReader actionOf) {
  RankCode code;
  code.rank = rank.getRank();
  code.nodes = Reader(problem, edges, actionOf).read(rank.getBody().front());
  return code;
}

static void writeShape(const std::vector<CodeNode> &nodes, std::string &text) {
  for (const CodeNode &node : nodes) {
    if (node.isLoop || node.repeats > 0) {
      text +=
          node.isLoop ? "for(" : "repeat" + std::to_string(node.repeats) + "(";
      writeShape(node.body, text);
      text += ")";
      continue;
    }
    text += node.callee + ":" + node.message + (node.hasReceiver ? ">:" : ":");
    for (int64_t factor : node.factors)
      text += std::to_string(factor) + ",";
    text += ";";
  }
}

std::string RankCode::shape() const {
  std::string text;
  writeShape(nodes, text);
  return text;
}

static void collectConstants(const std::vector<CodeNode> &nodes,
                             std::vector<int64_t> &constants) {
  for (const CodeNode &node : nodes) {
    llvm::append_range(constants, node.constants);
    collectConstants(node.body, constants);
  }
}

std::vector<int64_t> RankCode::constants() const {
  std::vector<int64_t> all;
  collectConstants(nodes, all);
  return all;
}

/// The meaning of each constant; it names parameters.
static void collectRoles(const std::vector<CodeNode> &nodes,
                         std::vector<const char *> &roles) {
  for (const CodeNode &node : nodes) {
    if (node.isLoop) {
      roles.insert(roles.end(), {"first", "end", "step"});
      collectRoles(node.body, roles);
    } else if (node.repeats > 0) {
      collectRoles(node.body, roles);
    } else if (node.hasIndex) {
      roles.push_back(node.subject == Subject::Collective ? "collective"
                                                          : "replica");
      if (node.hasReceiver)
        roles.push_back("to");
      roles.push_back("shift");
    } else {
      roles.push_back(node.subject == Subject::Replica ? "replica"
                                                       : "collective");
    }
  }
}

/// Positions of the constants that name the replica of a task or step.
static void collectTaskReplicas(const std::vector<CodeNode> &nodes,
                                size_t &next, std::vector<size_t> &places) {
  for (const CodeNode &node : nodes) {
    if (!node.isLoop && node.repeats == 0 && node.subject == Subject::Replica)
      places.push_back(next);
    next += node.constants.size();
    collectTaskReplicas(node.body, next, places);
  }
}

/// The number d with column[k] - base[k] == d for all k, if there is one.
static std::optional<int64_t> offsetFrom(llvm::ArrayRef<int64_t> column,
                                         llvm::ArrayRef<int64_t> base) {
  int64_t offset = column[0] - base[0];
  for (auto [value, from] : llvm::zip_equal(column, base))
    if (value - from != offset)
      return std::nullopt;
  return offset;
}

static std::string withOffset(llvm::StringRef name, int64_t offset) {
  if (offset == 0)
    return name.str();
  return (name + (offset < 0 ? " - " : " + ") +
          llvm::Twine(offset < 0 ? -offset : offset))
      .str();
}

static SharedFunction share(std::vector<RankCode> group) {
  SharedFunction function;
  std::vector<std::vector<int64_t>> constants;
  for (const RankCode &code : group) {
    function.ranks.push_back(code.rank);
    constants.push_back(code.constants());
  }
  function.name = "rank_" + std::to_string(function.ranks.front());
  if (group.size() > 1) {
    bool isRun = function.ranks.back() - function.ranks.front() + 1 ==
                 static_cast<int32_t>(group.size());
    function.name = (isRun ? "ranks_" : "ranks_from_") +
                    std::to_string(function.ranks.front()) +
                    (isRun ? "_to_" + std::to_string(function.ranks.back())
                           : std::string());
  }
  function.rows.resize(group.size());
  function.code = std::move(group.front());

  std::vector<const char *> roles;
  collectRoles(function.code.nodes, roles);
  std::vector<std::vector<int64_t>> columns;
  std::vector<bool> namesReplica;
  std::map<std::string, int> used;
  auto columnAt = [&](size_t c) {
    std::vector<int64_t> column;
    for (const std::vector<int64_t> &row : constants)
      column.push_back(row[c]);
    return column;
  };
  auto addParameter = [&](const char *role, std::vector<int64_t> column) {
    int count = used[role]++;
    function.parameters.push_back(
        role + (count ? std::to_string(count + 1) : std::string()));
    namesReplica.push_back(llvm::StringRef(role) == "replica");
    for (size_t k = 0; k < column.size(); ++k)
      function.rows[k].push_back(column[k]);
    columns.push_back(std::move(column));
    return function.parameters.back();
  };
  // `replica` is the one that the rank runs; its neighbours are offsets of it.
  size_t next = 0;
  std::vector<size_t> taskReplicas;
  collectTaskReplicas(function.code.nodes, next, taskReplicas);
  if (!taskReplicas.empty() && !llvm::all_equal(columnAt(taskReplicas.front())))
    addParameter("replica", columnAt(taskReplicas.front()));

  for (size_t c = 0; c < constants.front().size(); ++c) {
    std::vector<int64_t> column = columnAt(c);
    if (llvm::all_equal(column)) {
      function.spelling.push_back(std::to_string(column.front()));
      continue;
    }
    std::string spelled;
    bool isReplica = llvm::StringRef(roles[c]) == "replica";
    for (size_t p = 0; p < columns.size() && spelled.empty(); ++p)
      if (namesReplica[p] == isReplica)
        if (std::optional<int64_t> offset = offsetFrom(column, columns[p]))
          spelled = withOffset(function.parameters[p], *offset);
    if (spelled.empty())
      spelled = addParameter(roles[c], std::move(column));
    function.spelling.push_back(spelled);
  }
  return function;
}

std::vector<SharedFunction>
rondo::codegen::shareFunctions(std::vector<RankCode> ranks) {
  llvm::MapVector<std::string, std::vector<RankCode>,
                  std::map<std::string, unsigned>>
      groups;
  for (RankCode &code : ranks)
    groups[code.shape()].push_back(std::move(code));
  std::vector<SharedFunction> functions;
  for (auto &[shape, group] : groups)
    functions.push_back(share(std::move(group)));
  return functions;
}
