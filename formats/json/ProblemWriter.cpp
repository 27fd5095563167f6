//===- ProblemWriter.cpp - Problem to rondo-problem/1 ---------------------===//

#include "formats/json/ProblemWriter.h"

#include "schedule/Objective.h"

#include "llvm/Support/JSON.h"

namespace rondo::json {

namespace {

void writeSpeed(llvm::json::OStream &json, const Link &link) {
  json.attribute("latency_ns", link.latencyNs);
  if (link.bytesPerUs)
    json.attribute("bytes_per_us", link.bytesPerUs);
  else
    json.attribute("bytes_per_us", nullptr);
}

void writeStage(llvm::json::OStream &json, const Problem &problem,
                int32_t stage) {
  const Cost &forward = problem.cost(stage, ActionKind::Forward);
  const Cost &inputGrad = problem.cost(stage, ActionKind::InputGrad);
  json.attribute("rank", problem.rankOf(stage));
  json.attribute("forward_ns", forward.ns);
  json.attribute("input_grad_ns", inputGrad.ns);
  json.attribute("weight_grad_ns",
                 problem.cost(stage, ActionKind::WeightGrad).ns);
  json.attribute("activation_bytes", forward.acquireBytes);
  json.attribute("input_grad_frees_bytes", inputGrad.releaseBytes);
  bool isLast = stage + 1 == problem.numStages();
  json.attribute("output_bytes", isLast ? 0 : problem.edges[stage].bytes);
}

} // namespace

void writeProblem(llvm::raw_ostream &os, const Problem &problem) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-problem/1");
    json.attribute("name", problem.name);
    json.attribute("microbatches", problem.microbatches);
    json.attributeArray("ranks", [&] {
      for (int64_t cap : problem.memoryCaps)
        json.object([&] {
          if (cap == noMemoryCap)
            json.attribute("memory_bytes", nullptr);
          else
            json.attribute("memory_bytes", cap);
        });
    });
    json.attributeArray("stages", [&] {
      for (int32_t stage = 0; stage < problem.numStages(); ++stage)
        json.object([&] { writeStage(json, problem, stage); });
    });
    json.attributeObject("link", [&] { writeSpeed(json, problem.link); });
    json.attributeArray("links", [&] {
      for (const auto &[pair, link] : problem.links)
        json.object([&, ranks = pair, speed = link] {
          json.attribute("from", ranks.first);
          json.attribute("to", ranks.second);
          writeSpeed(json, speed);
        });
    });
    json.attribute("objective", objectiveName(problem));
  });
}

} // namespace rondo::json
