//===- Gpt.cpp - The architecture GPT -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"
#include "runtime/model/layer.h"

using namespace rondo;
using namespace rondo::pipe;

static_assert(int(runtime::LayerKind::GptEmbedding) ==
                      int(LayerKind::Embedding) &&
                  int(runtime::LayerKind::GptBlock) == int(LayerKind::Block) &&
                  int(runtime::LayerKind::GptHead) == int(LayerKind::Head),
              "the runtime's kinds are in the order of the roles");

ModelSizes GptAttr::getSizes() const {
  return {getVocab(), getSequence(), getHidden(), getHeads(),
          getFfn(),   getBatch(),    getTied()};
}

ArchitectureAttrInterface GptAttr::withBatch(int64_t batch) const {
  Fields fields = getFields();
  fields.batch = batch;
  return get(getContext(), fields);
}

llvm::LogicalResult GptAttr::verifyModel(mlir::Operation *model) const {
  return verifyHeads(model, getSizes());
}

llvm::StringRef GptAttr::getTiedTensor() const { return "wte.weight"; }

int64_t GptAttr::getQueryWidth() const { return getHidden() / getHeads(); }

int64_t GptAttr::getKeysWidth() const { return getHidden(); }

void GptAttr::describe(LayerKind kind, runtime::LayerDesc &layer) const {
  if (kind <= LayerKind::Head)
    layer.kind = static_cast<runtime::LayerKind>(kind);
}
