//===- RowTimes.cpp - Times of rows of documents --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/RowTimes.h"

#include "plans/LayerTimes.h"
#include "runtime/model/layer_work.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Parts of a nanosecond in the factors of a RowTime.
static constexpr __int128 parts = __int128(1) << 32;

AffineCost RowTime::cost() const {
  __int128 token = perToken, pair = perPair, over = parts;
  for (; std::max(token, pair) >= __int128(1) << 62 && over > 1; over /= 2) {
    token /= 2;
    pair /= 2;
  }
  auto limited = [](__int128 figure) {
    return static_cast<int64_t>(std::min<__int128>(figure, __int128(1) << 62));
  };
  return {0, limited(token), limited(pair), static_cast<int64_t>(over)};
}

namespace {
/// Operations for each token and each pair.
struct RowFlops {
  int64_t perToken = 0, perPair = 0;
};
} // namespace

/// [task: F, I, W]: operations of a row. Those of an architecture's layer are
/// quadratic in the tokens of a document; those of other layers are in
/// proportion to tokens.
static std::array<RowFlops, 3> rowFlops(const runtime::LayerDesc &layer) {
  auto ofDocument = [&](int32_t tokens) -> std::array<int64_t, 3> {
    runtime::LayerDesc one = layer;
    one.rowTokens = tokens;
    const runtime::LayerFlops flops = runtime::layerFlops(one);
    return {flops.forward, flops.inputGrad, flops.weightGrad};
  };
  std::array<RowFlops, 3> result;
  const auto ofOne = ofDocument(1), ofTwo = ofDocument(2);
  for (int k = 0; k < 3; ++k) {
    result[k].perPair = (ofTwo[k] - 2 * ofOne[k]) / 2;
    result[k].perToken = ofOne[k] - result[k].perPair;
  }
  return result;
}

/// The times of F, I and W of one layer.
static std::array<RowTime, 3> timesOf(const runtime::LayerDesc &layer,
                                      LayerOp op, int64_t flopsPerUs) {
  std::array<RowTime, 3> times;
  const ModelSizes sizes = *cast<ModelOp>(op->getParentOp()).getSizes();
  const int64_t allTokens = sizes.batch * sizes.sequence;
  auto inTokens = [&](std::array<int64_t, 3> ns) {
    for (int k = 0; k < 3; ++k)
      times[k].perToken = ns[k] * parts / allTokens;
  };
  const bool isCustom = layer.kind == runtime::LayerKind::Custom;
  const LayerCostsAttr costs = op.getCostsAttr();
  if (isCustom && !costs) {
    const runtime::LayerFlops flops =
        op.getCustomAttr().findSizes(sizes.batch)->flops;
    const int64_t each[] = {flops.forward, flops.inputGrad, flops.weightGrad};
    for (int k = 0; k < 3; ++k)
      times[k].perToken = each[k] * parts * 1000 / flopsPerUs / allTokens;
    return times;
  }
  const LayerTimes measured =
      costs ? timesFor(costs, sizes.batch, sizes.batch) : LayerTimes();
  if (isCustom) {
    inTokens({measured.ns[0], measured.ns[1], measured.ns[2]});
    return times;
  }
  const std::array<RowFlops, 3> flops = rowFlops(layer);
  for (int k = 0; k < 3; ++k) {
    // Operations of the micro-batch that the model states.
    const __int128 all =
        __int128(flops[k].perToken) * allTokens +
        __int128(flops[k].perPair) * allTokens * sizes.sequence;
    if (costs && all == 0) {
      times[k].perToken = measured.ns[k] * parts / allTokens;
      continue;
    }
    // No product exceeds 128 bits: a layer has less than 2^60 operations and
    // takes at most 2^46 ns, so the product with `parts` is split.
    auto scaled = [&](int64_t count) -> __int128 {
      if (!costs)
        return __int128(count) * 1000 * parts / flopsPerUs;
      const __int128 product = __int128(count) * measured.ns[k];
      return product / all * parts + product % all * parts / all;
    };
    times[k].perToken = scaled(flops[k].perToken);
    times[k].perPair = scaled(flops[k].perPair);
  }
  return times;
}

void RowTimes::add(const runtime::LayerDesc &layer, LayerOp op,
                   int64_t flopsPerUs) {
  const std::array<RowTime, 3> own = timesOf(layer, op, flopsPerUs);
  for (int k = 0; k < 3; ++k)
    task[k] += own[k];
  if (layer.recomputes)
    recompute += own[0];
}

AffineCost rondo::pipe::inProportion(const AffineCost &time, int64_t stated,
                                     const RowSize &row) {
  const int64_t own = row.of(time);
  if (own == stated)
    return time;
  if (own == 0)
    return {0, stated, 0, row.tokens};
  auto scaled = [&](int64_t figure) {
    return static_cast<int64_t>(
        std::min<__int128>(__int128(figure) * stated / own, __int128(1) << 62));
  };
  return {scaled(time.fixed), scaled(time.perToken), scaled(time.perPair),
          time.over};
}
