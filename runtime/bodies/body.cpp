//===- body.cpp - The body of each layer kind -----------------------------===//

#include "runtime/bodies/body.h"

#include "runtime/bodies/layers.h"

namespace rondo::runtime {

namespace {

template <typename Real> const LayerBody &bodyOf(LayerKind kind) {
  static const LayerBody embedding = embeddingBody<Real>();
  static const LayerBody block = blockBody<Real>();
  static const LayerBody head = headBody<Real>();
  static const LayerBody synthetic = syntheticBody();
  switch (kind) {
  case LayerKind::GptEmbedding:
    return embedding;
  case LayerKind::GptBlock:
    return block;
  case LayerKind::GptHead:
    return head;
  case LayerKind::Synthetic:
    break;
  }
  return synthetic;
}

} // namespace

const LayerBody &cpuBody(LayerKind kind) { return bodyOf<float>(kind); }

const LayerBody &cpuBodyFp64(LayerKind kind) { return bodyOf<double>(kind); }

} // namespace rondo::runtime
