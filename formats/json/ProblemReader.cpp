//===- ProblemReader.cpp - rondo-problem/1 to Problem ---------------------===//

#include "formats/json/ProblemReader.h"

#include "formats/json/Documents.h"
#include "formats/json/Fields.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// Keeps single figures away from the end of int64; all tighter limits are
/// Problem::check()'s matter.
constexpr int64_t mostFigure = int64_t(1) << 62;

constexpr StringRef stageKeys[] = {
    "rank",           "forward_ns",       "input_grad_ns",
    "weight_grad_ns", "activation_bytes", "input_grad_frees_bytes",
    "output_bytes"};

std::string element(StringRef list, size_t index) {
  return (list + "[" + llvm::Twine(index) + "]").str();
}

/// The number of a rank, all of which have been read.
Fault readRank(const Value &value, const std::string &where,
               const Problem &problem, int64_t &rank) {
  Fault fault = readInteger(value, where, 0, noMemoryCap, rank);
  if (!fault.empty() || rank < problem.numRanks())
    return fault;
  const std::string last = std::to_string(problem.numRanks() - 1);
  return where + " is " + std::to_string(rank) + "; " +
         (problem.numRanks() == 1 ? "there is only rank 0"
                                  : "there are the ranks 0 to " + last);
}

Fault readRanks(const Value &ranks, Problem &problem) {
  if (!ranks.isArray())
    return "ranks is not a list";
  Elements walk(ranks);
  while (std::optional<Value> rank = walk.next()) {
    std::string where = element("ranks", problem.memoryCaps.size());
    Fields fields;
    if (Fault fault = fields.read(*rank, where, {"memory_bytes"});
        !fault.empty())
      return fault;
    const Value &memory = fields.get("memory_bytes");
    int64_t cap = noMemoryCap;
    if (!memory.isNull())
      if (Fault fault =
              readInteger(memory, where + ".memory_bytes", 0, noMemoryCap, cap);
          !fault.empty())
        return fault;
    problem.memoryCaps.push_back(cap);
  }
  return problem.memoryCaps.empty() ? "ranks is empty" : "";
}

Fault readStages(const Value &stages, Problem &problem) {
  if (!stages.isArray())
    return "stages is not a list";
  std::vector<int64_t> outputBytes;
  Elements walk(stages);
  while (std::optional<Value> stage = walk.next()) {
    size_t index = outputBytes.size();
    std::string where = element("stages", index);
    Fields fields;
    if (Fault fault = fields.read(*stage, where, stageKeys); !fault.empty())
      return fault;
    int64_t figures[std::size(stageKeys)];
    for (size_t i = 0; i < std::size(stageKeys); ++i) {
      const Value &value = fields.get(stageKeys[i]);
      const std::string key = (llvm::Twine(where) + "." + stageKeys[i]).str();
      if (Fault fault =
              i == 0 ? readRank(value, key, problem, figures[i])
                     : readInteger(value, key, 0, mostFigure, figures[i]);
          !fault.empty())
        return fault;
    }
    auto [rank, forward, inputGrad, weightGrad, activation, frees, output] =
        figures;
    if (frees > activation)
      return where + ".input_grad_frees_bytes is " + std::to_string(frees) +
             ", more than its activation_bytes " + std::to_string(activation);
    problem.stageRanks.push_back({static_cast<int32_t>(rank)});
    problem.costs.resize(problem.costs.size() + numTaskKinds);
    problem.setStageCost(static_cast<int32_t>(index), forward, inputGrad,
                         weightGrad, activation, frees);
    outputBytes.push_back(output);
  }
  if (outputBytes.empty())
    return "stages is empty";
  problem.makeChain(outputBytes);
  return {};
}

/// Latency and rate, which `link` and each of `links` have.
Fault readSpeed(const Fields &fields, const std::string &where, Link &link) {
  if (Fault fault = readInteger(fields.get("latency_ns"), where + ".latency_ns",
                                0, mostFigure, link.latencyNs);
      !fault.empty())
    return fault;
  const Value &rate = fields.get("bytes_per_us");
  if (rate.isNull())
    return {};
  return readInteger(rate, where + ".bytes_per_us", 1, mostFigure,
                     link.bytesPerUs);
}

Fault readLinks(const Value &links, Problem &problem) {
  if (!links.isArray())
    return "links is not a list";
  Elements walk(links);
  for (size_t index = 0; std::optional<Value> value = walk.next(); ++index) {
    std::string where = element("links", index);
    Fields fields;
    if (Fault fault = fields.read(*value, where,
                                  {"from", "to", "latency_ns", "bytes_per_us"});
        !fault.empty())
      return fault;
    int64_t from, to;
    Link link;
    for (auto [key, rank] : {std::pair("from", &from), std::pair("to", &to)})
      if (Fault fault =
              readRank(fields.get(key), where + "." + key, problem, *rank);
          !fault.empty())
        return fault;
    if (Fault fault = readSpeed(fields, where, link); !fault.empty())
      return fault;
    std::string pair =
        "rank " + std::to_string(from) + " to rank " + std::to_string(to);
    if (from == to)
      return where + " goes from " + pair;
    if (!problem.links.try_emplace({from, to}, link).second)
      return where + " is the second one from " + pair;
  }
  return {};
}

Fault fill(Value value, Problem &problem) {
  Fields fields;
  if (Fault fault =
          fields.read(value, "problem",
                      {"format", "name", "microbatches", "ranks", "stages"},
                      {"link", "links", "objective"});
      !fault.empty())
    return fault;
  if (fields.get("format").string() != "rondo-problem/1")
    return "format is " + fields.get("format").excerpt() +
           ", not \"rondo-problem/1\"";
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return "name is " + fields.get("name").excerpt() + ", not a string";
  problem.name = *name;
  int64_t microbatches;
  if (Fault fault =
          readInteger(fields.get("microbatches"), "microbatches", 1,
                      std::numeric_limits<int32_t>::max(), microbatches);
      !fault.empty())
    return fault;
  problem.microbatches = static_cast<int32_t>(microbatches);
  if (Fault fault = readRanks(fields.get("ranks"), problem); !fault.empty())
    return fault;
  if (Fault fault = readStages(fields.get("stages"), problem); !fault.empty())
    return fault;
  if (const Value *link = fields.find("link")) {
    Fields speed;
    if (Fault fault = speed.read(*link, "link", {"latency_ns", "bytes_per_us"});
        !fault.empty())
      return fault;
    if (Fault fault = readSpeed(speed, "link", problem.link); !fault.empty())
      return fault;
  }
  if (const Value *links = fields.find("links"))
    if (Fault fault = readLinks(*links, problem); !fault.empty())
      return fault;
  if (const Value *objective = fields.find("objective")) {
    std::optional<std::string> text = objective->string();
    if (text != "makespan" && text != "span")
      return "objective is " + objective->excerpt() +
             ", not \"makespan\" or \"span\"";
    problem.objective = text == "span" ? Objective::Span : Objective::Makespan;
  }
  if (std::optional<ProblemFault> fault = problem.check())
    return fault->message;
  return {};
}

llvm::Error makeError(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

} // namespace

const Problem *ProblemFile::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &problems[it->second];
}

llvm::Expected<Problem> readProblem(StringRef text) {
  if (text.trim().empty())
    return makeError("the file is empty; expected one rondo-problem/1 object");
  if (std::optional<SyntaxFault> fault = checkSyntax(text))
    return makeError(describe(*fault, text));
  Problem problem;
  if (Fault fault = fill(Value(text), problem); !fault.empty())
    return makeError(problem.name.empty()
                         ? fault
                         : "problem " + quoted(problem.name) + ": " + fault);
  return problem;
}

llvm::Expected<ProblemFile> readProblems(StringRef fileName,
                                         StringRef contents) {
  ProblemFile file;
  for (const Document &document : splitDocuments(fileName, contents)) {
    llvm::Expected<Problem> problem = readProblem(document.text);
    if (!problem)
      return makeError(document.where() + llvm::toString(problem.takeError()));
    if (!file.byName.try_emplace(problem->name, file.problems.size()).second)
      return makeError(document.where() + "a second problem named " +
                       quoted(problem->name));
    file.problems.push_back(std::move(*problem));
  }
  if (file.problems.empty())
    return makeError("no problem in it; expected a rondo-problem/1 object a "
                     "line");
  return file;
}

} // namespace rondo::json
