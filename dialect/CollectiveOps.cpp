//===- CollectiveOps.cpp - Collectives to values and back -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/CollectiveOps.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

FailureOr<Collective> rondo::pipe::readCollective(CollectiveOp op,
                                                  const HomeNames &names) {
  Collective collective;
  collective.kind = static_cast<rondo::CollectiveKind>(op.getKind());
  collective.ns = op.getNs();
  collective.delay = op.getLater();
  collective.tensor = op.getTensor().value_or("").str();
  if (auto elements = op.getElements()) {
    collective.firstElement = (*elements)[0];
    collective.numElements = (*elements)[1];
  }
  auto replicas = op.getHomes();
  for (auto [i, name] :
       llvm::enumerate(op.getStages().getAsRange<FlatSymbolRefAttr>())) {
    const int32_t stage = std::max(0, names.stage(name));
    for (const Home &home : names.homes.of(stage))
      if (!replicas || (*replicas)[i] == home.replica)
        collective.homes.push_back(names.homes.numberOf(stage, home.replica));
    if (replicas && collective.homes.size() != i + 1)
      return op.emitError()
             << "stage " << name << " has no home " << (*replicas)[i]
             << "; it has " << names.homes.of(stage).size()
             << ", numbered from 0";
  }
  return collective;
}

void rondo::pipe::writeCollective(OpBuilder &builder, Location loc,
                                  int64_t number, const Collective &collective,
                                  const HomeNames &names) {
  llvm::SmallSetVector<Attribute, 8> stages;
  int32_t homes = 0;
  for (int32_t home : collective.homes)
    if (stages.insert(names.stageOf(home)))
      homes += names.homes.of(names.homes[home].stage).size();
  SmallVector<Attribute> list(stages.begin(), stages.end());
  DenseI64ArrayAttr replicas, elements;
  if (homes != static_cast<int32_t>(collective.homes.size())) {
    SmallVector<int64_t> numbers;
    list.clear();
    for (int32_t home : collective.homes) {
      list.push_back(names.stageOf(home));
      numbers.push_back(names.homes[home].replica);
    }
    replicas = builder.getDenseI64ArrayAttr(numbers);
  }
  if (collective.numElements > 0)
    elements = builder.getDenseI64ArrayAttr(
        {collective.firstElement, collective.numElements});
  CollectiveOp::create(
      builder, loc, number, static_cast<pipe::CollectiveKind>(collective.kind),
      collective.tensor.empty() ? StringAttr()
                                : builder.getStringAttr(collective.tensor),
      builder.getArrayAttr(list), replicas, elements, collective.ns,
      collective.delay);
}
