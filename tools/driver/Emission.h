//===- Emission.h - From a file to an executable's C++ ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by `rondo compile` and `rondo bundle`: the request, and the steps
// from input to C++. Every failure has been printed; functions return exit
// codes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_EMISSION_H
#define RONDO_TOOLS_DRIVER_EMISSION_H

#include "dialect/Pipe.h"
#include "formats/ops/Translations.h"
#include "planning/adaptive/CandidateTable.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Session.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>
#include <string>

namespace rondo::driver {

/// The options of options/Emission.td. Paths and names that are not given are
/// empty.
struct EmissionRequest {
  std::string input, scheduleName, scheduleFile;
  std::vector<std::string> costsPaths;
  std::optional<pipe::Target> target;
  std::optional<pipe::DType> dtype;
  std::optional<pipe::Optimizer> optimizer;
  /// Messages go through MPI.
  bool needsMpi = false;
  /// Makes the executable adaptive even if the file does not.
  bool isAdaptive = false;
  /// The program can impose links.
  bool imposesLinks = false;
};
EmissionRequest emissionRequest(const Arguments &arguments);

/// The number type of activations if none is given.
pipe::DType defaultDType(pipe::Target target);
/// Reports a type that the target does not take; returns the exit code.
int checkDType(pipe::Target target, pipe::DType dtype);

class Emission {
public:
  explicit Emission(EmissionRequest request) : request(std::move(request)) {}

  /// Reads the input and selects the schedules, for the target that the command
  /// line or the plan names.
  int read();
  // One of these follows read(). Ctrl-C ends searches with what they have; else
  // it ends the process.
  /// As far as a proved schedule.
  int schedule();
  /// The same for an adaptive executable of one schedule, with all candidates.
  /// `adaptive` gives the values that the file leaves open.
  int candidates(pipe::AdaptiveAttr adaptive,
                 std::optional<CandidateTable> &table);
  /// As far as proved programs with messages and memory.
  int lower();
  /// As far as C++, which text() returns.
  int emit();

  mlir::ModuleOp module() { return file.module(); }
  mlir::MLIRContext *context() { return module().getContext(); }
  llvm::StringRef text() const { return cppText; }

  /// The chosen schedule, or the executable of several, and its target and
  /// dtype.
  const std::string &scheduleName() const { return name; }
  pipe::Target target() const { return chosenTarget; }
  pipe::DType dtype() const { return chosenType; }
  /// A line that says what was written where: `wrote train: 4 ranks, @mine
  /// 1f1b, arena 26.1 MiB of 64 MiB (rank 0)`, and one for each of several
  /// schedules. Prints nothing if the output is standard output.
  void reportWritten(llvm::StringRef path) const;
  /// Whether the program names the backend of librondo_mpi.a.
  bool needsMpi() const { return request.needsMpi; }
  /// Whether the program may search while it trains, with librondo_search.a.
  /// Known once there are schedules.
  bool searches() const { return isAdaptive || drawsDocuments; }
  /// The bodies of custom layers that the plan's model names, each once. Known
  /// once there are schedules.
  const std::vector<std::string> &bodies() const { return bodyNames; }

private:
  /// Runs passes up to a phase at once, so that what one has found out is known
  /// to the next.
  enum class Phase : uint8_t { Scheduled, Lowered, Emitted };
  int runTo(Phase last);
  void noteSchedules();
  void noteArenas();
  bool chooseSchedule();
  /// Costs and sizes, and an imported schedule.
  int resolve();
  bool chooseScheduleFile();
  int importSchedule();
  /// Keeps only these schedules and their programs.
  void keepOnly(llvm::ArrayRef<pipe::ScheduleOp> chosen);
  mlir::LogicalResult shareState(llvm::ArrayRef<pipe::ScheduleOp> chosen,
                                 pipe::AdaptiveAttr adaptive);
  int chooseOptimizer();
  int chooseTarget();

  const EmissionRequest request;
  Session file;
  /// The schedule of --schedule-file; its text is in the buffer.
  std::unique_ptr<llvm::MemoryBuffer> scheduleText;
  formats::ScheduleSource source;
  std::string name;
  /// Figures of the schedules that are known so far.
  std::string figures, moreFigures;
  bool isAdaptive = false;
  /// Whether the program packs a batch for each iteration.
  bool drawsDocuments = false;
  pipe::Target chosenTarget = pipe::Target::Cpu;
  pipe::DType chosenType = pipe::DType::Fp32;
  std::vector<std::string> bodyNames;
  std::string cppText;
  llvm::raw_string_ostream cpp{cppText};
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_EMISSION_H
