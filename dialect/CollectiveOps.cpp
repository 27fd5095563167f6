//===- CollectiveOps.cpp - Collectives to values and back -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/CollectiveOps.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

FailureOr<Collective> rondo::pipe::readCollective(CollectiveOp op,
                                                  const ReplicaNames &names) {
  Collective collective;
  collective.kind = static_cast<rondo::CollectiveKind>(op.getKind());
  collective.ns = op.getNs();
  collective.delay = op.getLater();
  collective.tensor = op.getTensor().value_or("").str();
  if (auto elements = op.getElements()) {
    collective.firstElement = (*elements)[0];
    collective.numElements = (*elements)[1];
  }
  auto replicaIndices = op.getReplicas();
  for (auto [i, name] :
       llvm::enumerate(op.getStages().getAsRange<FlatSymbolRefAttr>())) {
    const int32_t stage = std::max(0, names.stage(name));
    for (const Replica &replica : names.replicas.of(stage))
      if (!replicaIndices || (*replicaIndices)[i] == replica.index)
        collective.replicas.push_back(
            names.replicas.numberOf(stage, replica.index));
    if (replicaIndices && collective.replicas.size() != i + 1)
      return op.emitError()
             << "stage " << name << " has no replica " << (*replicaIndices)[i]
             << "; it has " << names.replicas.of(stage).size()
             << ", numbered from 0";
  }
  return collective;
}

CollectiveOp rondo::pipe::writeCollective(OpBuilder &builder, Location loc,
                                          StringAttr name,
                                          const Collective &collective,
                                          const ReplicaNames &names) {
  llvm::SmallSetVector<Attribute, 8> stages;
  int32_t replicas = 0;
  for (int32_t replica : collective.replicas)
    if (stages.insert(names.stageOf(replica)))
      replicas += names.replicas.of(names.replicas[replica].stage).size();
  SmallVector<Attribute> list(stages.begin(), stages.end());
  DenseI64ArrayAttr replicaIndices, elements;
  if (replicas != static_cast<int32_t>(collective.replicas.size())) {
    SmallVector<int64_t> numbers;
    list.clear();
    for (int32_t replica : collective.replicas) {
      list.push_back(names.stageOf(replica));
      numbers.push_back(names.replicas[replica].index);
    }
    replicaIndices = builder.getDenseI64ArrayAttr(numbers);
  }
  if (collective.numElements > 0)
    elements = builder.getDenseI64ArrayAttr(
        {collective.firstElement, collective.numElements});
  return CollectiveOp::create(
      builder, loc, name, static_cast<pipe::CollectiveKind>(collective.kind),
      collective.tensor.empty() ? StringAttr()
                                : builder.getStringAttr(collective.tensor),
      builder.getArrayAttr(list), replicaIndices, elements, collective.ns,
      collective.delay);
}
