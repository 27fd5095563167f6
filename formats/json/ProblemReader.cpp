//===- ProblemReader.cpp - rondo-problem to Problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemReader.h"

#include "formats/json/Documents.h"
#include "formats/json/Fields.h"
#include "formats/json/ProblemParts.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

std::optional<TextFault> fill(Value value, Problem &problem) {
  std::optional<Value> format = findMember(value, "format");
  const bool isVersion2 = format && format->string() == "rondo-problem/2";
  if (format && !isVersion2 && format->string() != "rondo-problem/1")
    return "format is " + format->excerpt() +
           ", not \"rondo-problem/1\" or \"rondo-problem/2\"";
  if (auto fault = isVersion2 ? readVersion2(value, problem)
                              : readVersion1(value, problem))
    return fault;
  if (std::optional<Fault> fault = problem.check())
    return describe(*fault);
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
    return makeError("the file is empty; expected one rondo-problem object");
  if (std::optional<TextFault> fault = checkSyntax(text))
    return makeError(fault->message);
  Problem problem;
  if (auto fault = fill(Value(text), problem))
    return makeError(problem.name.empty() ? fault->message
                                          : "problem " + quoted(problem.name) +
                                                ": " + fault->message);
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
