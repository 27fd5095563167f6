//===- schedule.cpp - Fuzzes the readers of rondo-schedule ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also the rules that judge it, on the problems below.
//
//===----------------------------------------------------------------------===//

#include "formats/json/Documents.h"
#include "formats/json/ScheduleReader.h"
#include "formats/json/ScheduleWriter.h"
#include "formats/json/Verdict.h"
#include "test/fuzz/Target.h"

using namespace rondo;

static const char problemLines[] =
    R"({"format":"rondo-problem/1","name":"p","microbatches":2,"ranks":[{"memory_bytes":null},{"memory_bytes":3}],"stages":[{"rank":0,"forward_ns":1,"input_grad_ns":1,"weight_grad_ns":1,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":0},{"rank":1,"forward_ns":1,"input_grad_ns":1,"weight_grad_ns":1,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":0}]}
{"format":"rondo-problem/1","name":"v","microbatches":3,"ranks":[{"memory_bytes":9},{"memory_bytes":9}],"stages":[{"rank":0,"forward_ns":3,"input_grad_ns":4,"weight_grad_ns":2,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":5},{"rank":1,"forward_ns":3,"input_grad_ns":4,"weight_grad_ns":2,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":5},{"rank":1,"forward_ns":3,"input_grad_ns":4,"weight_grad_ns":2,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":5},{"rank":0,"forward_ns":3,"input_grad_ns":4,"weight_grad_ns":2,"activation_bytes":2,"input_grad_frees_bytes":1,"output_bytes":0}],"link":{"latency_ns":1,"bytes_per_us":1000}}
{"format": "rondo-problem/2", "name": "skip", "microbatches": 2, "ranks": [{}, {}, {}], "stages": [{"replicas": [{"rank": 0}], "costs": {"F": {"ns": 3}, "I": {"ns": 3}, "W": {"ns": 3}}}, {"replicas": [{"rank": 1}], "costs": {"F": {"ns": 3}, "I": {"ns": 3}, "W": {"ns": 3}}}, {"replicas": [{"rank": 2}], "costs": {"F": {"ns": 3}, "I": {"ns": 3}, "W": {"ns": 3}}}], "edges": [{"from": 0, "to": 1, "bytes": 0}, {"from": 1, "to": 2, "bytes": 0}, {"from": 0, "to": 2, "bytes": 4000}], "link": {"latency_ns": 1, "bytes_per_us": 1000000}}
)";

static const json::ProblemFile &problems() {
  static const json::ProblemFile file =
      *json::readProblems("problems.jsonl", problemLines);
  return file;
}

/// A legal schedule written with its own figures is legal, whatever the input
/// claimed.
static void checkWritten(llvm::StringRef text, const json::Verdict &verdict) {
  const Problem &problem = *problems().find(verdict.problem);
  json::ScheduleText object{json::Value(text)};
  fuzz::require(!object.readKeys(), "a legal schedule has legal keys");
  Schedule schedule;
  if (object.infeasible())
    return;
  fuzz::require(!object.readRanks(problem, schedule) &&
                    !object.readLinkOrders(problem, schedule),
                "a legal schedule can be read");
  std::string line;
  llvm::raw_string_ostream os(line);
  json::writeSchedule(os, problem, schedule, verdict.simulation, "");
  const json::Verdict again = json::judge(line, problems());
  if (!again.legal)
    std::fprintf(stderr, "%s: %s\n", again.rule.c_str(), again.message.c_str());
  fuzz::require(again.legal, "a legal schedule is legal once it is written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  for (const json::Document &document :
       json::splitDocuments("input.jsonl", text)) {
    const json::Verdict verdict = json::judge(document.text, problems());
    fuzz::require(verdict.legal == verdict.rule.empty(),
                  "a verdict names a rule unless it is legal");
    fuzz::require(verdict.legal || !verdict.message.empty(),
                  "a broken rule is explained");
    if (verdict.legal)
      checkWritten(document.text, verdict);
  }
  return 0;
}
