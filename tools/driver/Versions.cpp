//===- Versions.cpp - rondo versions --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "schedule/simulate/NormDelay.h"
#include "schedule/simulate/VersionAnalysis.h"
#include "schedule/transforms/Iterations.h"
#include "schedule/transforms/Recomputed.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Evaluate.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"
#include "tools/driver/ScheduleFiles.h"
#include "tools/driver/Table.h"
#include "tools/driver/VersionedSums.h"
#include "tools/driver/Windows.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rondo::driver {

namespace {

void printPolicies(raw_ostream &os) {
  for (const NamedPolicy &named : namedPolicies)
    os << "  " << left_justify(named.name, 13) << named.summary << "\n";
}

/// A schedule that keeps the rules, and what its tasks read.
struct Versioned {
  std::string name;
  /// With the policies that it has been judged by.
  Problem problem;
  Schedule schedule;
  Simulation simulation;
  VersionAnalysis versions;
  VersionedSums sums;
};

/// `0`, `0 to 3, mean 1.75` where they differ.
std::string delayText(const Delays &delays) {
  if (delays.least == delays.most)
    return std::to_string(delays.most);
  std::string mean;
  raw_string_ostream(mean) << format("%.4g", delays.mean());
  return std::to_string(delays.least) + " to " + std::to_string(delays.most) +
         ", mean " + mean;
}

std::string copiesText(const Problem &problem, const ReplicaVersions &replica,
                       int32_t stage) {
  const std::string copies = std::to_string(replica.copies);
  if (problem.weightBytes.empty())
    return copies;
  return copies + " (" +
         formatBytes(problem.weightBytes[stage] * replica.copies) + ")";
}

void printTasks(raw_ostream &os, const Versioned &of) {
  const Problem &problem = of.problem;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    os << "rank " << rank << ":";
    for (Action action : of.schedule.rank(rank)) {
      const ReplicaVersions &replica = of.versions.replicas[action.subject];
      os << " " << actionName(action, problem);
      if (action.kind() == ActionKind::Step)
        os << "=" << action.index + 1;
      else if (action.kind() == ActionKind::Forward ||
               action.kind() == ActionKind::Recompute)
        os << "@" << replica.readBy(action.kind())[action.index];
      else if (action.traits().makes & inputGradDone)
        // Of several micro-batches, each may have its own.
        for (int64_t i = 0; i < int64_t(action.count); ++i)
          if (i == 0 || replica.backward[action.index + i] !=
                            replica.backward[action.index + i - 1])
            os << (i == 0 ? "@" : ",") << replica.backward[action.index + i];
    }
    os << "\n";
  }
}

void printTable(raw_ostream &os, const Versioned &of, bool withTasks) {
  const Problem &problem = of.problem;
  os << "\n" << of.name << ": " << formatNs(of.simulation.makespanNs) << "\n";
  Table table;
  const bool hasAgain = hasRecomputation(problem);
  std::vector<std::string> heads = {"stage",        "rank",     "forward",
                                    "updates late", "backward", "updates late",
                                    "activations",  "copies"};
  if (hasAgain)
    heads.insert(heads.end() - 1, "updates late");
  table.add(heads);
  for (int32_t number = 0; number < problem.numReplicas(); ++number) {
    const Replica &replica = problem.replicas[number];
    const ReplicaVersions &versions = of.versions.replicas[number];
    const VersionPolicy policy = problem.policyOf(replica.stage);
    std::vector<std::string> row = {
        std::to_string(replica.stage),
        std::to_string(replica.rank),
        wordOf(policy.forward),
        delayText(versions.forwardDelay),
        wordOf(policy.backward),
        delayText(versions.backwardDelay),
        wordOf(policy.activations),
        copiesText(problem, versions, replica.stage)};
    if (hasAgain)
      row.insert(row.end() - 1, problem.recomputes(number)
                                    ? delayText(versions.recomputeDelay)
                                    : "-");
    table.add(row);
  }
  table.print(os);
  os << "  the forwards of a micro-batch read "
     << (of.versions.areForwardsVertical ? "one version" : "several versions")
     << ", its backwards "
     << (of.versions.areBackwardsVertical ? "one" : "several") << "\n";
  printSums(os, problem, of.sums);
  if (withTasks)
    printTasks(os, of);
}

void writeDelays(llvm::json::OStream &json, const char *key,
                 const Delays &delays) {
  json.attributeObject(key, [&] {
    json.attribute("least", delays.least);
    json.attribute("most", delays.most);
    json.attribute("mean", delays.mean());
  });
}

void writeJson(raw_ostream &os, const Versioned &of) {
  const Problem &problem = of.problem;
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("problem", problem.name);
    json.attribute("schedule", of.name);
    json.attribute("iterations", problem.iterations);
    json.attribute("makespan_ns", of.simulation.makespanNs);
    json.attribute("forwards_read_one_version",
                   of.versions.areForwardsVertical);
    json.attribute("backwards_read_one_version",
                   of.versions.areBackwardsVertical);
    writeSums(json, problem, of.sums);
    json.attributeArray("replicas", [&] {
      for (int32_t number = 0; number < problem.numReplicas(); ++number)
        json.object([&] {
          const Replica &replica = problem.replicas[number];
          const ReplicaVersions &versions = of.versions.replicas[number];
          const VersionPolicy policy = problem.policyOf(replica.stage);
          json.attribute("stage", replica.stage);
          json.attribute("rank", replica.rank);
          json.attribute("forward", wordOf(policy.forward));
          json.attribute("backward", wordOf(policy.backward));
          json.attribute("activations", wordOf(policy.activations));
          json.attribute("copies", versions.copies);
          writeDelays(json, "forward_delay", versions.forwardDelay);
          writeDelays(json, "backward_delay", versions.backwardDelay);
          auto writeVersions = [&](const char *key, ActionKind kind) {
            json.attributeArray(key, [&] {
              for (int32_t version : versions.readBy(kind))
                json.value(version);
            });
          };
          writeVersions("forward_versions", ActionKind::Forward);
          writeVersions("backward_versions", ActionKind::Backward);
          if (!problem.recomputes(number))
            return;
          writeDelays(json, "recompute_delay", versions.recomputeDelay);
          writeVersions("recompute_versions", ActionKind::Recompute);
        });
    });
  });
  os << "\n";
}

/// Reads the problems of a file of either kind.
int readAny(const Arguments &arguments, const std::string &path,
            ModuleFile &file, std::vector<Problem> &problems) {
  if (!StringRef(path).ends_with(".mlir")) {
    if (arguments.has("costs"))
      return reportUsage("--costs needs a .mlir file");
    return readProblems(path, problems);
  }
  std::vector<PlanFigures> figures;
  return readPlans(file, path, arguments.text("costs"), problems, figures);
}

class Printer {
public:
  Printer(bool asJson, bool withTasks) : asJson(asJson), withTasks(withTasks) {}

  /// Judges a candidate; one that breaks a rule is reported.
  void add(const Problem &problem, const Candidate &candidate,
           std::optional<VersionedSums> sums = std::nullopt) {
    const std::string name = problem.name + ": " + candidate.name + ": ";
    if (!candidate.schedule) {
      refuse(candidate.name, name, candidate.reason);
      return;
    }
    auto versions =
        analyzeVersions(problem, *candidate.schedule, candidate.simulation);
    if (!versions) {
      refuse(candidate.name, name, describe(versions.fault(), problem));
      return;
    }
    if (!sums) {
      sums.emplace();
      sums->clipsByNorm = candidate.clipsByNorm;
      if (problem.iterations > 1)
        sums->normDelay =
            normDelay(problem, *candidate.schedule, candidate.simulation);
    }
    const Versioned of{candidate.name,       problem,
                       *candidate.schedule,  candidate.simulation,
                       *std::move(versions), std::move(*sums)};
    if (asJson)
      writeJson(outs(), of);
    else
      printTable(outs(), of, withTasks);
    ++numAnalyzed;
  }

  /// Reports at the plan of `problem` that nothing has been analyzed.
  int finish(const Problem &problem, ModuleFile &file) const {
    return numAnalyzed > 0 ? int(Success)
                           : reportNoSchedule(problem, file, refusals);
  }

private:
  void refuse(const std::string &name, const std::string &inFile,
              const std::string &why) {
    refusals.push_back(refusalText(name, why));
    if (asJson)
      reportNote(inFile + why);
    else
      outs() << "\n" << name << ": no schedule: " << why << "\n";
  }

  const bool asJson, withTasks;
  size_t numAnalyzed = 0;
  /// Names and reasons.
  std::vector<std::string> refusals;
};

/// The schedules of a .mlir file whose iterations overlap, each in a window of
/// `iterations`, or of as many as it takes to settle. Sets `found` if there are
/// any.
int addSchedulesOf(ModuleFile &file, int64_t iterations, bool asJson,
                   Printer &printer, bool &found) {
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createGenerateSchedules());
      })))
    return file.exitCode();
  for (pipe::ScheduleOp op : file.module().getOps<pipe::ScheduleOp>()) {
    if (!op.overlaps() || op.isBodyEmpty())
      continue;
    found = true;
    mlir::FailureOr<int64_t> underWay = pipe::iterationsUnderWay(op);
    mlir::FailureOr<Problem> plan = pipe::buildProblem(op.lookupPlan());
    if (failed(underWay) || failed(plan))
      return Failure;
    auto window =
        overIterations(*plan, iterations > 0 ? iterations : 2 * *underWay + 4);
    if (!window)
      return reportError(describe(window.fault()));
    mlir::FailureOr<Problem> problem = pipe::withPoliciesOf(op, *window);
    if (failed(problem))
      return Failure;
    mlir::FailureOr<pipe::ExpandedSchedule> expanded =
        pipe::expandSchedule(op, *problem);
    mlir::FailureOr<std::string> family = pipe::familyText(op);
    if (failed(expanded) || failed(family))
      return Failure;
    mlir::FailureOr<VersionedSums> sums = versionedSums(op);
    if (failed(sums))
      sums = VersionedSums();
    if (!asJson)
      outs() << problem->name << ": " << countOf(problem->numStages(), "stage")
             << " on " << countOf(problem->numRanks(), "rank") << ", "
             << microbatchesText(*problem) << "\n";
    const std::string name =
        "@" + op.getSymName().str() + (family->empty() ? "" : " " + *family);
    printer.add(*problem,
                evaluate(name, *family, *problem, std::move(expanded->schedule),
                         /*keepTimes=*/true),
                std::move(*sums));
  }
  return Success;
}

int run(const Arguments &arguments) {
  const std::string path = arguments.file();
  if (path.empty())
    return reportUsage("versions needs a file: rondo-problem or .mlir");
  if (arguments.has("json") && arguments.has("tasks"))
    return reportUsage("--json has the versions of all tasks; --tasks is for "
                       "the table");
  std::vector<FamilyChoice> choices;
  for (const std::string &text : arguments.all("family")) {
    auto choice = parseFamily(text);
    if (!choice)
      return reportUsage(describe(choice.fault()));
    choices.push_back(*choice);
  }
  ModuleFile file;
  std::vector<Problem> problems;
  if (int code = readAny(arguments, path, file, problems))
    return code;
  const WindowRequest request = windowRequest(arguments);
  if (int code = applyWindow(request, file, problems))
    return code;
  Printer printer(arguments.has("json"), arguments.has("tasks"));
  if (choices.empty() && !arguments.has("schedules")) {
    bool found = false;
    if (StringRef(path).ends_with(".mlir") && request.policy.empty() &&
        !request.inSlots)
      if (int code = addSchedulesOf(file, request.iterations,
                                    arguments.has("json"), printer, found))
        return code;
    if (found)
      return printer.finish(problems.front(), file);
    choices = overlappedFamilies();
  }
  for (const Problem &problem : problems) {
    if (problem.iterations == 1)
      reportNote(problem.name + ": one iteration reads one version; "
                                "--iterations N looks at N of them");
    if (!arguments.has("json"))
      outs() << problem.name << ": " << countOf(problem.numStages(), "stage")
             << " on " << countOf(problem.numRanks(), "rank") << ", "
             << microbatchesText(problem) << "\n";
    if (arguments.has("schedules")) {
      std::vector<FileSchedule> schedules;
      if (int code =
              readSchedulesFor(problem, arguments.text("schedules"), schedules))
        return code;
      for (FileSchedule &of : schedules) {
        Candidate candidate =
            evaluate(of.name, of.name, problem, std::move(of.schedule),
                     /*keepTimes=*/true);
        candidate.clipsByNorm = of.clipsByNorm;
        printer.add(problem, candidate);
      }
    }
    for (const FamilyChoice &choice : choices)
      printer.add(withPolicyOf(choice, problem),
                  evaluate(choice, problem, /*keepTimes=*/true));
  }
  return printer.finish(problems.front(), file);
}

} // namespace

const Command &versionsCommand() {
  static const Command command{
      "versions",
      "say which weights every task reads",
      versionsOptions(),
      {"FILE [--iterations N] [--family NAME]... [OPTIONS]",
       "FILE --schedules FILE [OPTIONS]"},
      {"rondo versions problem.json --iterations 8 --family pipedream",
       "rondo versions examples/gpt-small.mlir --iterations 12 --tasks"},
      "policies",
      printPolicies,
      run};
  return command;
}

} // namespace rondo::driver
