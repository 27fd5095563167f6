//===- ProblemReader.cpp - rondo-problem to Problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemReader.h"

#include "formats/json/Documents.h"
#include "formats/json/ProblemText.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

std::optional<TextFault> fill(Value value, Problem &problem) {
  if (auto fault = checkIsObject(value, "rondo-problem"))
    return fault;
  ProblemText text;
  std::optional<TextFault> fault = readProblemText(value, text);
  // From now on messages can name the problem.
  problem.name = text.name;
  if (fault || (fault = toProblem(text, problem)))
    return fault;
  if (std::optional<Fault> fault = problem.check())
    return describe(*fault);
  return {};
}

} // namespace

const Problem *ProblemFile::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &problems[it->second];
}

Result<Problem> readProblem(StringRef text) {
  if (text.trim().empty())
    return TextFault("the file is empty; expected one rondo-problem object");
  if (std::optional<TextFault> fault = checkSyntax(text))
    return *fault;
  Problem problem;
  if (auto fault = fill(Value(text), problem))
    return problem.name.empty()
               ? *fault
               : withWords("problem " + quoted(problem.name) + ": ", *fault);
  return problem;
}

Result<ProblemFile> readProblems(StringRef fileName, StringRef contents) {
  ProblemFile file;
  for (const Document &document : splitDocuments(fileName, contents)) {
    Result<Problem> problem = readProblem(document.text);
    if (!problem)
      return TextFault(document.where() + describe(problem.fault()));
    if (!file.byName.try_emplace(problem->name, file.problems.size()).second)
      return TextFault(document.where() + "a second problem named " +
                       quoted(problem->name));
    file.problems.push_back(std::move(*problem));
  }
  if (file.problems.empty())
    return TextFault("no problem in it; expected a rondo-problem/1 object a "
                     "line");
  return file;
}

} // namespace rondo::json
