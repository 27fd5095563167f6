//===- ProblemText.h - rondo-problem as its text has it ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects of a rondo-problem and the tables of their keys. A ProblemText
// has what the file states, also what a Problem has in another form or divides
// among replicas.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_PROBLEMTEXT_H
#define RONDO_FORMATS_JSON_PROBLEMTEXT_H

#include "formats/json/Table.h"
#include "schedule/model/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::json {

struct RankText {
  /// noMemoryCap: no cap.
  int64_t hostMemoryBytes = noMemoryCap;
  std::optional<HostLink> hostLink;
  /// Not stated: follows from the device.
  std::optional<int64_t> memoryBytes;
  std::optional<DeviceMemory> device;
  std::optional<HostCosts> host;
};

/// A stage of version 1.
struct ChainStageText {
  int64_t rank = 0, forwardNs = 0, inputGradNs = 0, weightGradNs = 0,
          activationBytes = 0, freedBytes = 0, outputBytes = 0;
};

/// Bytes of a cost that a text leaves out.
inline constexpr int64_t notStated = -1;

/// `fixed + ceil(sum of perSize[k] * size[k] / over)`, by the sizes of a
/// micro-batch.
struct AffineText {
  int64_t fixed = 0, over = 1;
  std::vector<int64_t> perSize;

  bool operator!=(const AffineText &other) const {
    return fixed != other.fixed || over != other.over ||
           perSize != other.perSize;
  }
};

/// The forms in which a figure differs by micro-batch; at most one is stated.
struct UnevenText {
  std::optional<AffineText> affine;
  std::vector<int64_t> byIndex;

  bool isStated() const { return affine || !byIndex.empty(); }
};

/// The cost of SAVE or LOAD.
struct CopyText {
  /// Not stated: follows from the host link.
  std::optional<int64_t> ns;
  /// Not stated: 0.
  std::optional<int64_t> bytes;
  /// LOAD alone. Not stated: R where the stage recomputes, I elsewhere.
  std::optional<LoadBefore> before;
  UnevenText unevenNs, unevenBytes;

  bool isUneven() const {
    return unevenNs.isStated() || unevenBytes.isStated();
  }
};

/// The cost of a kind. A figure that differs by micro-batch is `notStated` in
/// the Cost.
struct CostText : Cost {
  bool hasNs = false;
  UnevenText unevenNs, unevenAcquire, unevenRelease;
  /// W frees what F and R took and I did not free.
  bool freesRest = false;

  bool isUneven() const {
    return unevenNs.isStated() || unevenAcquire.isStated() ||
           unevenRelease.isStated();
  }
};

/// Costs by kind.
struct CostsText {
  std::array<CostText, numCostColumns> row = {};
  /// [costColumn(kind)]: whether the text has the kind.
  std::array<bool, numCostColumns> has = {};
  std::optional<CopyText> save, load;
};

struct ReplicaText {
  int64_t rank = 0;
  std::optional<int32_t> samples;
  /// Costs of its own.
  std::optional<CostsText> costs;
};

struct ShardText {
  ShardedState what = ShardedState::Optimizer;
  std::optional<int32_t> group;
};

/// Which replicas of a stage take a micro-batch.
enum class Split : uint8_t { Samples, RoundRobin };

/// A stage of version 2.
struct StageText {
  std::vector<ReplicaText> replicas;
  Split split = Split::Samples;
  std::optional<ShardText> shard;
  std::optional<int64_t> weightBytes;
  std::optional<VersionPolicy> versions;
  CostsText costs;
};

struct EdgeText {
  int32_t from = 0, to = 0;
  /// Not stated: differs by micro-batch.
  std::optional<int64_t> bytes;
  /// Not stated: those of the activation; -1: no gradient comes back.
  std::optional<int64_t> gradientBytes;
  UnevenText unevenBytes, unevenGradientBytes;
  bool isRecomputed = false;
};

struct RankLinkText : Link {
  int64_t from = 0, to = 0;
};

struct NicText {
  std::vector<int64_t> ranks;
  int64_t bytesPerUs = 0;
  int32_t server = -1;
};

struct HostLinkText : SharedHostLink {
  std::vector<int64_t> ranks;
};

struct ProblemText {
  std::string name;
  int32_t microbatches = 0, iterations = 1;
  std::optional<int32_t> samples;
  /// [micro-batch]: as many sizes for each.
  std::vector<std::vector<int64_t>> sizes;
  std::vector<RankText> ranks;
  std::vector<ChainStageText> chain;
  std::vector<StageText> stages;
  std::vector<EdgeText> edges;
  std::optional<Link> link;
  std::vector<RankLinkText> links;
  std::vector<NicText> nics;
  std::vector<HostLinkText> hostLinks;
  std::optional<HostCosts> host;
  std::optional<ChannelModel> channels;
  Objective objective = Objective::Makespan;
};

/// The keys of rondo-problem/1 and /2, whose stages differ, with those of the
/// objects in it.
const Table<ProblemText> &problemTable(int version);

/// Reads either version. On a fault `text` has the name if that was read.
std::optional<TextFault> readProblemText(Value value, ProblemText &text);

/// A problem as rondo-problem/2 states it, and back. The problem is
/// unchecked.
ProblemText textOf(const Problem &problem);
std::optional<TextFault> toProblem(const ProblemText &text, Problem &problem);

/// Reads an object of policyTable(), or the name of a policy, which stands for
/// its words.
std::optional<TextFault> readPolicy(const Place &place, Value value,
                                    VersionPolicy &policy);
/// Writes the object.
void writePolicy(llvm::json::OStream &json, const VersionPolicy &policy);

/// Puts costs that a text states at `where` into a row of the cost table, which
/// keeps the figures that it does not state, and checks that they free what
/// they take. Part of toProblem().
std::optional<TextFault> setCosts(const CostsText &text,
                                  const std::string &where, bool isSharded,
                                  Cost *row);

/// Lets the replicas of a stage copy, if its costs at `where` have SAVE and
/// LOAD. Precondition: all else of the stage is set. Part of toProblem().
std::optional<TextFault> setCopies(const StageText &text,
                                   const std::string &where, int32_t stage,
                                   Problem &problem);
/// Sets the costs of a replica's copies of a micro-batch, if the text has any.
/// Precondition: setCopies().
std::optional<TextFault>
setCopyCosts(const CostsText &text, const std::string &where,
             const ProblemText &ofText, int64_t microbatch,
             const Problem &problem, int32_t replica, CostRow &row);
/// The costs of copies of replicas, added up, as a text states them: without
/// times that follow from the host links.
void writeCopies(const Problem &problem, const std::vector<int32_t> &replicas,
                 CostsText &costs);
/// The costs that a text states at `where`, for micro-batch `microbatch`: each
/// figure is a number. Part of toProblem().
Result<CostsText> costsOfMicrobatch(const CostsText &text,
                                    const std::string &where,
                                    const ProblemText &problem,
                                    int64_t microbatch);
bool isUneven(const CostsText &text);
/// The value of a figure that differs by micro-batch, or a fault. `where` names
/// its key without `_by_index`.
Result<int64_t> valueOf(const UnevenText &text, const std::string &where,
                        const ProblemText &problem, int64_t microbatch);
/// A fault if the sizes of micro-batches are not one list for each, all equally
/// long.
std::optional<TextFault> checkSizes(const ProblemText &text);

/// Sets the costs of what sharded stages gather and reduce, of
/// `parameter_bytes` each, from the links, unless the stage states their time.
/// A fault if a stage states other bytes for them. Part of toProblem().
std::optional<TextFault> addShardCosts(Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMTEXT_H
