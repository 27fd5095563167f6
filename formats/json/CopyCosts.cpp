//===- CopyCosts.cpp - SAVE and LOAD of stages of rondo-problem -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemText.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

namespace rondo::json {

namespace {

using Check = std::optional<TextFault>;

LoadBefore defaultBefore(const Problem &problem, int32_t replica) {
  return problem.recomputes(replica) ? LoadBefore::Recompute
                                     : LoadBefore::InputGrad;
}

/// A LOAD that takes other bytes than SAVE frees. `key`: the entry of LOAD;
/// `of`: the micro-batch, if they differ.
TextFault unequalBytes(const std::string &key, int64_t saved, int64_t loaded,
                       const std::string &of) {
  return key + " is " + std::to_string(loaded) + ", but SAVE frees " +
         std::to_string(saved) + of +
         "; they copy the same bytes: give both the same number";
}

/// The copies of a stage, or of a replica that states its own.
struct Stated {
  const CostsText &text;
  std::string where;

  /// Whether it has SAVE and LOAD. A fault if it has one of them.
  Check check(bool &has) const {
    has = text.save && text.load;
    if (text.save.has_value() == text.load.has_value())
      return {};
    return where +
           (text.save ? " has SAVE, but no LOAD" : " has LOAD, but no SAVE") +
           "; a stage that copies has both";
  }

  StageCopies copies(LoadBefore before) const {
    return {text.save->bytes.value_or(0), before, text.save->ns, text.load->ns};
  }

  /// Checks the figures. `taken` are the bytes that F takes, `freed` those that
  /// I frees of them.
  Check checkFigures(LoadBefore before, bool recomputes, int64_t taken,
                     int64_t freed) const {
    if (before == LoadBefore::Recompute && !recomputes)
      return where + ".LOAD.before is \"R\", but the stage does not recompute";
    // Problem::check() compares each of micro-batches that differ.
    if (isUneven(text))
      return {};
    const int64_t bytes = text.save->bytes.value_or(0),
                  loaded = text.load->bytes.value_or(0);
    if (loaded != bytes)
      return unequalBytes(where + ".LOAD.takes_bytes", bytes, loaded, "");
    const int64_t most =
        before == LoadBefore::WeightGrad ? taken - freed : taken;
    if (bytes > most)
      return where + ".SAVE.frees_bytes is " + std::to_string(bytes) +
             ", but only " + std::to_string(std::max<int64_t>(most, 0)) +
             " may leave: what F takes" +
             (before == LoadBefore::WeightGrad ? ", without what I frees" : "");
    return {};
  }

  /// Times that are not stated need a host link.
  Check checkTimes(const Problem &problem, int32_t rank) const {
    if (problem.hostMemory.link(rank))
      return {};
    for (auto [copy, name] :
         {std::pair(&text.save, ".SAVE"), {&text.load, ".LOAD"}})
      if (!(*copy)->ns && !(*copy)->unevenNs.isStated())
        return where + name + " has no ns, and rank " + std::to_string(rank) +
               " has no host_link from which it would follow";
    return {};
  }
};

} // namespace

std::optional<TextFault> setCopies(const StageText &text,
                                   const std::string &where, int32_t stage,
                                   Problem &problem) {
  const int32_t first = problem.replicas.numberOf(stage);
  const Stated whole = {text.costs, where + ".costs"};
  bool has = false;
  if (Check fault = whole.check(has))
    return fault;
  if (has) {
    const LoadBefore before =
        text.costs.load->before.value_or(defaultBefore(problem, first));
    const std::array<CostText, numCostColumns> &row = text.costs.row;
    if (Check fault = whole.checkFigures(
            before, problem.recomputes(first),
            std::max<int64_t>(
                0, row[costColumn(ActionKind::Forward)].acquireBytes),
            std::max<int64_t>(
                0, row[costColumn(ActionKind::InputGrad)].releaseBytes)))
      return fault;
    problem.setCopies(stage, whole.copies(before));
  }
  for (const Replica &replica : problem.replicas.of(stage)) {
    const std::optional<CostsText> &costs = text.replicas[replica.index].costs;
    const Stated own = {costs ? *costs : text.costs,
                        where + ".replicas[" + std::to_string(replica.index) +
                            "].costs"};
    bool hasOwn = false;
    if (costs)
      if (Check fault = own.check(hasOwn))
        return fault;
    if (hasOwn && !has)
      return own.where +
             " has SAVE and LOAD, but the costs of its stage have none";
    if (!hasOwn) {
      if (Check fault = has ? whole.checkTimes(problem, replica.rank) : Check())
        return fault;
      continue;
    }
    const int32_t number = first + replica.index;
    const LoadBefore before =
        own.text.load->before.value_or(*problem.hostMemory.loads[number]);
    if (Check fault = own.checkFigures(
            before, problem.recomputes(number),
            problem.cost(number, ActionKind::Forward).acquireBytes,
            problem.cost(number, ActionKind::InputGrad).releaseBytes))
      return fault;
    if (Check fault = own.checkTimes(problem, replica.rank))
      return fault;
    problem.setReplicaCopies(number, own.copies(before));
  }
  return {};
}

/// A figure of a copy of a micro-batch; `even` if it is the same for all.
static std::optional<TextFault> figureOf(const UnevenText &uneven,
                                         const std::string &where,
                                         const ProblemText &problem,
                                         int64_t microbatch,
                                         std::optional<int64_t> &even) {
  if (!uneven.isStated())
    return {};
  const Result<int64_t> own = valueOf(uneven, where, problem, microbatch);
  if (!own)
    return TextFault(describe(own.fault()));
  even = *own;
  return {};
}

std::optional<TextFault>
setCopyCosts(const CostsText &text, const std::string &where,
             const ProblemText &ofText, int64_t microbatch,
             const Problem &problem, int32_t replica, CostRow &row) {
  if (!text.save || !text.load)
    return {};
  for (auto [copy, kind, key] :
       {std::tuple(&*text.save, ActionKind::Save, ".frees_bytes"),
        {&*text.load, ActionKind::Load, ".takes_bytes"}}) {
    std::optional<int64_t> ns = copy->ns, bytes = copy->bytes.value_or(0);
    const std::string name = where + "." + traitsOf(kind).code;
    if (Check fault =
            figureOf(copy->unevenBytes, name + key, ofText, microbatch, bytes))
      return fault;
    if (Check fault =
            figureOf(copy->unevenNs, name + ".ns", ofText, microbatch, ns))
      return fault;
    if (!ns)
      ns = problem.copyNs(problem.rankOf(replica), *bytes);
    Cost &cost = row[costColumn(kind)];
    cost = problem.cost(replica, kind);
    cost.ns = ns.value_or(0);
    (kind == ActionKind::Save ? cost.releaseBytes : cost.acquireBytes) = *bytes;
  }
  const int64_t saved = row[costColumn(ActionKind::Save)].releaseBytes,
                loaded = row[costColumn(ActionKind::Load)].acquireBytes;
  if (saved == loaded)
    return {};
  const std::string number = std::to_string(microbatch);
  return unequalBytes(where + ".LOAD.takes_bytes" +
                          (text.load->unevenBytes.byIndex.empty()
                               ? ""
                               : "_by_index[" + number + "]"),
                      saved, loaded, " of micro-batch " + number);
}

void writeCopies(const Problem &problem, const std::vector<int32_t> &replicas,
                 CostsText &costs) {
  const int32_t first = replicas.front();
  if (!problem.hostMemory.mayCopy(first))
    return;
  const LoadBefore before = *problem.hostMemory.loads[first];
  CopyText save, load;
  if (before != defaultBefore(problem, first))
    load.before = before;
  for (auto [text, kind] :
       {std::pair(&save, ActionKind::Save), {&load, ActionKind::Load}}) {
    std::vector<int64_t> allNs, allBytes;
    bool isFromLink = true;
    const int64_t count =
        problem.unevenCosts.empty() ? 1 : problem.microbatches;
    for (int64_t i = 0; i < count; ++i) {
      int64_t &ns = allNs.emplace_back(), &bytes = allBytes.emplace_back();
      for (const int32_t replica : replicas) {
        const Cost &cost = problem.cost(replica, kind, i);
        bytes += cost.acquireBytes + cost.releaseBytes;
        ns += cost.ns;
        isFromLink &=
            problem.copyNs(problem.rankOf(replica),
                           cost.acquireBytes + cost.releaseBytes) == cost.ns;
      }
    }
    if (!llvm::all_equal(allBytes))
      text->unevenBytes.byIndex = allBytes;
    else if (allBytes.front() != 0)
      text->bytes = allBytes.front();
    if (isFromLink)
      continue;
    if (llvm::all_equal(allNs))
      text->ns = allNs.front();
    else
      text->unevenNs.byIndex = allNs;
  }
  costs.save = save;
  costs.load = load;
}

} // namespace rondo::json
