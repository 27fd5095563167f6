//===- Searching.h - Searches as the command line asks ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by `rondo search` and `rondo compare`. Functions that return an exit
// code have printed the error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_SEARCHING_H
#define RONDO_TOOLS_DRIVER_SEARCHING_H

#include "formats/json/ScheduleWriter.h"
#include "planning/FittingSearch.h"
#include "planning/FittingWindows.h"
#include "planning/PlanCandidates.h"
#include "schedule/search/Search.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

//===----------------------------------------------------------------------===//
// Orders of one problem (SearchRun.cpp)
//===----------------------------------------------------------------------===//

/// The options of options/Searching.td and the robust options of `search`.
struct SearchRequest {
  SearchOptions options;
  /// Overrides the problems' own.
  std::optional<Objective> objective;
  /// `mean` or `p95`; empty if the nominal figure decides.
  std::string robust;
  int32_t jitterPercent = 10;
  /// The schedule is written for `rondo compile`, so its programs must fit the
  /// devices whether or not weights are declared.
  bool isCompiled = false;

  /// The option that limits the search: `--effort` or `--time-limit-ms`.
  std::string limitOption() const;
  /// Sets the objective of the problems, if one is given.
  void applyObjective(llvm::MutableArrayRef<Problem> problems) const;
  /// A comparison is of one iteration: reports a problem of several, and
  /// returns the exit code.
  static int checkSearchable(llvm::ArrayRef<Problem> problems);
  /// The record in a rondo-schedule line of a search that found a schedule.
  json::SearchRecord recordOf(const SearchResult &result) const;
};

/// Reads the options of options/Searching.td.
SearchRequest searchRequest(const Arguments &arguments);
/// Reads the robust options of `search`. Returns Success, or the exit code
/// after printing an error.
int readRobustness(const Arguments &arguments, SearchRequest &request);

/// Searches one of the problems of `progress`, or the only one. If `plan` is
/// not null, accepts only schedules whose programs fit its devices.
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       Progress &progress, const PlanFigures *plan);
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       const PlanFigures *plan);

//===----------------------------------------------------------------------===//
// Windows (Windows.cpp)
//===----------------------------------------------------------------------===//

/// The options of `rondo search` for windows.
struct WindowSearchRequest {
  /// 0: as the problem has it.
  int64_t iterations = 0;
  /// Names of namedPolicies; empty: as the problem has it.
  std::vector<std::string> policies;
  int64_t maxDelay = anyDelay;
  /// Micro-batches of an iteration; empty: as the problem has it.
  std::vector<int64_t> microbatches;
};

/// Returns Success, or the exit code after printing an error.
int readWindowRequest(const Arguments &arguments, WindowSearchRequest &request);

/// Makes windows of the problems as asked, and reads --microbatches of them.
/// Reports invalid requests, also options that need a window if there is none,
/// or that windows do not have; returns the exit code.
int makeWindows(const Arguments &arguments, WindowSearchRequest &request,
                Session &session);

/// Searches one window: the best of its numbers of micro-batches. With
/// `arenasOf`, of a plan, which has one number, as searchFittingWindow() does.
WindowSearchResult runWindowSearch(const Problem &window,
                                   const WindowSearchRequest &request,
                                   const SearchOptions &options,
                                   const ArenasOfOrder &arenasOf = nullptr);

//===----------------------------------------------------------------------===//
// Both (SearchRun.cpp)
//===----------------------------------------------------------------------===//

/// A line of rondo-schedule.
struct SearchedLine {
  std::string text;
  /// Why there is no schedule; empty if there is one.
  std::string reason;
  /// Proved: a device's memory is too small for every order.
  bool noOrderFits = false;
  /// The schedule's figures, for a message.
  std::string figures;
  /// Why `rondo compile` would refuse it; empty if it would not.
  std::string refusal;
  /// The problem of a window's schedule.
  std::optional<Problem> chosen;
  std::optional<Schedule> order;
  std::optional<Fault> fault;
};

/// Searches the problems of a session. They share the threads first, as that
/// costs nothing; what is left over helps inside of each.
std::vector<SearchedLine> searchAll(Session &session, SearchRequest request,
                                    const WindowSearchRequest &windows);

//===----------------------------------------------------------------------===//
// --pareto (SearchCurve.cpp)
//===----------------------------------------------------------------------===//

struct CurveRequest {
  bool isAsked = false;
  int64_t points = 16;
  /// Lines on standard output instead of tables.
  bool asJson = false;
  /// `-` if no file gets the lines.
  std::string output;
};

/// Reads --pareto, --points and --json. Returns Success, or the exit code after
/// printing an error.
int readCurveRequest(const Arguments &arguments, CurveRequest &request);

/// Searches the curve of every problem, prints tables or lines and writes the
/// lines. Returns the exit code.
int searchCurves(const CurveRequest &request, const SearchRequest &search,
                 Session &session);

//===----------------------------------------------------------------------===//
// Plans of other shapes (Shapes.cpp)
//===----------------------------------------------------------------------===//

/// Which plans a command line asks for: comma-separated lists, or auto. If
/// neither placements nor chunks are given, the stages stay as written.
struct ShapeRequest {
  std::string placements, chunks, microbatches;
  /// Whether stages may recompute that do not as written.
  bool mayRecompute = false;

  bool isEmpty() const {
    return placements.empty() && chunks.empty() && microbatches.empty() &&
           !mayRecompute;
  }
};

/// Reads the options of options/Searching.td.
ShapeRequest shapeRequest(const Arguments &arguments);

/// Reads a file, unless it has been read, with one plan whose costs come from
/// its layers, and resolves its stages. Returns the exit code.
int readBasePlan(Session &session, const std::string &path, pipe::PlanOp &base);

/// Whether readBasePlan() takes the plan of the module as it was read, and its
/// stages keep their activations and are on one rank each, or sharded.
bool isPlainShape(Session &session);

/// Finds the shapes for a plan. Returns the exit code after printing an error.
int chooseShapes(const ShapeRequest &request, pipe::PlanOp base,
                 std::vector<PlanShape> &shapes);

/// Why a candidate was not made, not searched or not chosen; empty for one that
/// is open.
std::string reasonOf(const PlanCandidate &candidate,
                     llvm::ArrayRef<PlanCandidate> candidates);

/// The candidates without a plan: each reason once, with the shape it applies
/// to, or `V and 4 more` if three or more share it. Other candidates are
/// absent.
llvm::MapVector<const PlanCandidate *, std::string>
planless(llvm::ArrayRef<PlanCandidate> candidates);

//===----------------------------------------------------------------------===//
// The search of plans (PlanSearch.cpp)
//===----------------------------------------------------------------------===//

struct PlanSearchRequest {
  /// A .mlir file with one plan.
  std::string path;
  ShapeRequest shapes;
  SearchRequest search;
  /// A .mlir file gets the module of the chosen plan, any other its
  /// rondo-schedule line; `-` is standard output.
  std::string output;
  /// Path of the chosen problem; empty: not written.
  std::string problemOutput;
};

/// Makes a plan of each requested shape, searches the promising ones in turn
/// and writes the best. Returns the exit code.
int searchPlans(const PlanSearchRequest &request, Session &session);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHING_H
