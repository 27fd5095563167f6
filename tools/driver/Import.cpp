//===- Import.cpp - rondo import KIND -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Nearest.h"
#include "formats/ops/Translations.h"
#include "reports/Figures.h"
#include "schedule/rules/Legality.h"
#include "schedule/transforms/Iterations.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#define OPTIONS "tools/driver/Import.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

void printKinds(raw_ostream &os) {
  for (const exchange::Importer &importer : exchange::importers())
    os << "  " << left_justify(importer.name, 18)
       << left_justify(exchange::namesOf(importer.needs), 10)
       << importer.summary << "\n";
  for (const Command *command : commandsAfter("import"))
    os << "  " << left_justify(StringRef(command->name).substr(7), 28)
       << command->summary << "; see `rondo help " << command->name << "`\n";
}

const exchange::Importer *importerOf(const std::string &kind) {
  if (const auto *importer = findFormat(exchange::importers(), kind))
    return importer;
  std::vector<StringRef> names;
  for (const exchange::Importer &importer : exchange::importers())
    names.push_back(importer.name);
  for (const Command *command : commandsAfter("import"))
    names.push_back(StringRef(command->name).substr(7));
  const std::string meant = didYouMean(kind, names);
  reportUsage("unknown kind '" + Twine(kind) + "'" +
              (meant.empty() ? "; kinds are " + join(names, ", ") : meant));
  return nullptr;
}

/// Cluster, model, plan and schedule as ops. `path` and `problemPath`, empty if
/// there is none, are for messages.
int writeModule(const exchange::ExchangedSchedule &schedule,
                const std::string &path, const std::string &problemPath,
                const std::string &output) {
  const Problem &problem = schedule.problem;
  Session session(problemPath.empty() ? path : problemPath);
  // A plan has one iteration; the schedule says how those of a window overlap.
  Problem each = oneIteration(problem);
  each.versions.clear();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importProblem(each, session.context());
  if (!module)
    return Failure;
  if (std::optional<Fault> fault = checkSchedule(problem, schedule.schedule))
    return reportError(path + ": " + describe(*fault, problem));
  auto plan = *module->getOps<pipe::PlanOp>().begin();
  if (failed(formats::importOrders(plan, problem, schedule.schedule,
                                   schedule.clipsByNorm)))
    return Failure;
  if (int code = writeOps(output, *module))
    return code;
  if (problem.objective == Objective::Span)
    reportNote("the objective span is left out, since plans have none; "
               "search<objective = span> of a schedule states it");
  // The language has no pairs.
  if (!schedule.overlap.empty())
    reportNote(countOf(schedule.overlap.size(), "pair") +
               " of overlapped tasks left out, which the language does not "
               "have; a rondo-schedule keeps them");
  return Success;
}

/// The kinds of files that an importer reads or has an error of its own for,
/// other than a rondo-schedule.
SmallVector<formats::FileKind> kindsOf(const exchange::Importer &importer) {
  // Its error says which cell is no task.
  if (StringRef(importer.name) == "torch-csv")
    return {formats::FileKind::TorchCsv, formats::FileKind::TorchComms};
  if (StringRef(importer.name) == "torch-csv-comms")
    return {formats::FileKind::TorchComms};
  return {formats::FileKind::MegatronLayout};
}

int readSchedule(const Arguments &arguments, const exchange::Importer &importer,
                 const std::string &path,
                 exchange::ExchangedSchedule &schedule) {
  const std::string problemPath = arguments.text("problem");
  if (StringRef(importer.name) == exchange::rondoScheduleImporter().name) {
    if (arguments.has("name"))
      return reportUsage("--name is not for rondo-schedule, which names its "
                         "problem");
    return readScheduleFile(path, arguments.number("line", 0), problemPath,
                            schedule);
  }
  exchange::ImportOptions options;
  if (int code = readTorchVersion(arguments, options.torch))
    return code;
  options.scalesGradients = arguments.has("scale-grads");
  options.ranks = arguments.number("ranks", 0);
  options.microbatches = arguments.number("microbatches", 0);
  options.group = arguments.number("group", 0);
  // The table accepts no other words.
  if (arguments.text("queues") == "pair")
    options.queues = Queues::PerPair;
  Problem problem;
  if (!problemPath.empty()) {
    if (options.microbatches > 0)
      return reportUsage("--problem states the micro-batches; --microbatches "
                         "cannot be combined with it");
    if (int code = readProblem(problemPath, arguments.text("name"), problem))
      return code;
    options.problem = &problem;
  }
  const StringRef stem = sys::path::stem(path);
  options.name = arguments.text("name", path == "-" ? "imported" : stem);
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  std::vector<std::string> notes;
  Result<exchange::ExchangedSchedule> read =
      importer.read(buffer->getBuffer(), options, notes);
  const int code =
      read ? int(Success)
           : reportUnread(path, buffer->getBuffer(), kindsOf(importer),
                          describe(read.fault()));
  // A note about a row may explain an error.
  for (const std::string &note : notes)
    if (read || StringRef(note).starts_with("row "))
      reportNote(note);
  if (read)
    schedule = std::move(*read);
  return code;
}

int run(const Arguments &arguments) {
  const std::vector<std::string> words = arguments.files();
  if (words.empty())
    return reportUsage("import needs a kind and a file; `rondo import --help` "
                       "lists the kinds");
  const exchange::Importer *importer = importerOf(words.front());
  if (!importer)
    return Usage;
  if (words.size() < 2)
    return reportUsage("import " + Twine(importer->name) + " needs a file");
  if (int code =
          checkFormatOptions(arguments, exchange::importers(), *importer))
    return code;
  const std::string &path = words[1];
  const std::string output = arguments.text("output", "-"),
                    problemOutput = arguments.text("problem-output");
  std::vector<UsedFile> inputs = inputFiles(arguments, {"problem"});
  inputs.front() = {"the input file", path};
  if (int code = checkOutputs(
          inputs, {{"--output", output}, {"--problem-output", problemOutput}}))
    return code;
  exchange::ExchangedSchedule schedule;
  if (int code = readSchedule(arguments, *importer, path, schedule))
    return code;
  if (int code = writeProblems(problemOutput, schedule.problem))
    return code;
  if (isModuleFile(output)) {
    if (int code =
            writeModule(schedule, path, arguments.text("problem"), output))
      return code;
  } else {
    std::vector<std::string> notes;
    std::string text;
    raw_string_ostream line(text);
    if (std::optional<Fault> fault =
            exchange::rondoScheduleExporter().write(schedule, {}, line, notes))
      return reportError(describe(*fault));
    if (int code = writeOrReport(output, [&](raw_ostream &os) { os << text; }))
      return code;
  }
  reportWritten(output, "schedule of " + shapeOf(schedule.problem));
  return Success;
}

} // namespace

const Command &importCommand() {
  static const Command command{
      170,
      "import",
      "read a schedule of PyTorch or stages of Megatron-LM",
      optionTable(),
      {"KIND FILE [--problem FILE] [-o FILE] [OPTIONS]"},
      {"rondo import torch-csv schedule.csv -o schedule.json "
       "--problem-output problem.json",
       "rondo import torch-csv schedule.csv --problem problem.json -o "
       "plan.mlir"},
      "kinds, and what a file has to say",
      printKinds,
      run,
      2};
  return command;
}

} // namespace rondo::driver
