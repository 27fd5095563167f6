//===- body.cpp - The body of each kind of layer --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/body.h"

#include "runtime/bodies/layers.h"

namespace rondo::runtime {

template <typename Real> static const LayerBody &bodyOf(LayerKind kind) {
  // In the order of LayerKind.
  static const LayerBody bodies[] = {
      embeddingBody<Real>(),  blockBody<Real>(), headBody<Real>(),
      syntheticBody(),        customBody(),      embeddingBody<Real>(),
      llamaBlockBody<Real>(), headBody<Real>()};
  static_assert(sizeof bodies / sizeof bodies[0] == numLayerKinds,
                "each kind has a body");
  return bodies[static_cast<int>(kind)];
}

const LayerBody &cpuBody(LayerKind kind) { return bodyOf<float>(kind); }

const LayerBody &cpuBodyFp64(LayerKind kind) { return bodyOf<double>(kind); }

} // namespace rondo::runtime
