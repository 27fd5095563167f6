//===- VerifyOffload.cpp - What of a stage may leave its device -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rondo::pipe;

bool StageOp::offloads(StringAttr layer) {
  ArrayAttr names = getOffloadAttr();
  auto name = FlatSymbolRefAttr::get(layer);
  return names && getBefore() != rondo::pipe::LoadBefore::Recompute &&
         !recomputes(layer) &&
         llvm::is_contained(names.empty() ? getLayers() : names, name);
}

/// An entry of the list is a layer of the stage that keeps its activations.
static LogicalResult verifyLayer(StageOp stage, FlatSymbolRefAttr name) {
  if (llvm::is_contained(stage.getLayers(), name)) {
    if (!stage.recomputes(name.getAttr()))
      return success();
    return stage.emitError()
           << "stage @" << stage.getSymName() << " offloads layer " << name
           << ", which it recomputes: such a layer keeps nothing that could "
              "leave";
  }
  // `@h0.qkv` is a buffer of layer `@h0`.
  for (auto layer : stage.getLayers().getAsRange<FlatSymbolRefAttr>())
    if (name.getValue().starts_with((layer.getValue() + ".").str()))
      return stage.emitError()
             << "stage @" << stage.getSymName() << " offloads " << name
             << ", a part of layer " << layer
             << "; what a layer saves leaves as a whole: list the layer";
  return stage.emitError() << "stage @" << stage.getSymName()
                           << " offloads layer " << name
                           << ", which is not one of its layers";
}

LogicalResult rondo::pipe::verifyOffload(StageOp stage) {
  const rondo::pipe::LoadBefore before = stage.getBefore();
  const auto costs = stage.getCosts();
  const bool statesBytes = costs && !costs->getOffloadBytes().empty();
  ArrayAttr names = stage.getOffloadAttr();
  if (!names) {
    if (before != rondo::pipe::LoadBefore::InputGrad)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " has before("
             << stringifyLoadBefore(before) << "), but no offload";
    if (statesBytes)
      return stage.emitError() << "stage @" << stage.getSymName()
                               << " has offload_bytes, but no offload";
    return success();
  }
  if (before == rondo::pipe::LoadBefore::Recompute) {
    if (!stage.getRecomputeAttr())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " has before(recompute), but does not recompute";
    if (!names.empty())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " has before(recompute): its checkpoints leave, so leave out "
                "the list of layers";
    return success();
  }
  llvm::SmallDenseSet<Attribute> seen;
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    if (failed(verifyLayer(stage, name)))
      return failure();
    if (!seen.insert(name).second)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " lists layer " << name
             << " twice to offload";
  }
  if (llvm::none_of(stage.getLayers(), [&](Attribute name) {
        return stage.offloads(cast<FlatSymbolRefAttr>(name).getAttr());
      }))
    return stage.emitError()
           << "stage @" << stage.getSymName()
           << " offloads, but recomputes all of its layers, which keep nothing "
              "that could leave";
  if (costs && !names.empty() && !statesBytes)
    return stage.emitError()
           << "stage @" << stage.getSymName()
           << " offloads some layers, and its costs state no offload_bytes";
  return success();
}

/// Only tensors that I does not read may leave after I. Bodies overwrite in I
/// the tensors that they save for W.
static LogicalResult verifyBefore(StageOp stage, ModelOp model) {
  if (stage.getBefore() == rondo::pipe::LoadBefore::InputGrad)
    return success();
  for (LayerOp layer : model.getLayers()) {
    auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
    if (layer.getSyntheticAttr() ||
        !llvm::is_contained(stage.getLayers(), name))
      continue;
    InFlightDiagnostic error =
        stage.emitError() << "stage @" << stage.getSymName() << " has before("
                          << stringifyLoadBefore(stage.getBefore())
                          << "), which only timed layers can have: the body of "
                             "layer "
                          << name
                          << " needs what it saves before its input gradient";
    error.attachNote(layer.getLoc()) << "layer " << name << " is here";
    return error;
  }
  return success();
}

LogicalResult rondo::pipe::verifyOffload(PlanOp plan, ModelOp model,
                                         ClusterOp cluster) {
  const SmallVector<DeviceOp, 0> devices = cluster.getDevices();
  for (StageOp stage : plan.getStages()) {
    if (!stage.getOffloadAttr())
      continue;
    if (failed(verifyBefore(stage, model)))
      return failure();
    for (int64_t rank : stage.getRanks()) {
      DeviceOp device = devices[rank];
      if (device.getHostLink())
        continue;
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " offloads, but device @"
          << device.getSymName() << " of rank " << rank << " has no host_link";
      error.attachNote(device.getLoc())
          << "add host_link = <latency_ns = ..., bytes_per_us = ...> here";
      return error;
    }
  }
  return success();
}
