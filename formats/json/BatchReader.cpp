//===- BatchReader.cpp - Problems of sampled batches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/BatchReader.h"

#include "formats/json/Documents.h"
#include "formats/json/ProblemReader.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace rondo::json {

static Result<Problem> readBatch(llvm::json::Object problem, StringRef line,
                                 int64_t number) {
  if (auto fault = checkSyntax(line))
    return *fault;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed)
    return TextFault(llvm::toString(parsed.takeError()));
  llvm::json::Object *batch = parsed->getAsObject();
  llvm::json::Array *sizes = batch ? batch->getArray("sizes") : nullptr;
  if (!sizes || batch->size() != 1)
    return TextFault("a batch is an object with the key \"sizes\" alone, a "
                     "list of sizes for each micro-batch");
  problem["name"] = problem.getString("name").value_or("layers").str() +
                    " batch " + std::to_string(number);
  problem["microbatches"] = int64_t(sizes->size());
  problem["sizes"] = std::move(*sizes);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(problem));
  return readProblem(text);
}

bool statesSizes(StringRef problem) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(problem);
  if (parsed)
    return parsed->getAsObject()->getArray("sizes");
  llvm::consumeError(parsed.takeError());
  return false;
}

Result<std::vector<Problem>> readBatches(StringRef problem, StringRef batches) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(problem);
  if (!parsed)
    return TextFault(llvm::toString(parsed.takeError()));
  const llvm::json::Object &layers = *parsed->getAsObject();
  std::vector<Problem> problems;
  for (const Document &document : splitDocuments("batches.jsonl", batches)) {
    Result<Problem> batch =
        readBatch(layers, document.text, int64_t(problems.size()));
    if (!batch)
      return TextFault(document.where() + describe(batch.fault()));
    problems.push_back(std::move(*batch));
  }
  if (problems.empty())
    return TextFault("no batch in it; expected {\"sizes\": ...} a line");
  return problems;
}

} // namespace rondo::json
