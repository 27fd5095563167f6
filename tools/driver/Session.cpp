//===- Session.cpp - What a command has read ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Session.h"

#include "dialect/Bridge.h"
#include "dialect/Nearest.h"
#include "dialect/Nesting.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"
#include "formats/ops/Imports.h"
#include "modules/MeasuredCosts.h"
#include "passes/Pipelines.h"
#include "plans/PlanFigures.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rondo::driver {

/// A note with the op that the first word at `loc` may mean, if an op may begin
/// there: at the beginning of a line, or after results. Empty if the word is an
/// op, or is close to none.
static std::string suggestedOp(mlir::MLIRContext *context, StringRef text,
                               mlir::Location loc) {
  auto place = dyn_cast<mlir::FileLineColLoc>(loc);
  if (!place || place.getColumn() == 0)
    return "";
  for (unsigned line = 1; line < place.getLine(); ++line)
    text = text.split('\n').second;
  text = text.split('\n').first;
  const StringRef before = text.take_front(place.getColumn() - 1).rtrim();
  if (!before.empty() && !before.ends_with("="))
    return "";
  const StringRef word =
      text.drop_front(place.getColumn() - 1).take_while([](char c) {
        return isAlnum(c) || c == '_' || c == '.';
      });
  if (word.empty() || mlir::RegisteredOperationName::lookup(word, context) ||
      mlir::RegisteredOperationName::lookup(("builtin." + word).str(), context))
    return "";
  SmallVector<StringRef> known;
  for (mlir::RegisteredOperationName op :
       context->getRegisteredOperationsByDialect("pipe"))
    known.push_back(op.getStringRef());
  const std::string withDialect = ("pipe." + word).str();
  const std::string meant =
      didYouMean(word.contains('.') ? word : StringRef(withDialect), known);
  return StringRef(meant).substr(2).str();
}

Session::Session() : ownContext(mlir::MLIRContext::Threading::DISABLED) {
  // An error shows the line of the file; the op in generic form adds nothing.
  ownContext.printOpOnDiagnostic(false);
  ownContext.loadDialect<pipe::PipeDialect>();
}

Session::Session(std::string source) : Session() {
  if (!source.empty())
    source += ": ";
  plainHandler = std::make_unique<mlir::ScopedDiagnosticHandler>(
      context(), [source = std::move(source)](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          reportError(source + diagnostic.str());
      });
}

mlir::LogicalResult Session::read(StringRef file) {
  path = file.str();
  root = parse(file);
  return mlir::success(isRead());
}

mlir::LogicalResult Session::readAlso(StringRef path) {
  mlir::OwningOpRef<mlir::ModuleOp> added = parse(path);
  if (!added)
    return mlir::failure();
  for (mlir::Operation &op : *added->getBody())
    if (auto symbol = dyn_cast<mlir::SymbolOpInterface>(op))
      if (mlir::Operation *known =
              mlir::SymbolTable::lookupSymbolIn(*root, symbol.getNameAttr())) {
        mlir::InFlightDiagnostic error =
            op.emitError() << "@" << symbol.getName() << " is in both files";
        error.attachNote(known->getLoc()) << "the other one is here";
        return mlir::failure();
      }
  root->getBody()->getOperations().splice(root->getBody()->end(),
                                          added->getBody()->getOperations());
  return mlir::success();
}

mlir::OwningOpRef<mlir::ModuleOp> Session::parse(StringRef path) {
  std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return nullptr;
  StringRef text = buffer->getBuffer();
  if (text.trim().empty()) {
    reportError(path + ": the file is empty");
    return nullptr;
  }
  // Problems and schedules in JSON have an error of their own below.
  if (checkFileKind(path, text, {formats::FileKind::Plans},
                    {formats::FileKind::Problem, formats::FileKind::Schedule}))
    return nullptr;
  if (text.contains('\0') || !llvm::json::isUTF8(text)) {
    reportError(path + ": not a text file");
    return nullptr;
  }
  if (text.ltrim().starts_with("{") && !text.ltrim().starts_with("{-#")) {
    reportError(path + ": it begins with '{', as JSON does, but must be a "
                       ".mlir file");
    reportNote("`rondo verify --problems FILE --schedules FILE` checks "
               "schedules in JSON; `rondo compile` takes one with "
               "--schedule-file");
    return nullptr;
  }
  if (int64_t line = pipe::findTooDeep(text)) {
    reportFault(path, "line " + Twine(line) + ": more than " +
                          Twine(pipe::maxOpenBrackets) + " open brackets");
    return nullptr;
  }
  Source &source = *sources.emplace_back(std::make_unique<Source>());
  source.manager.AddNewSourceBuffer(std::move(buffer), SMLoc());
  source.handler = std::make_unique<mlir::SourceMgrDiagnosticHandler>(
      source.manager, context());
  // Generated parsers report an inner failure once more, in their own words.
  bool hasError = false;
  std::string suggestion;
  mlir::ScopedDiagnosticHandler firstOnly(
      context(), [&](mlir::Diagnostic &diagnostic) {
        bool isError =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        if (!isError || hasError)
          return mlir::success(isError);
        hasError = true;
        // The dialect itself suggests words in place of its own.
        if (!StringRef(diagnostic.str()).contains("; did you mean "))
          suggestion = suggestedOp(context(), text, diagnostic.getLocation());
        return mlir::failure();
      });
  auto module =
      mlir::parseSourceFile<mlir::ModuleOp>(source.manager, context());
  if (!suggestion.empty())
    reportNote(suggestion);
  if (!module && path != "-" && !isModuleFile(path))
    reportNote("plans are in .mlir files (docs/language.md), and this is '" +
               path + "'");
  return module;
}

mlir::LogicalResult
Session::run(function_ref<void(mlir::PassManager &)> build) {
  mlir::PassManager passes(context());
  build(passes);
  return passes.run(*root);
}

int Session::exitCode() const {
  return runControl.noOrderFits ? Infeasible : Failure;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static bool readCosts(ArrayRef<std::string> paths,
                      std::vector<pipe::CostsFile> &files) {
  for (const std::string &path : paths) {
    const std::unique_ptr<MemoryBuffer> text = readOrReport(path);
    if (!text)
      return false;
    Result<json::Costs> costs = json::readCosts(text->getBuffer());
    if (!costs) {
      reportUnread(path, text->getBuffer(), {formats::FileKind::Costs},
                   describe(costs.fault()));
      return false;
    }
    files.push_back({path, std::move(*costs)});
  }
  return true;
}

/// Prints an error, or otherwise the notes; whether there is no error.
static bool report(Error error, const std::vector<std::string> &notes) {
  if (error) {
    reportError(toString(std::move(error)));
    return false;
  }
  for (const std::string &note : notes)
    reportNote(note);
  return true;
}

bool applyCosts(pipe::PlanOp plan, ArrayRef<std::string> paths,
                bool areSizesTried) {
  std::vector<pipe::CostsFile> files;
  std::vector<std::string> notes;
  return readCosts(paths, files) &&
         report(pipe::applyCosts(plan, files, areSizesTried, notes), notes);
}

bool applyLayerCosts(pipe::PlanOp allLayers, ArrayRef<std::string> paths) {
  std::vector<pipe::CostsFile> files;
  return readCosts(paths, files) &&
         report(pipe::applyLayerCosts(allLayers, files), {});
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

int Session::load(const std::string &file, const std::string &costsPath) {
  if (isModuleFile(file))
    return !isRead() && failed(read(file)) ? int(Failure) : resolve(costsPath);
  if (!costsPath.empty())
    return reportUsage("--costs needs a .mlir file");
  return readProblems(file, problems, mayBeUneven);
}

int Session::resolve(const std::string &costsPath) {
  if (module().getOps<pipe::PlanOp>().empty())
    return reportError(path + ": contains no pipe.plan");
  if (keepsWritten)
    original = module().clone();
  if (failed(run(pipe::buildPlanPipeline)))
    return exitCode();
  if (!costsPath.empty()) {
    std::vector<pipe::CostsFile> files;
    std::vector<std::string> notes;
    if (!readCosts({costsPath}, files) ||
        !report(pipe::applyCosts(module(), files.front(), notes), notes))
      return Failure;
  }
  problems.clear();
  figures.clear();
  for (pipe::PlanOp plan : module().getOps<pipe::PlanOp>()) {
    mlir::FailureOr<Problem> problem = pipe::buildProblem(plan);
    if (failed(problem))
      return Failure;
    problems.push_back(std::move(*problem));
    figures.push_back(pipe::figuresOf(plan));
  }
  return Success;
}

void Session::restoreWritten() {
  if (!original)
    return;
  root = std::move(original);
  problems.clear();
  figures.clear();
}

pipe::PlanOp Session::planOf(const Problem &problem) {
  return isRead() ? module().lookupSymbol<pipe::PlanOp>(problem.name)
                  : pipe::PlanOp();
}

int readProblems(const std::string &path, std::vector<Problem> &problems,
                 bool mayBeUneven) {
  const std::unique_ptr<MemoryBuffer> contents = readOrReport(path);
  if (!contents)
    return Failure;
  Result<json::ProblemFile> file =
      json::readProblems(path, contents->getBuffer());
  if (!file) {
    const std::string fault = describe(file.fault());
    if (int code = checkFileKind(path, contents->getBuffer(),
                                 {formats::FileKind::Problem}))
      return code;
    int code = reportFault(path, fault);
    StringRef name = path;
    if (!name.ends_with(".json") && !name.ends_with(".jsonl"))
      reportNote("a file has either plans (.mlir) or problems (.json, or "
                 ".jsonl with one per line)");
    return code;
  }
  for (const Problem &problem : file->problems)
    if (problem.isUneven() && !mayBeUneven)
      return reportError(path + ": problem " + problem.name +
                         " has micro-batches that differ, which only search, "
                         "simulate, compare, verify, export and timelines "
                         "support yet");
  problems = std::move(file->problems);
  return Success;
}

int Session::reportErrorOf(const Problem &problem, const Twine &message,
                           const std::optional<Fault> &fault) {
  pipe::PlanOp plan = planOf(problem);
  if (!plan)
    return reportError(problem.name + ": " + message);
  outs().flush();
  mlir::InFlightDiagnostic error = plan.emitError() << message;
  if (fault && isShortfall(*fault))
    error.attachNote(plan.lookupCluster().getDevices()[fault->rank]->getLoc())
        << "rank " << fault->rank << " is this device";
  return Failure;
}

int Session::reportNoSchedule(const Problem &problem,
                              ArrayRef<std::string> reasons,
                              ArrayRef<FamilyChoice> choices) {
  constexpr size_t maxShown = 4;
  std::string text = reasons.empty() ? "no schedule" : "no schedule: ";
  text += join(reasons.take_front(maxShown), "; ");
  if (reasons.size() > maxShown)
    text += "; " + std::to_string(reasons.size() - maxShown) + " more";
  std::string policy = "pipedream";
  for (const FamilyChoice &choice : choices)
    if (choice.family->policy)
      policy = choice.family->policy;
  const std::string command = problem.iterations > 1
                                  ? " --iterations " +
                                        std::to_string(problem.iterations) +
                                        " --policy " + policy
                                  : "";
  return reportErrorOf(problem, text + "; `rondo search FILE" + command +
                                    "` searches for an order of any stages");
}

int writeProblems(StringRef path, ArrayRef<Problem> problems) {
  if (path.empty())
    return Success;
  return writeOrReport(path, [&](raw_ostream &os) {
    for (const Problem &problem : problems) {
      json::writeProblem(os, problem);
      os << "\n";
    }
  });
}

int writeOps(StringRef path, mlir::ModuleOp module,
             function_ref<void(raw_ostream &)> printHead) {
  return writeOrReport(path, [&](raw_ostream &os) {
    if (printHead)
      printHead(os);
    formats::printOps(module, os);
  });
}

//===----------------------------------------------------------------------===//
// The schedules that --schedule names
//===----------------------------------------------------------------------===//

/// A name of --schedule, as in the file or without its @.
static StringRef nameIn(StringRef word) {
  word = word.trim();
  word.consume_front("@");
  return word;
}

bool hasEmptyName(StringRef wanted) {
  SmallVector<StringRef> words;
  wanted.split(words, ',');
  return any_of(words, [](StringRef word) { return nameIn(word).empty(); });
}

SmallVector<pipe::ScheduleOp, 0>
findSchedules(mlir::ModuleOp module, StringRef wanted, StringRef input) {
  SmallVector<pipe::ScheduleOp, 0> chosen;
  SmallVector<StringRef> words;
  wanted.split(words, ',');
  for (StringRef word : words) {
    word = nameIn(word);
    if (auto schedule = module.lookupSymbol<pipe::ScheduleOp>(word)) {
      if (!is_contained(chosen, schedule))
        chosen.push_back(schedule);
      continue;
    }
    if (auto executable = module.lookupSymbol<pipe::ExecutableOp>(word);
        executable && words.size() == 1)
      return executable.lookupSchedules();
    std::string names;
    std::vector<std::string> known;
    for (pipe::ScheduleOp schedule : module.getOps<pipe::ScheduleOp>()) {
      names += " @" + schedule.getSymName().str();
      known.push_back(schedule.getSymName().str());
    }
    const std::string nearest = nearestWord(word.str(), known);
    reportError(input + ": contains no pipe.schedule @" + word +
                (nearest.empty() ? "" : "; did you mean @" + nearest + "?"));
    reportNote("it contains" + names);
    return {};
  }
  return chosen;
}

} // namespace rondo::driver
