//===- VerifyOrders.cpp - Local rules of schedules and programs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/OverlapRules.h"
#include "dialect/UnknownName.h"

#include "kinds/Collectives.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace rondo::pipe;
using rondo::traitsOf;

template <typename Op> static SmallVector<Op, 0> opsOf(Region &region) {
  return llvm::to_vector<0>(region.getOps<Op>());
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

PlanOp ScheduleOp::lookupPlan() {
  return mlir::SymbolTable::lookupNearestSymbolFrom<PlanOp>(
      (*this)->getParentOp(), getPlanAttr());
}

SmallVector<RankOp, 0> ScheduleOp::getRanks() {
  return opsOf<RankOp>(getBody());
}

SmallVector<LinkOrderOp, 0> ScheduleOp::getLinkOrders() {
  return opsOf<LinkOrderOp>(getBody());
}

SmallVector<CopyOrderOp, 0> ScheduleOp::getCopyOrders() {
  return opsOf<CopyOrderOp>(getBody());
}

/// Two ops that define the same thing.
static LogicalResult emitTwice(Operation *second, Operation *first,
                               const Twine &what) {
  return second->emitError()
             .append(what, " is given twice")
             .attachNote(first->getLoc())
         << "first given here";
}

static LogicalResult verifyRanks(ArrayRef<RankOp> ranks) {
  llvm::SmallDenseMap<int64_t, RankOp> seen;
  for (RankOp rank : ranks) {
    auto [it, isNew] = seen.try_emplace(rank.getRank(), rank);
    if (!isNew)
      return emitTwice(rank, it->second, "rank " + Twine(rank.getRank()));
  }
  return success();
}

/// Checks the family, the search and the body of a schedule.
static LogicalResult verifyOrigin(ScheduleOp op) {
  StringRef name = op.getSymName();
  auto family = op.getFamily();
  auto search = op.getSearch();
  if (family && search)
    return op.emitError() << "schedule @" << name
                          << " names both a family and a search; remove one";
  if (op.isBodyEmpty() && !family && !search)
    return op.emitError() << "schedule @" << name
                          << " has no family, no search and no body";
  if (op.isBodyEmpty() && op.getOrder())
    return op.emitError() << "schedule @" << name
                          << " lists the order of its sums, which its "
                          << (search ? "search" : "family")
                          << " chooses: leave the list out, or write "
                          << (search ? "orders into the search"
                                     : "order into the family");
  if (op.getFound() && (op.isBodyEmpty() || !search))
    return op.emitError() << "schedule @" << name
                          << " says what a search found, but has no "
                          << (search ? "body" : "search");
  if (!search)
    return success();
  if (search->getEffort().value_or(1) < 1)
    return op.emitError()
           << "effort of the search is " << *search->getEffort()
           << "; it must be 1 or more, in 1,000 tasks placed or "
              "timed; by default it follows from the plan's size";
  for (auto [field, value] :
       {std::pair("time_limit_ms", search->getTimeLimitMs().value_or(0)),
        std::pair("seed", search->getSeed())})
    if (value < 0)
      return op.emitError()
             << field << " of the search is " << value << "; the minimum is 0";
  return success();
}

LogicalResult ScheduleOp::verifyRegions() {
  for (Operation &op : getBody().getOps())
    if (!isa<RankOp, LinkOrderOp, CopyOrderOp>(op))
      return op.emitError() << "'" << op.getName().getStringRef()
                            << "' does not belong here; a schedule holds "
                               "pipe.rank, pipe.link_order and "
                               "pipe.copy_order";
  if (failed(verifyOrigin(*this)))
    return failure();
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, LinkOrderOp> seen;
  for (LinkOrderOp order : getLinkOrders()) {
    auto [it, isNew] =
        seen.try_emplace({order.getFrom(), order.getTo()}, order);
    if (!isNew)
      return emitTwice(order, it->second,
                       "the order of link " + Twine(order.getFrom()) + " -> " +
                           Twine(order.getTo()));
  }
  llvm::SmallDenseMap<int64_t, CopyOrderOp> copies;
  for (CopyOrderOp order : getCopyOrders()) {
    auto [it, isNew] = copies.try_emplace(order.getLink(), order);
    if (!isNew)
      return emitTwice(order, it->second,
                       "the copy order of host link " + Twine(order.getLink()));
  }
  if (failed(verifyRanks(getRanks())))
    return failure();
  return verifyOverlap(*this);
}

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!tables.lookupNearestSymbolFrom<PlanOp>((*this)->getParentOp(),
                                              getPlanAttr()))
    return emitUnknown<PlanOp>(*this, "plan", getPlan());
  return success();
}

LogicalResult RankOp::verify() {
  if (getRank() < 0 || getRank() > std::numeric_limits<int32_t>::max())
    return emitError() << "rank " << getRank()
                       << " does not exist; ranks are numbered from 0";
  return success();
}

LogicalResult LinkOrderOp::verify() {
  if (getFrom() < 0 || getTo() < 0 || getFrom() == getTo() ||
      std::max(getFrom(), getTo()) > std::numeric_limits<int32_t>::max())
    return emitError() << "invalid link " << getFrom() << " -> " << getTo()
                       << "; a link joins two different ranks, numbered from "
                          "0";
  return success();
}

LogicalResult CopyOrderOp::verify() {
  if (getLink() < 0 || getLink() > std::numeric_limits<int32_t>::max())
    return emitError() << "host link " << getLink()
                       << " does not exist; host links are numbered from 0";
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ScheduleOp ProgramOp::lookupSchedule() {
  return mlir::SymbolTable::lookupNearestSymbolFrom<ScheduleOp>(
      (*this)->getParentOp(), getScheduleAttr());
}

PlanOp ProgramOp::lookupPlan() {
  ScheduleOp schedule = lookupSchedule();
  return schedule ? schedule.lookupPlan() : nullptr;
}

SmallVector<RankOp, 0> ProgramOp::getRanks() {
  return opsOf<RankOp>(getBody());
}

SmallVector<CollectiveOp, 0> ProgramOp::getCollectives() {
  return opsOf<CollectiveOp>(getBody());
}

SmallVector<PoolOp, 0> ProgramOp::getPools() {
  return opsOf<PoolOp>(getBody());
}

SmallVector<PlaceOp, 0> ProgramOp::getPlaces() {
  return opsOf<PlaceOp>(getBody());
}

LogicalResult ProgramOp::verify() {
  for (auto [name, arena] :
       {std::pair("arena", getArena()), {"host_arena", getHostArena()}})
    for (int64_t bytes : arena.value_or(ArrayRef<int64_t>()))
      if (bytes < 0)
        return emitError() << name << " has " << bytes << " bytes";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().getOps())
    if (!isa<CollectiveOp, PoolOp, PlaceOp, RankOp>(op))
      return op.emitError() << "'" << op.getName().getStringRef()
                            << "' does not belong here; a program holds "
                               "collectives, pools, places and ranks";
  if (failed(verifyRanks(getRanks())))
    return failure();
  llvm::DenseMap<StringAttr, PoolOp> pools;
  llvm::DenseMap<int64_t, PoolOp> stagingOf;
  for (PoolOp pool : getPools()) {
    pools[pool.getSymNameAttr()] = pool;
    if (!pool.getStaging())
      continue;
    auto [it, isNew] = stagingOf.try_emplace(pool.getRank(), pool);
    if (!isNew)
      return emitTwice(pool, it->second,
                       "the staging of rank " + Twine(pool.getRank()));
  }
  // The replica is named, or it is the one on the pool's rank.
  llvm::DenseMap<std::tuple<int64_t, Attribute, Attribute, int64_t>, PlaceOp>
      seen;
  for (PlaceOp place : getPlaces()) {
    // Names have been verified.
    PoolOp pool = pools.lookup(place.getPoolAttr().getAttr());
    const int64_t replica =
        place.getReplica() ? int64_t(*place.getReplica()) : -1 - pool.getRank();
    auto [it, isNew] =
        seen.try_emplace({static_cast<int64_t>(place.getBuffer()),
                          place.getStageAttr(), place.getPeerAttr(), replica},
                         place);
    if (!isNew)
      return emitTwice(place, it->second,
                       "the place of " + stringifyBuffer(place.getBuffer()) +
                           " of stage @" + place.getStage());
    int64_t numSlots = pool.getLayout().getSlots();
    for (int32_t slot : place.getSlots())
      if (slot < 0 || slot >= numSlots)
        return place.emitError()
                   .append("slot ", slot, " is not in pool ",
                           place.getPoolAttr())
                   .attachNote(pool.getLoc())
               << "pool " << place.getPoolAttr() << " has " << numSlots
               << " slots";
  }
  return success();
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!tables.lookupNearestSymbolFrom<ScheduleOp>((*this)->getParentOp(),
                                                  getScheduleAttr()))
    return emitUnknown<ScheduleOp>(*this, "schedule", getSchedule());
  return verifyOverlap(*this);
}

/// More than a day, so that sums stay far below 2^63.
static constexpr int64_t maxCollectiveNs = int64_t(1) << 47;

/// No order begins more iterations at once.
static constexpr int64_t mostLater = 4096;

LogicalResult CollectiveOp::verify() {
  if (getStages().empty())
    return emitError() << "collective @" << getSymName() << " has no stages";
  const auto kind = static_cast<rondo::CollectiveKind>(getKind());
  if (rondo::traitsOf(kind).namesTensor != getTensor().has_value())
    return emitError() << "tied_gradients names its tensor; the other kinds "
                          "name none";
  if (auto replicas = getReplicas();
      replicas && replicas->size() != getStages().size())
    return emitError() << "collective @" << getSymName() << " names "
                       << replicas->size() << " replicas of "
                       << getStages().size() << " stages; it has one for each";
  if (auto elements = getElements();
      elements &&
      (elements->size() != 2 || (*elements)[0] < 0 || (*elements)[1] < 1))
    return emitError() << "elements are the first one, from 0, and how many, 1 "
                          "or more";
  if (getNs() < 0 || getNs() > maxCollectiveNs)
    return emitError() << "collective @" << getSymName() << " takes " << getNs()
                       << " ns; it must be 0 to " << maxCollectiveNs;
  if (getLater() != 0 && kind != rondo::CollectiveKind::GradientNorm)
    return emitError() << "collective @" << getSymName()
                       << " adds gradients, which the step of the same "
                          "iteration reads; only a gradient_norm may be later";
  if (getLater() < 0 || getLater() > mostLater)
    return emitError() << "collective @" << getSymName() << " is awaited "
                       << getLater() << " iterations later; it must be 0 to "
                       << mostLater;
  return success();
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (auto stage : getStages().getAsRange<FlatSymbolRefAttr>())
    if (failed(detail::verifyStageUse(*this, stage, tables)))
      return failure();
  return success();
}

LogicalResult PoolOp::verify() {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (getRank() < 0 || getRank() > most)
    return emitError() << "pool @" << getSymName() << " is on rank "
                       << getRank() << "; ranks are numbered from 0";
  if (getStaging() && getOnHost())
    return emitError() << "pool @" << getSymName()
                       << " is staging and on_host; staging is on the device";
  PoolAttr layout = getLayout();
  if (layout.getOffset() < 0 || layout.getSlotBytes() < 0)
    return emitError() << "pool @" << getSymName() << " has an offset of "
                       << layout.getOffset() << " and slots of "
                       << layout.getSlotBytes()
                       << " bytes; neither may be negative";
  if (layout.getSlots() < 1)
    return emitError() << "pool @" << getSymName() << " has "
                       << layout.getSlots() << " slots; the minimum is 1";
  if (layout.getSlots() > most)
    return emitError() << "pool @" << getSymName() << " has "
                       << layout.getSlots() << " slots; the maximum is "
                       << most;
  return success();
}

LogicalResult PlaceOp::verify() {
  if (getSlots().empty())
    return emitError() << "the place of " << stringifyBuffer(getBuffer())
                       << " of stage @" << getStage() << " lists no slots";
  const auto spans = getSpans();
  if (!spans)
    return success();
  if (spans->size() != getSlots().size())
    return emitError() << "the place of " << stringifyBuffer(getBuffer())
                       << " of stage @" << getStage() << " lists "
                       << getSlots().size() << " slots and " << spans->size()
                       << " spans; write a span for each slot";
  for (int32_t span : *spans)
    if (span < 1)
      return emitError() << "a span of " << stringifyBuffer(getBuffer())
                         << " of stage @" << getStage() << " is " << span
                         << "; the minimum is 1";
  return success();
}
