//===- problem.cpp - Fuzzes the readers of rondo-problem ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"
#include "test/fuzz/Target.h"

using namespace rondo;

static std::string written(const Problem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::writeProblem(os, problem);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  for (const char *name : {"a.json", "a.jsonl"}) {
    Result<json::ProblemFile> file = json::readProblems(name, text);
    if (!file) {
      fuzz::require(!describe(file.fault()).empty(), "an error says why");
      continue;
    }
    for (const Problem &problem : file->problems) {
      const std::string first = written(problem);
      Result<Problem> again = json::readProblem(first);
      if (!again)
        std::fprintf(stderr, "%s\n", describe(again.fault()).c_str());
      fuzz::require(static_cast<bool>(again), "what is written can be read");
      fuzz::require(written(*again) == first, "it reads as what was written");
    }
  }
  return 0;
}
