//===- layer_sizes.h - Buffer sizes and work of each layer kind -*- C++ -*-===//

#ifndef RONDO_RUNTIME_BODIES_LAYER_SIZES_H
#define RONDO_RUNTIME_BODIES_LAYER_SIZES_H

#include "runtime/layer.h"

namespace rondo::runtime {

/// Sizes in fp32. Each buffer's bytes are a multiple of bufferAlignment.
LayerSizes layerSizes(const LayerDesc &layer);

/// Floating-point operations: a multiply and an add count as two.
LayerFlops layerFlops(const LayerDesc &layer);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_LAYER_SIZES_H
