//===- body.cpp - The body of each layer kind -----------------------------===//

#include "runtime/bodies/body.h"

#include "runtime/bodies/layers.h"

namespace rondo::runtime {

const LayerBody &LayerBodies::of(LayerKind kind) const {
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

template <typename Real> static const LayerBody &bodyOf(LayerKind kind) {
  static const LayerBodies bodies = {embeddingBody<Real>(), blockBody<Real>(),
                                     headBody<Real>(), syntheticBody()};
  return bodies.of(kind);
}

const LayerBody &cpuBody(LayerKind kind) { return bodyOf<float>(kind); }

const LayerBody &cpuBodyFp64(LayerKind kind) { return bodyOf<double>(kind); }

} // namespace rondo::runtime
