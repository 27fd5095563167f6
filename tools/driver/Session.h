//===- Session.h - What a command has read ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SESSION_H
#define RONDO_TOOLS_DRIVER_SESSION_H

#include "dialect/Pipe.h"
#include "lowering/Lowering.h"
#include "passes/Passes.h"
#include "schedule/families/Family.h"
#include "schedule/model/Problem.h"
#include "tools/driver/Terminal.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace rondo::driver {

/// The context of a command and what it has read: a module of the pipe dialect,
/// or problems, each file once. Every failure has been printed, with its place
/// in the file; functions that return an int return the exit code.
class Session {
public:
  Session();
  /// For ops that are made of other files and have no place in one: an error is
  /// printed after `source`, if that is not empty.
  explicit Session(std::string source);

  mlir::LogicalResult read(llvm::StringRef path);
  /// Adds what another file contains.
  mlir::LogicalResult readAlso(llvm::StringRef path);
  /// Reads the problems of a file: those of the plans of a .mlir file, which
  /// may have been read already, as resolve() does, or those of a
  /// rondo-problem. A file without one is an error.
  int load(const std::string &path, const std::string &costsPath = "");
  /// Gives the stages of the module their costs, from measurements if
  /// `costsPath` names a rondo-costs file, and sets `problems` and `figures`.
  int resolve(const std::string &costsPath = "");
  /// Makes resolve() keep the module as it was read, for written().
  void keepWritten() { keepsWritten = true; }
  /// Makes the module what it was before resolve(). Ops of the resolved module,
  /// `problems` and `figures` are gone.
  void restoreWritten();

  /// Runs the passes that `build` adds.
  mlir::LogicalResult run(llvm::function_ref<void(mlir::PassManager &)> build);
  /// For passes: Ctrl-C ends their searches, and exitCode() is what they found.
  pipe::RunControl *control() { return &runControl; }
  /// The exit code after a failed run(): Infeasible if no order at all fits
  /// the devices' memory, otherwise Failure.
  int exitCode() const;

  /// Whether a module has been read.
  bool isRead() const { return static_cast<bool>(root); }
  mlir::ModuleOp module() { return *root; }
  /// The module before resolve(), if it was kept; else module().
  mlir::ModuleOp written() { return original ? *original : *root; }
  mlir::MLIRContext *context() { return &ownContext; }
  /// The only plan of the name; null without a module.
  pipe::PlanOp planOf(const Problem &problem);

  /// Whether load() accepts problems whose micro-batches differ.
  bool mayBeUneven = false;
  /// In the order of the file.
  std::vector<Problem> problems;
  /// Figures of the plans of `problems` that lowering needs; empty for a
  /// rondo-problem.
  std::vector<PlanFigures> figures;
  /// The figures of a problem's plan, or null.
  const PlanFigures *figuresOf(size_t number) const {
    return figures.empty() ? nullptr : &figures[number];
  }

  /// Reports an error of a problem: at its plan, with the device that `fault`
  /// lacks memory of, if there is one; without a module, after the name of the
  /// problem. Returns Failure.
  int reportErrorOf(const Problem &problem, const llvm::Twine &message,
                    const std::optional<Fault> &fault = std::nullopt);
  /// Reports that none of several schedules applies to the problem, and why;
  /// no reasons: they have been printed. `choices`: the families among them.
  int reportNoSchedule(const Problem &problem,
                       llvm::ArrayRef<std::string> reasons,
                       llvm::ArrayRef<FamilyChoice> choices = {});

private:
  /// A file's text, and what prints its lines.
  struct Source {
    llvm::SourceMgr manager;
    std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  };
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef path);

  // Handlers belong to the context.
  mlir::MLIRContext ownContext;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> plainHandler;
  std::vector<std::unique_ptr<Source>> sources;
  std::string path;
  bool keepsWritten = false;
  mlir::OwningOpRef<mlir::ModuleOp> root, original;
  pipe::RunControl runControl{Interrupt::flag()};
};

/// Reads the problems of a rondo-problem file, in their order. Unless
/// `mayBeUneven`, refuses those whose micro-batches differ.
int readProblems(const std::string &path, std::vector<Problem> &problems,
                 bool mayBeUneven = false);

/// Writes a line of rondo-problem for each; nothing if `path` is empty.
int writeProblems(llvm::StringRef path, llvm::ArrayRef<Problem> problems);

/// Writes the ops of a module, after what `printHead` prints, so that files can
/// be joined.
int writeOps(llvm::StringRef path, mlir::ModuleOp module,
             llvm::function_ref<void(llvm::raw_ostream &)> printHead = nullptr);

/// Gives the stages of a plan, or the layers of its model, the times of
/// rondo-costs files, as pipe::applyCosts() and applyLayerCosts() do. False
/// after printing an error.
bool applyCosts(pipe::PlanOp plan, llvm::ArrayRef<std::string> paths,
                bool areSizesTried);
bool applyLayerCosts(pipe::PlanOp allLayers, llvm::ArrayRef<std::string> paths);

/// Whether a name of --schedule is missing, as after the comma of `a,`.
bool hasEmptyName(llvm::StringRef wanted);

/// The schedules that `wanted`, of --schedule, names, in its order; empty after
/// reporting an error.
llvm::SmallVector<pipe::ScheduleOp, 0> findSchedules(mlir::ModuleOp module,
                                                     llvm::StringRef wanted,
                                                     llvm::StringRef input);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SESSION_H
