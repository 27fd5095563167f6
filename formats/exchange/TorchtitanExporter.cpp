//===- TorchtitanExporter.cpp - The keys for a CSV in torchtitan ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchtitan reads a compute_only CSV. Where stages lie follows from the name
// of a schedule, so only the placements of named schedules can be said.
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/Adapt.h"
#include "formats/exchange/Placement.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

/// Text in TOML's quotes.
std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    // A line may not end within the quotes.
    if (const auto code = static_cast<unsigned char>(c);
        code < 0x20 || code == 0x7f)
      result += "\\u00" + llvm::utohexstr(code, /*LowerCase=*/false,
                                          /*Width=*/2);
    else
      result += c;
  }
  return result + '"';
}

/// The modules of each stage by torchtitan's names.
void writeModules(llvm::ArrayRef<StageLayers> layers, llvm::raw_ostream &os) {
  os << "module_fqns_per_model_part = [\n";
  int64_t block = 0;
  for (const StageLayers &stage : layers) {
    std::vector<std::string> names;
    if (stage.hasEmbedding)
      names.push_back("tok_embeddings");
    for (int64_t i = 0; i < stage.blocks; ++i)
      names.push_back("layers." + std::to_string(block++));
    if (stage.hasHead) {
      names.push_back("norm");
      names.push_back("lm_head");
    }
    os << "  [";
    for (size_t i = 0; i < names.size(); ++i)
      os << (i == 0 ? "" : ", ") << quoted(names[i]);
    os << "],\n";
  }
  os << "]\n";
}

std::optional<Fault> write(const ExchangedSchedule &schedule,
                           const ExportOptions &options, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  if (std::optional<Fault> fault = needChain(problem, "torchtitan's schedules"))
    return fault;
  llvm::StringRef name;
  switch (placementOf(problem)) {
  case PlacementKind::Linear:
    name = "1F1B";
    break;
  case PlacementKind::Loop:
    name = "Interleaved1F1B";
    break;
  case PlacementKind::V:
    name = schedule.overlap.empty() ? "ZBVZeroBubble" : "DualPipeV";
    break;
  case PlacementKind::Other:
    return fail("torchtitan takes the placement from the name of a schedule: "
                "one stage a rank, as many on each in a loop, or two in a V; "
                "here " +
                describePlacement(problem) +
                "; `rondo export torch-csv` is for PyTorch itself, which "
                "takes any");
  }
  os << "# " << name
     << " says where the stages are; the order is that of the CSV.\n"
     << "[parallelism]\n"
     << "pipeline_parallel_degree = " << problem.numRanks() << "\n"
     << "pipeline_parallel_schedule = " << quoted(name) << "\n"
     << "pipeline_parallel_schedule_csv = " << quoted(options.csvPath) << "\n";
  if (problem.statesSamples)
    os << "pipeline_parallel_microbatch_size = " << problem.samples << "\n";
  if (!schedule.layers.empty())
    writeModules(schedule.layers, os);
  os << "\n[training]\n";
  if (problem.statesSamples)
    os << "local_batch_size = "
       << int64_t(problem.samples) * problem.microbatches << "\n";
  else
    os << "# local_batch_size: " << problem.microbatches
       << " times pipeline_parallel_microbatch_size\n";
  notes.push_back("the CSV itself: `rondo export torch-csv`, to " +
                  options.csvPath);
  noteSharedWeight(schedule, notes);
  if (schedule.layers.empty())
    notes.push_back("the layers of the stages are not known; set "
                    "module_fqns_per_model_part to " +
                    countOf(problem.numStages(), "list"));
  return std::nullopt;
}

} // namespace

Exporter exchange::torchtitanExporter() {
  return {"torchtitan",
          "toml",
          "the keys of torchtitan that go with a CSV of tasks",
          {Part::Schedule},
          {"csv"},
          write};
}
