//===- RaggedPlacement.cpp - Places of buffers of many sizes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/RaggedPlacement.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace rondo;

RaggedPlacement
rondo::placeRagged(const std::vector<RaggedLife> &lives,
                   const std::function<bool(size_t, size_t)> &areAtOnce) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lives[a].size != lives[b].size ? lives[a].size > lives[b].size
                                          : lives[a].first < lives[b].first;
  });
  RaggedPlacement result;
  result.offsets.resize(lives.size());
  std::vector<size_t> placed;
  // Ranges that buffers which live at the same time take.
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t i : order) {
    const RaggedLife &life = lives[i];
    taken.clear();
    for (size_t k : placed)
      if (areAtOnce
              ? areAtOnce(i, k)
              : lives[k].first <= life.last && life.first <= lives[k].last)
        taken.emplace_back(result.offsets[k],
                           result.offsets[k] + lives[k].size);
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (begin - offset >= life.size)
        break;
      offset = std::max(offset, end);
    }
    result.offsets[i] = offset;
    result.size = std::max(result.size, offset + life.size);
    placed.push_back(i);
  }
  return result;
}

/// The most buffers that live at once.
static int64_t mostAtOnce(const std::vector<Life> &lives) {
  std::map<int64_t, int64_t> changes;
  for (const Life &life : lives) {
    ++changes[life.first];
    --changes[life.last + 1];
  }
  int64_t now = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, now += change);
  return most;
}

Result<std::vector<NeededPool>> rondo::assignRagged(
    const std::vector<Life> &lives, const std::vector<SlotSize> &sizes,
    const std::function<int64_t(const Life &)> &bytesOf, int32_t microbatches,
    Program &program,
    const std::function<bool(const Life &, const Life &)> &areAtOnce) {
  std::map<std::pair<int32_t, PoolUse>, std::vector<Life>> byPool;
  for (const Life &life : lives)
    byPool[{sizes[life.buffer].rank, sizes[life.buffer].use}].push_back(life);
  std::vector<NeededPool> needed;
  for (const auto &[key, ofPool] : byPool) {
    const auto [rank, use] = key;
    const std::vector<Life> &own = ofPool;
    const auto areOwnAtOnce = [&](size_t a, size_t b) {
      return areAtOnce(own[a], own[b]);
    };
    const auto tooMany = [rank = rank](int64_t buffers) {
      return makeFault<FaultKind::TooManyBuffers>(buffers, bufferAlignment,
                                                  maxRaggedSlots)
          .withRank(rank);
    };
    std::vector<RaggedLife> ragged(own.size());
    RaggedPlacement placement;
    int64_t slotBytes = bufferAlignment;
    // Each takes a slot, however large slots are.
    if (const int64_t most = mostAtOnce(own); most > maxRaggedSlots)
      return tooMany(most);
    for (;; slotBytes *= 2) {
      for (size_t i = 0; i < own.size(); ++i)
        // Also a buffer without bytes has a slot, so that it has an owner.
        ragged[i] = {
            std::max<int64_t>(1, (bytesOf(own[i]) + slotBytes - 1) / slotBytes),
            own[i].first, own[i].last};
      const int64_t largest =
          std::max_element(ragged.begin(), ragged.end(),
                           [](const RaggedLife &a, const RaggedLife &b) {
                             return a.size < b.size;
                           })
              ->size;
      if (largest > maxRaggedSlots)
        continue;
      placement =
          areAtOnce ? placeRagged(ragged, areOwnAtOnce) : placeRagged(ragged);
      if (placement.size <= maxRaggedSlots)
        break;
      if (largest == 1)
        return tooMany(placement.size);
    }
    NeededPool pool;
    pool.size = {rank, slotBytes, use};
    pool.slots = static_cast<int32_t>(placement.size);
    for (size_t i = 0; i < own.size(); ++i) {
      Place &place = program.places[own[i].buffer];
      if (place.slotOf.empty()) {
        place.slotOf.assign(microbatches, -1);
        place.spans.assign(microbatches, 1);
        pool.buffers.push_back(own[i].buffer);
      }
      place.slotOf[own[i].index] = static_cast<int32_t>(placement.offsets[i]);
      place.spans[own[i].index] = static_cast<int32_t>(ragged[i].size);
    }
    needed.push_back(std::move(pool));
  }
  return needed;
}
