//===- Export.cpp - rondo export ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Nearest.h"
#include "formats/exchange/Adapt.h"
#include "formats/exchange/OnePipeline.h"
#include "reports/Figures.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/RunFiles.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define OPTIONS "tools/driver/Export.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

void printKinds(raw_ostream &os) {
  for (const exchange::Exporter &exporter : exchange::exporters())
    os << "  " << left_justify(exporter.name, 18)
       << left_justify(exchange::namesOf(exporter.needs), 17)
       << exporter.summary << " (." << exporter.ending << ")\n";
}

/// The exporter that the first argument names; null after reporting.
const exchange::Exporter *exporterOf(const std::string &kind) {
  if (const auto *exporter = findFormat(exchange::exporters(), kind))
    return exporter;
  std::vector<StringRef> names;
  for (const exchange::Exporter &exporter : exchange::exporters())
    names.push_back(exporter.name);
  const std::string meant = didYouMean(kind, names);
  reportUsage("unknown kind '" + Twine(kind) + "'" +
              (meant.empty() ? "; kinds are " + join(names, ", ") : meant));
  return nullptr;
}

/// Reads the schedule, and what may and may not be asked for with it.
int readInput(const Arguments &arguments, const exchange::Exporter &exporter,
              const std::string &path, PlanSource &source,
              exchange::ExchangedSchedule &schedule) {
  const bool isModule = isModuleFile(path);
  for (const char *option : {"schedule", "costs"})
    if (!isModule && arguments.has(option))
      return reportUsage(Twine("--") + option + " needs a .mlir file");
  for (const char *option : {"problem", "line"})
    if (isModule && arguments.has(option))
      return reportUsage(Twine("--") + option +
                         " is for a rondo-schedule; a .mlir file has its plan");
  if (!isModule)
    return readScheduleFile(path, arguments.number("line", 0),
                            arguments.text("problem"), schedule);
  const std::string name = arguments.text("schedule"),
                    costs = arguments.text("costs");
  return is_contained(exporter.needs, exchange::Part::Schedule)
             ? readScheduleOfModule(path, name, costs, exporter.hasWindows,
                                    source, schedule)
             : readLayersOfModule(path, name, costs, source, schedule);
}

/// The fault of a schedule with copies for an exporter without them.
std::optional<Fault> checkCopies(const exchange::ExchangedSchedule &schedule,
                                 const exchange::Exporter &exporter) {
  if (exporter.hasCopies)
    return std::nullopt;
  for (Action action : schedule.schedule.all())
    if (action.traits().isCopy())
      return exchange::fail(actionName(action, schedule.problem) +
                            " copies activations to or from the host, which " +
                            exporter.name + " cannot state yet");
  return std::nullopt;
}

/// Reads `B:0,2-3`, `B:last` or `B:all`.
int readWholeStages(const std::string &text, int32_t numStages,
                    std::vector<int32_t> &stages) {
  if (text.empty())
    return Success;
  const auto fault = [&](const Twine &why) {
    return reportUsage("--backward is '" + text + "'; " + why);
  };
  StringRef list = text;
  if (!list.consume_front("B:"))
    return fault("it begins with B: and names stages, such as B:0,2-3");
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    int32_t first = 0, last = numStages - 1;
    if (part == "last") {
      first = last;
    } else if (part != "all") {
      auto [from, to] = part.split('-');
      if (from.getAsInteger(10, first) ||
          (part.contains('-') ? to.getAsInteger(10, last)
                              : from.getAsInteger(10, last)) ||
          first < 0 || first > last)
        return fault("'" + part +
                     "' is no stage, range of stages, last or all");
      if (last >= numStages)
        return fault("the last stage is " + Twine(numStages - 1));
    }
    for (int32_t stage = first; stage <= last; ++stage)
      if (!is_contained(stages, stage))
        stages.push_back(stage);
  }
  return Success;
}

/// Whether a file is a rondo-layout, which is a run rather than a schedule.
bool isLayoutFile(const std::string &path) {
  if (isModuleFile(path) || path == "-" || isSpecialFile(path))
    return false;
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (buffer)
    return formats::fileKindOf((*buffer)->getBuffer()) ==
           formats::FileKind::Layout;
  consumeError(buffer.takeError());
  return false;
}

int run(const Arguments &arguments) {
  const std::vector<std::string> words = arguments.files();
  if (words.empty())
    return reportUsage("export needs a kind and a file; `rondo export --help` "
                       "lists the kinds");
  const exchange::Exporter *exporter = exporterOf(words.front());
  if (!exporter)
    return Usage;
  if (words.size() < 2)
    return reportUsage("export " + Twine(exporter->name) +
                       " needs a file: .mlir, or rondo-schedule");
  if (int code =
          checkFormatOptions(arguments, exchange::exporters(), *exporter))
    return code;
  const std::string &path = words[1];
  if (isLayoutFile(path) &&
      is_contained({"megatron", "torchtitan"}, StringRef(exporter->name)))
    return exportRun(exporter->name, path, arguments.text("output", "-"));
  const std::string output = arguments.text("output", "-"),
                    problemOutput = arguments.text("problem-output");
  std::vector<UsedFile> inputs = inputFiles(arguments, {"problem", "costs"});
  inputs.front() = {"the input file", path};
  if (int code = checkOutputs(
          inputs, {{"--output", output}, {"--problem-output", problemOutput}}))
    return code;
  exchange::ExportOptions options;
  if (int code = readTorchVersion(arguments, options.torch))
    return code;
  options.fuse = arguments.has("fuse");
  options.ascending = arguments.has("ascending");
  options.earlyMessages = arguments.text("messages") == "early";
  options.csvPath = arguments.text("csv", options.csvPath);
  PlanSource source;
  exchange::ExchangedSchedule schedule;
  if (int code = readInput(arguments, *exporter, path, source, schedule))
    return code;
  if (std::optional<Fault> fault = checkCopies(schedule, *exporter))
    return source.reportError(path, *fault);
  if (int code =
          readWholeStages(arguments.text("backward"),
                          schedule.problem.numStages(), options.wholeStages))
    return code;
  std::vector<std::string> notes;
  std::string text;
  raw_string_ostream os(text);
  if (exporter->who) {
    Result<exchange::ExchangedSchedule> one =
        exchange::onePipeline(schedule, exporter->who, notes);
    if (!one)
      return source.reportError(path, one.fault());
    schedule = std::move(*one);
  }
  if (arguments.has("pad"))
    if (std::optional<Fault> fault = exchange::padMicrobatches(schedule, notes))
      return source.reportError(path, *fault);
  if (exporter->uneven == exchange::UnevenForm::EqualMessages)
    if (std::optional<Fault> fault =
            exchange::needEqualMessages(schedule.problem, exporter->who))
      return source.reportError(path, *fault);
  if (schedule.problem.isUneven() && exporter->ascends)
    exchange::renameToAscend(schedule, notes);
  if (std::optional<Fault> fault =
          exporter->write(schedule, options, os, notes))
    return source.reportError(path, *fault);
  if (int code = writeProblems(problemOutput, schedule.problem))
    return code;
  if (int code =
          writeOrReport(output, [&](raw_ostream &file) { file << text; }))
    return code;
  for (const std::string &note : notes)
    reportNote(note);
  if (exporter->who && source.plan &&
      any_of(source.plan.getStages(),
             [](pipe::StageOp stage) { return stage.shardsMomentsAlone(); }))
    reportNote(Twine("sharded<moments> is left out: each replica of ") +
               exporter->who +
               " keeps all moments unless the tool's own option for ZeRO-1 "
               "is given");
  if (schedule.problem.iterations > 1 && problemOutput.empty() &&
      isModuleFile(path))
    reportNote("iterations overlap, so the orders are of a window of " +
               Twine(schedule.problem.iterations) +
               "; --problem-output FILE writes its problem");
  if (!schedule.hasTimes &&
      (options.fuse || !options.wholeStages.empty() ||
       is_contained(exporter->needs, exchange::Part::Times)))
    reportNote("times are those of F, I and W of 1 ns each; --problem FILE "
               "gives the real ones");
  reportWritten(output,
                Twine(exporter->name) + " of " + shapeOf(schedule.problem));
  return Success;
}

} // namespace

const Command &exportCommand() {
  static const Command command{
      130,
      "export",
      "write a schedule for PyTorch, torchtitan, Megatron-LM, JaxPP or Primus",
      optionTable(),
      {"KIND FILE.mlir [--schedule NAME] [-o FILE] [OPTIONS]",
       "KIND SCHEDULE.json [--problem FILE] [-o FILE] [OPTIONS]",
       "megatron|torchtitan RUN.json [-o FILE]"},
      {"rondo export torch-csv examples/gpt-small.mlir --schedule zero_bubble "
       "-o schedule.csv",
       "rondo export megatron schedule.json --problem problem.json",
       "rondo export megatron run.json -o train.sh"},
      "kinds, and what has to be known",
      printKinds,
      run,
      2};
  return command;
}

} // namespace rondo::driver
