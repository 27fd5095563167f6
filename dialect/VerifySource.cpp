//===- VerifySource.cpp - Local rules of clusters and plans ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"
#include "dialect/UnknownName.h"
#include "kinds/Counts.h"
#include "kinds/Residency.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace rondo::pipe;

static LogicalResult verifyLink(Operation *op, LinkAttr link) {
  return verifyFigures(op, {{"latency_ns", link.getLatencyNs()},
                            {"bytes_per_us", link.getBytesPerUs()}});
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

SmallVector<DeviceOp, 0> ClusterOp::getDevices() {
  return opsOf<DeviceOp>(getBody());
}

/// `user` names a device of its cluster.
static LogicalResult verifyDeviceUse(Operation *user, ClusterOp cluster,
                                     FlatSymbolRefAttr name,
                                     SymbolTableCollection &tables) {
  if (tables.lookupSymbolIn<DeviceOp>(cluster, name.getAttr()))
    return success();
  return user->emitError()
             .append("device @", name.getValue(), " is not in cluster @",
                     cluster.getSymName())
             .attachNote(cluster.getLoc())
         << "cluster @" << cluster.getSymName() << " is here";
}

/// A device is on at most one NIC, and there once.
static LogicalResult verifyNics(ClusterOp cluster) {
  llvm::SmallDenseMap<StringAttr, NicOp> nicOf;
  for (NicOp nic : cluster.getNics())
    for (auto name : nic.getDevices().getAsRange<FlatSymbolRefAttr>()) {
      auto [it, isNew] = nicOf.try_emplace(name.getAttr(), nic);
      if (isNew)
        continue;
      if (it->second == nic)
        return nic.emitError()
               << "NIC @" << nic.getSymName() << " lists device @"
               << name.getValue() << " twice";
      return nic.emitError()
                 .append("device @", name.getValue(), " is on NIC @",
                         it->second.getSymName(),
                         " already; a device is on at most one NIC")
                 .attachNote(it->second.getLoc())
             << "NIC @" << it->second.getSymName() << " is here";
    }
  return success();
}

/// A device is on at most one shared link to the host, and there once.
static LogicalResult verifyHostLinks(ClusterOp cluster) {
  llvm::SmallDenseMap<StringAttr, HostLinkOp> linkOf;
  for (HostLinkOp link : cluster.getHostLinks())
    for (auto name : link.getDevices().getAsRange<FlatSymbolRefAttr>()) {
      auto [it, isNew] = linkOf.try_emplace(name.getAttr(), link);
      if (isNew)
        continue;
      if (it->second == link)
        return link.emitError()
               << "the host link lists device @" << name.getValue() << " twice";
      return link.emitError()
                 .append("device @", name.getValue(),
                         " is on another host link already; a device is on at "
                         "most one")
                 .attachNote(it->second.getLoc())
             << "the other host link is here";
    }
  return success();
}

LogicalResult ClusterOp::verifyRegions() {
  if (failed(verifyBody<DeviceOp, LinkOp, NicOp, HostLinkOp>(
          *this, getBody(),
          "pipe.device, pipe.link, pipe.nic and pipe.host_link")))
    return failure();
  if (getDevices().empty())
    return emitError() << "cluster @" << getSymName() << " has no devices";
  if (auto channels = getChannels()) {
    int64_t slots = channels->getReceiveSlots();
    if (failed(verifyFigures(*this, {{"receive_slots", slots}})))
      return failure();
    if (slots > std::numeric_limits<int32_t>::max())
      return emitError() << "receive_slots is " << slots << "; the maximum is "
                         << std::numeric_limits<int32_t>::max();
  }
  if (auto link = getLink())
    if (failed(verifyLink(*this, *link)))
      return failure();
  llvm::SmallDenseMap<std::pair<StringAttr, StringAttr>, LinkOp> seen;
  for (LinkOp link : getBody().getOps<LinkOp>()) {
    auto key = std::make_pair(link.getFromAttr().getAttr(),
                              link.getToAttr().getAttr());
    auto [it, isNew] = seen.try_emplace(key, link);
    if (!isNew)
      return link.emitError()
                 .append("link @", link.getFrom(), " -> @", link.getTo(),
                         " is given twice")
                 .attachNote(it->second.getLoc())
             << "first given here";
  }
  if (failed(verifyNics(*this)))
    return failure();
  return verifyHostLinks(*this);
}

SmallVector<NicOp, 0> ClusterOp::getNics() { return opsOf<NicOp>(getBody()); }

SmallVector<HostLinkOp, 0> ClusterOp::getHostLinks() {
  return opsOf<HostLinkOp>(getBody());
}

LogicalResult HostLinkOp::verify() {
  if (getDevices().empty())
    return emitError()
           << "the host link has no devices; list those that share it";
  if (const int64_t latency = getFigures().getLatencyNs())
    return emitError() << "latency_ns is " << latency
                       << "; a copy has the latency of its device's host_link: "
                          "leave it out here";
  return verifyFigures(*this, {{"bytes_per_us", getFigures().getBytesPerUs()}});
}

LogicalResult HostLinkOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto cluster = cast<ClusterOp>((*this)->getParentOp());
  for (auto name : getDevices().getAsRange<FlatSymbolRefAttr>()) {
    if (failed(verifyDeviceUse(*this, cluster, name, tables)))
      return failure();
    auto device = tables.lookupSymbolIn<DeviceOp>(cluster, name.getAttr());
    if (device.getHostLink())
      continue;
    return emitError()
               .append("device @", name.getValue(),
                       " has no host_link of its own, which says how long its "
                       "copies take")
               .attachNote(device.getLoc())
           << "device @" << name.getValue() << " is here";
  }
  return success();
}

LogicalResult NicOp::verify() {
  if (getDevices().empty())
    return emitError() << "NIC @" << getSymName()
                       << " has no devices; list those that share it";
  if (failed(verifyFigures(
          *this, {{"bytes_per_us", getFigures().getBytesPerUs()}}, 1)))
    return failure();
  const int64_t server = getFigures().getServer().value_or(0),
                most = std::numeric_limits<int32_t>::max();
  if (server < 0 || server > most)
    return emitError() << "server is " << server << "; it must be 0 to "
                       << most;
  return success();
}

LogicalResult NicOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto cluster = cast<ClusterOp>((*this)->getParentOp());
  for (auto name : getDevices().getAsRange<FlatSymbolRefAttr>())
    if (failed(verifyDeviceUse(*this, cluster, name, tables)))
      return failure();
  return success();
}

int64_t DeviceOp::getMemoryBytes() {
  return getFigures()
             ? getFigures()->getMemoryBytes().value_or(rondo::noMemoryCap)
             : rondo::noMemoryCap;
}

int64_t DeviceOp::getFlopsPerUs() {
  return getFigures() ? getFigures()->getFlopsPerUs() : 0;
}

int64_t DeviceOp::getPeakFlopsPerUs() {
  return getFigures() ? getFigures()->getPeakFlopsPerUs() : 0;
}

HostLinkAttr DeviceOp::getHostLink() {
  return getFigures() ? getFigures()->getHostLink() : HostLinkAttr();
}

int64_t DeviceOp::getHostMemoryBytes() {
  return getFigures()
             ? getFigures()->getHostMemoryBytes().value_or(rondo::noMemoryCap)
             : rondo::noMemoryCap;
}

LogicalResult DeviceOp::verify() {
  if (HostLinkAttr link = getHostLink())
    if (failed(verifyFigures(
            *this, {{"latency_ns of host_link", link.getLatencyNs()},
                    {"bytes_per_us of host_link", link.getBytesPerUs()}})))
      return failure();
  if (failed(
          verifyFigures(*this, {{"host_memory_bytes", getHostMemoryBytes()}})))
    return failure();
  if (failed(verifyFigures(*this, {{"memory_bytes", getMemoryBytes()}}, 1)))
    return failure();
  if (failed(
          verifyFigures(*this, {{"flops_per_us", getFlopsPerUs()},
                                {"peak_flops_per_us", getPeakFlopsPerUs()}})))
    return failure();
  if (getPeakFlopsPerUs() > 0 && getFlopsPerUs() > getPeakFlopsPerUs())
    return emitError() << "flops_per_us is " << getFlopsPerUs()
                       << ", above peak_flops_per_us, which is "
                       << getPeakFlopsPerUs();
  GroupAttr group = getGroupAttr();
  if (!group)
    return success();
  if (failed(verifyFigures(*this,
                           {{"tensor_parallel", group.getTensorParallel()},
                            {"context_parallel", group.getContextParallel()},
                            {"expert_parallel", group.getExpertParallel()},
                            {"data_parallel", group.getDataParallel()}},
                           1)))
    return failure();
  if (group.getNumDevices() % group.getExpertParallel() != 0)
    return emitError() << "expert_parallel is " << group.getExpertParallel()
                       << ", which does not divide the "
                       << group.getNumDevices()
                       << " devices of the group (tensor x context x data)";
  return success();
}

LogicalResult LinkOp::verify() {
  if (getFrom() == getTo())
    return emitError() << "a link leads from @" << getFrom()
                       << " to itself; no link is needed within a device";
  return verifyLink(*this, getFigures());
}

LogicalResult LinkOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto cluster = cast<ClusterOp>((*this)->getParentOp());
  for (FlatSymbolRefAttr name : {getFromAttr(), getToAttr()})
    if (failed(verifyDeviceUse(*this, cluster, name, tables)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

SmallVector<StageOp, 0> PlanOp::getStages() {
  return opsOf<StageOp>(getBody());
}

std::vector<std::vector<int32_t>> PlanOp::getInputs() {
  llvm::DenseMap<StringAttr, int32_t> numbers;
  std::vector<std::vector<int32_t>> inputs;
  for (StageOp stage : getStages()) {
    const int32_t number = static_cast<int32_t>(inputs.size());
    std::vector<int32_t> own;
    if (ArrayAttr names = stage.getInputsAttr())
      for (auto name : names.getAsRange<FlatSymbolRefAttr>())
        own.push_back(numbers.lookup(name.getAttr()));
    else if (number > 0)
      own.push_back(number - 1);
    numbers[stage.getSymNameAttr()] = number;
    inputs.push_back(std::move(own));
  }
  return inputs;
}

bool PlanOp::isChain() {
  const std::vector<std::vector<int32_t>> inputs = getInputs();
  for (size_t s = 0; s < inputs.size(); ++s)
    if (s == 0 ? !inputs[s].empty()
               : inputs[s] != std::vector<int32_t>{int32_t(s) - 1})
      return false;
  return true;
}

/// Names in `from` must be those of different stages before this one.
static LogicalResult verifyInputs(PlanOp plan) {
  llvm::DenseMap<StringAttr, StageOp> before;
  llvm::DenseMap<StringAttr, StageOp> all;
  for (StageOp stage : plan.getStages())
    all[stage.getSymNameAttr()] = stage;
  for (StageOp stage : plan.getStages()) {
    ArrayAttr names = stage.getInputsAttr();
    llvm::SmallDenseSet<StringAttr> seen;
    for (FlatSymbolRefAttr name : names
                                      ? names.getAsRange<FlatSymbolRefAttr>()
                                      : ArrayAttr::get(plan.getContext(), {})
                                            .getAsRange<FlatSymbolRefAttr>()) {
      StageOp input = all.lookup(name.getAttr());
      if (!input)
        return stage.emitError()
               << "stage @" << stage.getSymName() << " gets its input from "
               << name << ", which is not a stage of plan @"
               << plan.getSymName();
      if (!before.contains(name.getAttr()))
        return stage.emitError()
                   .append("stage @", stage.getSymName(),
                           " gets its input from ", name,
                           ", which does not come before it")
                   .attachNote(input.getLoc())
               << "stage " << name << " is here";
      if (!seen.insert(name.getAttr()).second)
        return stage.emitError() << "stage @" << stage.getSymName() << " names "
                                 << name << " twice in `from`";
    }
    before[stage.getSymNameAttr()] = stage;
  }
  return success();
}

ModelOp PlanOp::lookupModel() {
  return mlir::SymbolTable::lookupNearestSymbolFrom<ModelOp>(
      (*this)->getParentOp(), getModelAttr());
}

ClusterOp PlanOp::lookupCluster() {
  return mlir::SymbolTable::lookupNearestSymbolFrom<ClusterOp>(
      (*this)->getParentOp(), getClusterAttr());
}

LogicalResult PlanOp::verify() {
  if (getMicrobatches() < 1 || getMicrobatches() > rondo::maxMicrobatches)
    return emitError() << "microbatches is " << getMicrobatches()
                       << "; it must be from 1 to " << rondo::maxMicrobatches;
  if (auto samples = getSamplesAttr(); samples && samples.getInt() < 1)
    return emitError() << "samples is " << samples.getInt()
                       << "; it must be 1 or more";
  if (failed(verifyDocuments(*this)) || failed(verifyTokens(*this)))
    return failure();
  if (getTargetKind() == Target::Cpu && getDType() != DType::Fp32)
    return emitError() << "target cpu takes fp32 only, not "
                       << stringifyDType(getDType());
  const int64_t resident = getTarget() ? getTarget()->getResident() : 0;
  if (resident < 0 || resident > rondo::maxResident)
    return emitError() << "resident is " << resident
                       << "; it must be from 1 to " << rondo::maxResident
                       << ", or left out";
  if (resident > 0 && getTargetKind() == Target::Cpu)
    return emitError()
           << "target cpu has resident = " << resident
           << ", but messages of CPUs keep no multiprocessors while "
              "they wait: leave it out";
  return success();
}

int64_t PlanOp::getSamplesOfMicrobatch() {
  if (hasDocuments())
    return 1;
  if (auto samples = getSamplesAttr())
    return samples.getInt();
  return lookupModel().getStatedSamples();
}

Target PlanOp::getTargetKind() {
  return getTarget() ? getTarget()->getKind() : Target::Cpu;
}

DType PlanOp::getDType() {
  return getTarget() ? getTarget()->getDtype() : DType::Fp32;
}

int32_t PlanOp::getResident() {
  if (getTargetKind() == Target::Cpu)
    return 0;
  const int64_t stated = getTarget()->getResident();
  return stated > 0 ? static_cast<int32_t>(stated) : rondo::defaultResident;
}

LogicalResult PlanOp::verifyRegions() {
  if (failed(verifyBody<StageOp>(*this, getBody(), "pipe.stage")))
    return failure();
  auto stages = getBody().getOps<StageOp>();
  int64_t count = std::distance(stages.begin(), stages.end());
  if (count == 0)
    return emitError() << "plan @" << getSymName() << " has no stages";
  if (count > rondo::maxStages)
    return emitError() << "plan @" << getSymName() << " has " << count
                       << " stages; the maximum is " << rondo::maxStages;
  if (failed(verifyInputs(*this)))
    return failure();
  return verifyRecomputation(*this);
}

/// Checks all stages at once, so that devices are counted once.
static LogicalResult verifyRanks(PlanOp plan, ClusterOp cluster) {
  const auto numDevices = static_cast<int64_t>(cluster.getDevices().size());
  for (StageOp stage : plan.getBody().getOps<StageOp>())
    for (int64_t rank : stage.getRanks())
      if (rank >= numDevices)
        return stage.emitError()
                   .append("stage @", stage.getSymName(), " is on rank ", rank,
                           ", but cluster @", cluster.getSymName(), " has ",
                           rondo::countOf(numDevices, "device"))
                   .attachNote(cluster.getLoc())
               << "cluster @" << cluster.getSymName() << " is here";
  return success();
}

LogicalResult PlanOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *outside = (*this)->getParentOp();
  auto model = tables.lookupNearestSymbolFrom<ModelOp>(outside, getModelAttr());
  if (!model)
    return emitUnknown<ModelOp>(*this, "model", getModel());
  if (failed(verifyUneven(*this, model)) || failed(verifySamples(*this, model)))
    return failure();
  auto cluster =
      tables.lookupNearestSymbolFrom<ClusterOp>(outside, getClusterAttr());
  if (!cluster)
    return emitUnknown<ClusterOp>(*this, "cluster", getCluster());
  if (failed(verifyRanks(*this, cluster)))
    return failure();
  return verifyOffload(*this, model, cluster);
}

LogicalResult StageOp::verify() {
  if (getLayers().empty())
    return emitError() << "stage @" << getSymName() << " has no layers";
  if (failed(verifyReplicas(*this)))
    return failure();
  if (ArrayAttr names = getRecomputeAttr()) {
    llvm::SmallDenseSet<Attribute> seen;
    for (Attribute name : names) {
      if (!llvm::is_contained(getLayers(), name))
        return emitError() << "stage @" << getSymName() << " recomputes layer "
                           << name << ", which is not one of its layers";
      if (!seen.insert(name).second)
        return emitError() << "stage @" << getSymName() << " lists layer "
                           << name << " twice to recompute";
    }
  }
  if (failed(verifyOffload(*this)))
    return failure();
  if (auto costs = getCosts()) {
    if (failed(verifyFigureLists(*this, costs->getLists())) ||
        failed(verifyFigures(*this, {{"step_ns", costs->getStepNs()}})) ||
        failed(verifyWithoutGrad(*this, costs->getOutputWithoutGradBytes(),
                                 costs->getOutputBytes())) ||
        failed(verifyFrees(*this, costs->getInputGradFreesBytes(),
                           costs->getActivationBytes())))
      return failure();
  }
  for (const auto &all : {buffersByReplica(), buffersByMicrobatch()})
    for (const rondo::ReplicaBuffers &bytes : all)
      for (const BufferTraits &traits : bufferTable)
        if (failed(verifyFigures(
                *this,
                {{traits.keyword, bytes[static_cast<int>(traits.kind)]}})))
          return failure();
  return success();
}

LogicalResult StageOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto plan = cast<PlanOp>((*this)->getParentOp());
  Operation *outside = plan->getParentOp();
  auto model =
      tables.lookupNearestSymbolFrom<ModelOp>(outside, plan.getModelAttr());
  // The plan reports that itself.
  if (!model)
    return success();
  for (auto name : getLayers().getAsRange<FlatSymbolRefAttr>())
    if (!tables.lookupSymbolIn<LayerOp>(model, name.getAttr()))
      return emitError()
                 .append("layer @", name.getValue(), " is not in model @",
                         model.getSymName())
                 .attachNote(model.getLoc())
             << "model @" << model.getSymName() << " is here";
  return verifyShares(*this, plan, model);
}
