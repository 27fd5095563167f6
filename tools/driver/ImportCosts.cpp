//===- ImportCosts.cpp - rondo import costs -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Lengths.h"
#include "formats/SizedProblem.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

#define OPTIONS "tools/driver/ImportCosts.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// The numbers of --lengths; empty after reporting an error.
std::vector<int64_t> lengthsOf(const Arguments &arguments, size_t files) {
  std::vector<int64_t> lengths;
  const std::string text = arguments.text("lengths");
  for (StringRef item : split(text, ',')) {
    int64_t length = 0;
    if (item.getAsInteger(10, length) || length < 1 ||
        length > formats::maxDocumentLength) {
      reportUsage("--lengths: \"" + item +
                  "\" is no length, a whole number from 1 to 2^31 - 1");
      return {};
    }
    lengths.push_back(length);
  }
  if (lengths.size() == files)
    return lengths;
  reportUsage("--lengths has " + countOf(lengths.size(), "number") + " for " +
              countOf(files, "file"));
  return {};
}

int readCosts(const Arguments &arguments, const std::string &path,
              int64_t length, std::vector<formats::SizedCosts> &measured) {
  const std::unique_ptr<MemoryBuffer> text = readOrReport(path);
  if (!text)
    return Failure;
  Result<json::Costs> costs = json::readCosts(text->getBuffer());
  if (!costs)
    return reportUnread(path, text->getBuffer(), {formats::FileKind::Costs},
                        describe(costs.fault()));
  const int64_t samples = costs->microbatchSamples
                              ? costs->microbatchSamples
                              : arguments.number("batch", 0);
  if (samples == 0)
    return reportFault(path, "does not state microbatch_samples; --batch N "
                             "says how many sequences a micro-batch has");
  Result<std::vector<int64_t>> sizes =
      formats::tokensAndPairs(formats::DocumentLengths(samples, length));
  if (!sizes)
    return reportFault(path, describe(sizes.fault()));
  measured.push_back({std::move(*costs), std::move(*sizes)});
  return Success;
}

void writeCosts(raw_ostream &os,
                const std::vector<formats::FittedStage> &stages) {
  os << "{\"stages\": [";
  for (const auto &[index, stage] : enumerate(stages)) {
    os << (index ? ",\n  " : "\n  ");
    llvm::json::OStream json(os);
    json.object([&] {
      json.attribute("name", stage.name);
      json.attributeObject("costs", [&] {
        for (const auto &[kind, fit] : stage.costs)
          json.attributeObject(traitsOf(kind).code, [&] {
            json.attributeObject("ns", [&] {
              json.attribute("fixed", fit.cost.fixed);
              json.attributeArray("per_size", [&] {
                for (int64_t factor : fit.cost.perSize)
                  json.value(factor);
              });
              json.attribute("over", fit.cost.over);
            });
          });
      });
    });
  }
  os << "]}\n";
}

/// The time that the fit misses most.
void reportResidual(const std::vector<formats::FittedStage> &stages,
                    const std::vector<int64_t> &lengths) {
  const formats::AffineFit *worst = nullptr;
  std::string task;
  for (const formats::FittedStage &stage : stages)
    for (const auto &[kind, fit] : stage.costs)
      if (!worst || std::abs(fit.residual) > std::abs(worst->residual)) {
        worst = &fit;
        task = (Twine(traitsOf(kind).code) + " of stage \"" + stage.name +
                "\" at length " + Twine(lengths[fit.worst]))
                   .str();
      }
  if (!worst)
    return reportNote("no stage takes time");
  std::string text;
  raw_string_ostream(text) << format("%+.2f", 100 * worst->residual);
  reportNote("largest residual of the fit: " + Twine(text) + " %, " + task);
}

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  const std::string output = arguments.text("output", "-"),
                    problemPath = arguments.text("problem");
  if (paths.empty() || !arguments.has("lengths"))
    return reportUsage("import costs needs rondo-costs files of one program at "
                       "several lengths, and --lengths");
  const std::vector<int64_t> lengths = lengthsOf(arguments, paths.size());
  if (lengths.empty())
    return Usage;
  std::vector<UsedFile> inputs = {{"--problem", problemPath}};
  for (const std::string &path : paths)
    inputs.push_back({"an input file", path});
  if (int code = checkOutputs(inputs, {{"--output", output}}))
    return code;
  std::vector<formats::SizedCosts> measured;
  for (const auto &[path, length] : zip_equal(paths, lengths))
    if (int code = readCosts(arguments, path, length, measured))
      return code;
  Result<std::vector<formats::FittedStage>> stages =
      formats::fitStages(measured);
  if (!stages)
    return reportError(describe(stages.fault()));
  std::string problem;
  if (!problemPath.empty()) {
    const std::unique_ptr<MemoryBuffer> text = readOrReport(problemPath);
    if (!text)
      return Failure;
    Result<json::ProblemText> read =
        formats::readProblemText(text->getBuffer());
    if (!read)
      return reportUnread(problemPath, text->getBuffer(),
                          {formats::FileKind::Problem}, describe(read.fault()));
    if (read->sizes.empty())
      return reportFault(problemPath,
                         "the problem has no sizes; `rondo import lengths` "
                         "gives it those of documents");
    if (auto fault = formats::setTimes(*read, *stages))
      return reportFault(problemPath, describe(*fault));
    Result<std::string> written = formats::writeProblemText(*read);
    if (!written)
      return reportFault(problemPath, describe(written.fault()));
    problem = std::move(*written) + "\n";
  }
  if (int code = writeOrReport(output, [&](raw_ostream &os) {
        if (problem.empty())
          writeCosts(os, *stages);
        else
          os << problem;
      }))
    return code;
  reportResidual(*stages, lengths);
  reportWritten(output, "costs of " + countOf(stages->size(), "stage") +
                            " by tokens and pairs");
  return Success;
}

} // namespace

const Command &importCostsCommand() {
  static const Command command{
      164,
      "import costs",
      "fit costs by tokens and pairs to times measured at several lengths",
      optionTable(),
      {"COSTS... --lengths N,... [--problem FILE] [-o FILE]"},
      {"rondo import costs at512.json at1024.json at4096.json --lengths "
       "512,1024,4096",
       "rondo import costs at512.json at1024.json at4096.json --lengths "
       "512,1024,4096 --problem uneven.json -o fitted.json"},
      nullptr,
      nullptr,
      run,
      4096};
  return command;
}

} // namespace rondo::driver
