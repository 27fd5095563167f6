//===- Exchange.h - Schedules to and from other tools -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exporter or importer is one file of this folder and one row of
// Formats.def. Commands, help and tests read the tables, and docs/exchange.md
// is written from them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_EXCHANGE_EXCHANGE_H
#define RONDO_FORMATS_EXCHANGE_EXCHANGE_H

#include "kinds/Counts.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::exchange {

/// Two tasks that follow each other on a rank and that a framework may run as
/// one: an F, then an I or a B.
using Overlap = std::vector<std::pair<Action, Action>>;

/// The layers of a transformer in a stage, if its model is known.
struct StageLayers {
  bool hasEmbedding = false, hasHead = false;
  int64_t blocks = 0;
  /// Blocks that run their forward again, and whether they are the first ones.
  int64_t recomputed = 0;
  bool recomputesFirst = true;
};

/// The stages of a tied model's embedding and head, which have one weight.
struct SharedWeight {
  int32_t embedding = 0, head = 0;
};

/// Data parallelism and recomputation around a pipeline in other tools; no part
/// of its order.
struct Surroundings {
  /// Replicas of the pipeline. Each group of `shards` of them keeps the sharded
  /// state once.
  int32_t replicas = 1, shards = 1;
  /// [stage]; empty if all keep their state whole.
  std::vector<ShardedState> sharded;
  /// [stage]; empty if none recomputes.
  std::vector<Recomputation> recomputation;
};

/// The parts of formats: the order of tasks on each rank, these with the
/// messages between them, the costs of stages, what stages hold of a model.
enum class Part { Schedule, Program, Times, Layers };
/// `schedule, times`.
std::string namesOf(llvm::ArrayRef<Part> parts);

/// A schedule that keeps the rules S1 to S6, and what goes with it.
struct ExchangedSchedule {
  Problem problem;
  Schedule schedule;
  /// The problem's costs are stated; otherwise every F, I and W takes 1 ns.
  bool hasTimes = false;
  Overlap overlap;
  /// If iterations overlap: whether steps clip by the norm of all gradients.
  bool clipsByNorm = false;
  /// Its origin, such as `kfkb:k=2`; empty if unknown.
  std::string family;
  /// [stage]; empty if the stages are not those of a transformer.
  std::vector<StageLayers> layers;
  /// Empty if it is not known whether the model is tied; with an empty inside,
  /// it is not.
  std::optional<std::optional<SharedWeight>> shared;
  /// Filled by onePipeline().
  Surroundings around;
};

/// Features of the formats of a version of PyTorch.
struct TorchVersion {
  const char *name;
  bool hasOverlap, hasReduceGrad, hasWaits;
};
/// The versions that are known, from old to new.
llvm::ArrayRef<TorchVersion> torchVersions();
inline const TorchVersion &newestTorch() { return torchVersions().back(); }
/// Null if it is not known.
const TorchVersion *findTorch(llvm::StringRef name);

struct ExportOptions {
  const TorchVersion *torch = &newestTorch();
  /// Adjacent I and W become B if nothing waits for the I.
  bool fuse = false;
  /// Stages whose I and W become B.
  std::vector<int32_t> wholeStages;
  /// The forwards of every stage ascend.
  bool ascending = false;
  /// Messages are placed as early as they can be sent, instead of in one order
  /// for all ranks.
  bool earlyMessages = false;
  /// The path by which torchtitan finds the CSV.
  std::string csvPath = "schedule.csv";
};

/// Micro-batches that differ in a format of another tool.
enum class UnevenForm : uint8_t {
  /// Times and bytes in memory may differ; all messages of an edge have one
  /// size.
  EqualMessages,
  Any,
};

/// A format that is written.
struct Exporter {
  const char *name;
  /// The ending of its files, without a dot.
  const char *ending;
  /// One phrase for the help.
  const char *summary;
  /// Parts of a schedule that must be known.
  std::vector<Part> needs;
  /// Which options of `rondo export` it takes.
  std::vector<const char *> options;
  /// Writes a schedule and appends notes for the user, each a sentence. Fails
  /// with why the format cannot say it, one sentence, lower case.
  std::optional<Fault> (*write)(const ExchangedSchedule &schedule,
                                const ExportOptions &options,
                                llvm::raw_ostream &os,
                                std::vector<std::string> &notes);
  /// It has schedules whose iterations overlap.
  bool hasWindows = false;
  /// If it orders one pipeline, which onePipeline() makes: the subject of
  /// messages, such as `PyTorch's schedules`. Else null.
  const char *who = nullptr;
  /// It has copies to hosts (SAVE, LOAD).
  bool hasCopies = false;
  UnevenForm uneven = UnevenForm::EqualMessages;
  /// Micro-batches are numbered in the order of the last stage's forwards.
  bool ascends = false;
};

struct ImportOptions {
  /// The name of a new problem; a given one keeps its own.
  std::string name = "imported";
  /// Costs and caps; null: every F, I and W takes 1 ns, and memory is free.
  const Problem *problem = nullptr;
  const TorchVersion *torch = &newestTorch();
  /// PyTorch will scale the gradients: scale_grads=True.
  bool scalesGradients = false;
  /// Which messages of a program wait for one another. PyTorch gives a rank one
  /// communicator, whose messages NCCL carries in the order of their calls.
  Queues queues = Queues::PerRank;
  /// Megatron's layouts do not state these; 0 if not given.
  int64_t ranks = 0, microbatches = 0;
  /// Micro-batches that a rank runs of a chunk before the next chunk, of
  /// Megatron's interleaved schedules; 0: as many as there are ranks.
  int64_t group = 0;
};

/// A format that is read.
struct Importer {
  const char *name;
  const char *summary;
  /// Parts that a file must have.
  std::vector<Part> needs;
  /// Which options of `rondo import` it takes.
  std::vector<const char *> options;
  /// Reads a schedule that runs, or fails with what is wrong and where, one
  /// sentence, lower case. Appends notes for the user.
  Result<ExchangedSchedule> (*read)(llvm::StringRef text,
                                    const ImportOptions &options,
                                    std::vector<std::string> &notes);
};

/// In the order of the help.
llvm::ArrayRef<Exporter> exporters();
llvm::ArrayRef<Importer> importers();

// One file each.
#define EXPORTER(function) Exporter function();
#define IMPORTER(function) Importer function();
#include "formats/exchange/Formats.def"

/// A failure of this folder.
Fault fail(const llvm::Twine &message);
/// A failure that concerns a stage, which stageOf() returns.
Fault failIn(int32_t stage, const llvm::Twine &message);
/// -1 if a failure concerns no stage.
int32_t stageOf(const Fault &fault);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_EXCHANGE_H
