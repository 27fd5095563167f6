//===- rotary.h - Rotary positions ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number j of a head's first half and number j of its second half are a vector,
// which is turned by position * frequency j.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_ROTARY_H
#define RONDO_RUNTIME_BODIES_ROTARY_H

#include "runtime/model/layer.h"

namespace rondo::runtime {

/// Radians per position of pair j.
double rotaryFrequency(const LayerDesc &layer, int64_t j);

/// Writes cosines and sines [sequence][head width / 2].
template <typename Real>
void rotaryTable(const LayerDesc &layer, Real *cosines, Real *sines);

/// Turns the first `heads` heads of each row, in place; rows are `stride`
/// elements apart, and as many as the layer has tokens. A direction of -1 turns
/// back.
template <typename Real>
void rotate(const LayerDesc &layer, int64_t heads, int64_t stride,
            Real direction, const Real *cosines, const Real *sines, Real *rows);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_ROTARY_H
