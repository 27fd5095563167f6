//===- VerifySource.cpp - Local rules of clusters, models and plans -------===//

#include "dialect/Pipe.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace rondo::pipe;

namespace {

/// A figure that a person wrote, with its keyword.
struct Figure {
  const char *name;
  int64_t value;
};

} // namespace

/// The first figure below `least` is an error.
static LogicalResult verifyFigures(Operation *op, ArrayRef<Figure> figures,
                                   int64_t least = 0) {
  for (const Figure &figure : figures)
    if (figure.value < least)
      return op->emitError() << figure.name << " is " << figure.value
                             << "; the least is " << least;
  return success();
}

static LogicalResult verifyLink(Operation *op, LinkAttr link) {
  return verifyFigures(op, {{"latency_ns", link.getLatencyNs()},
                            {"bytes_per_us", link.getBytesPerUs()}});
}

static LogicalResult verifyFrees(Operation *op, int64_t frees, int64_t held) {
  if (frees <= held)
    return success();
  return op->emitError() << "input_grad_frees_bytes is " << frees
                         << ", more than the activation_bytes of " << held;
}

template <typename... Ops>
static LogicalResult verifyBody(Operation *op, Region &body,
                                const char *expected) {
  for (Operation &inner : body.getOps())
    if (!isa<Ops...>(inner))
      return inner.emitError()
                 .append("'", inner.getName().getStringRef(),
                         "' does not belong here; this body holds ", expected)
                 .attachNote(op->getLoc())
             << "the body of this '" << op->getName().getStringRef() << "'";
  return success();
}

template <typename Op> static SmallVector<Op, 0> opsOf(Region &region) {
  return llvm::to_vector<0>(region.getOps<Op>());
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

SmallVector<DeviceOp, 0> ClusterOp::getDevices() {
  return opsOf<DeviceOp>(getBody());
}

LogicalResult ClusterOp::verifyRegions() {
  if (failed(verifyBody<DeviceOp, LinkOp>(*this, getBody(),
                                          "pipe.device and pipe.link")))
    return failure();
  if (getDevices().empty())
    return emitError() << "cluster @" << getSymName() << " has no device";
  if (auto channels = getChannels()) {
    int64_t slots = channels->getReceiveSlots();
    if (failed(verifyFigures(*this, {{"receive_slots", slots}})))
      return failure();
    if (slots > std::numeric_limits<int32_t>::max())
      return emitError() << "receive_slots is " << slots << "; the most is "
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
  return success();
}

int64_t DeviceOp::getMemoryBytes() {
  return getFigures() ? getFigures()->getMemoryBytes() : rondo::noMemoryCap;
}

int64_t DeviceOp::getFlopsPerUs() {
  return getFigures() ? getFigures()->getFlopsPerUs() : 0;
}

LogicalResult DeviceOp::verify() {
  if (failed(verifyFigures(*this, {{"memory_bytes", getMemoryBytes()}}, 1)))
    return failure();
  return verifyFigures(*this, {{"flops_per_us", getFlopsPerUs()}});
}

LogicalResult LinkOp::verify() {
  if (getFrom() == getTo())
    return emitError() << "a link leads from @" << getFrom()
                       << " to itself; hand-over on one device is free";
  return verifyLink(*this, getFigures());
}

LogicalResult LinkOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto cluster = cast<ClusterOp>((*this)->getParentOp());
  for (FlatSymbolRefAttr name : {getFromAttr(), getToAttr()})
    if (!tables.lookupSymbolIn<DeviceOp>(cluster, name.getAttr()))
      return emitError()
                 .append("device @", name.getValue(), " is not in cluster @",
                         cluster.getSymName())
                 .attachNote(cluster.getLoc())
             << "cluster @" << cluster.getSymName() << " is here";
  return success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

SmallVector<LayerOp, 0> ModelOp::getLayers() {
  return opsOf<LayerOp>(getBody());
}

LogicalResult ModelOp::verify() {
  auto gpt = getGpt();
  if (!gpt)
    return success();
  if (failed(verifyFigures(*this,
                           {{"vocab", gpt->getVocab()},
                            {"sequence", gpt->getSequence()},
                            {"hidden", gpt->getHidden()},
                            {"heads", gpt->getHeads()},
                            {"ffn", gpt->getFfn()},
                            {"batch", gpt->getBatch()}},
                           1)))
    return failure();
  for (int64_t size : {gpt->getVocab(), gpt->getSequence(), gpt->getHidden(),
                       gpt->getHeads(), gpt->getFfn(), gpt->getBatch()})
    if (size > std::numeric_limits<int32_t>::max())
      return emitError() << "size " << size << " is too large; the most is "
                         << std::numeric_limits<int32_t>::max();
  if (gpt->getHidden() % gpt->getHeads() != 0)
    return emitError() << "hidden is " << gpt->getHidden()
                       << ", no multiple of the " << gpt->getHeads()
                       << " heads";
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  if (failed(verifyBody<LayerOp>(*this, getBody(), "pipe.layer")))
    return failure();
  SmallVector<LayerOp> layers = getLayers();
  if (layers.empty())
    return emitError() << "model @" << getSymName() << " has no layer";
  for (LayerOp layer : layers) {
    bool isSynthetic = layer.getKind() == LayerKind::Synthetic;
    if (isSynthetic && getGpt())
      return layer.emitError()
                 .append("layer @", layer.getSymName(),
                         " is synthetic, but its model is a gpt")
                 .attachNote(getLoc())
             << "a model is a gpt or synthetic throughout";
    if (!isSynthetic && !getGpt())
      return layer.emitError()
                 .append("layer @", layer.getSymName(), " is of kind ",
                         stringifyLayerKind(layer.getKind()),
                         ", but its model gives no sizes")
                 .attachNote(getLoc())
             << "add gpt<vocab = ..., sequence = ..., hidden = ..., heads = "
                "..., ffn = ..., batch = ...> behind @"
             << getSymName();
    bool isFirst = layer == layers.front(), isLast = layer == layers.back();
    if (!isSynthetic && (isFirst != (layer.getKind() == LayerKind::Embedding) ||
                         isLast != (layer.getKind() == LayerKind::Head)))
      return layer.emitError()
                 .append("layer @", layer.getSymName(), " of kind ",
                         stringifyLayerKind(layer.getKind()),
                         " cannot stand here")
                 .attachNote(getLoc())
             << "a gpt is one embedding, then blocks, then one head";
  }
  return success();
}

LogicalResult LayerOp::verify() {
  auto synthetic = getSynthetic();
  if ((getKind() == LayerKind::Synthetic) != synthetic.has_value())
    return emitError() << "only a layer of kind synthetic states its own "
                          "figures, and must";
  if (auto costs = getCosts())
    if (failed(verifyFigures(*this,
                             {{"forward_ns", costs->getForwardNs()},
                              {"input_grad_ns", costs->getInputGradNs()},
                              {"weight_grad_ns", costs->getWeightGradNs()}})))
      return failure();
  if (!synthetic)
    return success();
  if (failed(verifyFigures(
          *this,
          {{"forward_ns", synthetic->getForwardNs()},
           {"input_grad_ns", synthetic->getInputGradNs()},
           {"weight_grad_ns", synthetic->getWeightGradNs()},
           {"activation_bytes", synthetic->getActivationBytes()},
           {"input_grad_frees_bytes", synthetic->getInputGradFreesBytes()},
           {"output_bytes", synthetic->getOutputBytes()},
           {"weight_bytes", synthetic->getWeightBytes()}})))
    return failure();
  return verifyFrees(*this, synthetic->getInputGradFreesBytes(),
                     synthetic->getActivationBytes());
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

SmallVector<StageOp, 0> PlanOp::getStages() {
  return opsOf<StageOp>(getBody());
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
  if (getTargetKind() == Target::Cpu && getDType() != DType::Fp32)
    return emitError() << "target cpu takes fp32 only, not "
                       << stringifyDType(getDType());
  return success();
}

Target PlanOp::getTargetKind() {
  return getTarget() ? getTarget()->getKind() : Target::Cpu;
}

DType PlanOp::getDType() {
  return getTarget() ? getTarget()->getDtype() : DType::Fp32;
}

LogicalResult PlanOp::verifyRegions() {
  if (failed(verifyBody<StageOp>(*this, getBody(), "pipe.stage")))
    return failure();
  auto stages = getBody().getOps<StageOp>();
  int64_t count = std::distance(stages.begin(), stages.end());
  if (count == 0)
    return emitError() << "plan @" << getSymName() << " has no stage";
  if (count > rondo::maxStages)
    return emitError() << "plan @" << getSymName() << " has " << count
                       << " stages; the most is " << rondo::maxStages;
  return success();
}

LogicalResult PlanOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *outside = (*this)->getParentOp();
  if (!tables.lookupNearestSymbolFrom<ModelOp>(outside, getModelAttr()))
    return emitError() << "there is no model @" << getModel();
  if (!tables.lookupNearestSymbolFrom<ClusterOp>(outside, getClusterAttr()))
    return emitError() << "there is no cluster @" << getCluster();
  return success();
}

LogicalResult StageOp::verify() {
  if (getLayers().empty())
    return emitError() << "stage @" << getSymName() << " has no layer";
  if (getRank() < 0)
    return emitError() << "stage @" << getSymName() << " is on rank "
                       << getRank() << "; ranks are numbered from 0";
  if (auto costs = getCosts()) {
    if (failed(verifyFigures(
            *this, {{"forward_ns", costs->getForwardNs()},
                    {"input_grad_ns", costs->getInputGradNs()},
                    {"weight_grad_ns", costs->getWeightGradNs()},
                    {"activation_bytes", costs->getActivationBytes()},
                    {"input_grad_frees_bytes", costs->getInputGradFreesBytes()},
                    {"output_bytes", costs->getOutputBytes()}})) ||
        failed(verifyFrees(*this, costs->getInputGradFreesBytes(),
                           costs->getActivationBytes())))
      return failure();
  }
  if (auto buffers = getBuffers())
    return verifyFigures(
        *this, {{"weights", buffers->getWeights()},
                {"gradients", buffers->getGradients()},
                {"moments", buffers->getMoments()},
                {"control", buffers->getControl()},
                {"data", buffers->getData()},
                {"workspace", buffers->getWorkspace()},
                {"input", buffers->getInput()},
                {"output", buffers->getOutput()},
                {"output_grad", buffers->getOutputGrad()},
                {"input_grad", buffers->getInputGrad()},
                {"saved_for_input_grad", buffers->getSavedForInputGrad()},
                {"saved_for_weight_grad", buffers->getSavedForWeightGrad()}});
  return success();
}

LogicalResult StageOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto plan = cast<PlanOp>((*this)->getParentOp());
  Operation *outside = plan->getParentOp();
  auto model =
      tables.lookupNearestSymbolFrom<ModelOp>(outside, plan.getModelAttr());
  auto cluster =
      tables.lookupNearestSymbolFrom<ClusterOp>(outside, plan.getClusterAttr());
  // The plan says so itself.
  if (!model || !cluster)
    return success();
  for (auto name : getLayers().getAsRange<FlatSymbolRefAttr>())
    if (!tables.lookupSymbolIn<LayerOp>(model, name.getAttr()))
      return emitError()
                 .append("layer @", name.getValue(), " is not in model @",
                         model.getSymName())
                 .attachNote(model.getLoc())
             << "model @" << model.getSymName() << " is here";
  int64_t numDevices = cluster.getDevices().size();
  if (getRank() >= numDevices)
    return emitError()
               .append("stage @", getSymName(), " is on rank ", getRank(),
                       ", but cluster @", cluster.getSymName(), " has ",
                       numDevices, numDevices == 1 ? " device" : " devices")
               .attachNote(cluster.getLoc())
           << "cluster @" << cluster.getSymName() << " is here";
  return success();
}
