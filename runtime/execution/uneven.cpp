//===- uneven.cpp - Checks tables of micro-batches that differ ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only programs whose micro-batches differ link it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/bodies/rondo_body.h"
#include "runtime/model/executable.h"
#include "runtime/model/layer_kinds.h"

#include <algorithm>
#include <utility>

namespace rondo::runtime {

/// Bytes that a place must have for micro-batches of one size. The buffers of a
/// replica with several edges have a place for each.
static int64_t neededBytes(const Executable &exe, const MicrobatchDesc &size,
                           int32_t place) {
  int64_t bytes = -1;
  for (int32_t e = 0; e < exe.numEdges; ++e)
    for (auto [other, offset] :
         {std::pair(size.edges[e].sent, size.edges[e].sentOffset),
          std::pair(size.edges[e].received, size.edges[e].receivedOffset)})
      if (other == place)
        bytes = std::max(bytes, offset + size.edges[e].bytes);
  if (bytes < 0 && place < exe.numReplicas * numBuffers)
    return size.shares[place / numBuffers].bytes[place % numBuffers];
  return bytes;
}

/// Whether the replica that has a place takes a micro-batch.
static bool isUsed(const Executable &exe, const ProgramDesc &program,
                   int32_t place, int32_t microbatch) {
  int32_t replica = place / numBuffers;
  for (int32_t e = 0; place >= exe.numReplicas * numBuffers && e < exe.numEdges;
       ++e)
    if (const EdgeDesc &edge = program.edges[e];
        edge.sent == place || edge.received == place)
      replica = edge.sent == place ? edge.from : edge.to;
  return replica >= exe.numReplicas ||
         takes(program.shares[replica], microbatch);
}

/// Whether documents make up a row of the layer, which has room for each.
static bool areRowOf(const LayerDesc &layer, const DocumentsDesc &row) {
  bool areRow = row.count > 0 && row.starts[0] == 0 &&
                row.starts[row.count] == layer.rowTokens;
  // Padding is whole documents, after others.
  areRow = areRow && std::find(row.starts + 1, row.starts + row.count + 1,
                               layer.rowTokens - row.padding) !=
                         row.starts + row.count + 1;
  for (int32_t d = 0; areRow && d < row.count; ++d) {
    const int32_t tokens = row.starts[d + 1] - row.starts[d];
    areRow = tokens > 0 && (layer.sequence == 0 || tokens <= layer.sequence);
  }
  return areRow;
}

void checkUneven(const Executable &exe, const ProgramDesc &program) {
  const UnevenDesc &uneven = *program.uneven;
  auto fail = [&](const std::string &what) {
    throw Error("program '" + std::string(program.name) + "': " + what);
  };
  if (program.overlap)
    fail("its micro-batches differ, so its iterations do not overlap");
  for (int32_t i = 0; i < program.microbatches; ++i)
    if (uneven.sizeOf[i] < 0 || uneven.sizeOf[i] >= uneven.numSizes)
      fail("micro-batch " + std::to_string(i) + " has size " +
           std::to_string(uneven.sizeOf[i]) + " of " +
           std::to_string(uneven.numSizes));
  for (int32_t l = 0; uneven.documents && l < exe.numLayers; ++l)
    if (const LayerDesc &layer = exe.layers[l];
        layer.kind == LayerKind::Custom &&
        (layer.target != Target::Cpu || !layer.custom.body->takes_documents))
      fail("body '" + std::string(layer.custom.name) + "' of layer '" +
           layer.name +
           "' does not take rows of documents: use a body with "
           "takes_documents on a CPU, or a plan without documents");
  for (int32_t i = 0; uneven.documents && i < program.microbatches; ++i)
    for (int32_t l = 0; l < exe.numLayers; ++l)
      if (const LayerDesc &layer = uneven.sizes[uneven.sizeOf[i]].layers[l];
          layer.rowTokens > 0 && !areRowOf(layer, uneven.documents[i]))
        fail("the documents of micro-batch " + std::to_string(i) +
             " are no row of " + std::to_string(layer.rowTokens) +
             " tokens of layer '" + layer.name + "'");
  for (int32_t p = 0; p < program.numPlaces; ++p) {
    const PlaceDesc &place = program.places[p];
    if (place.pool < 0 || !place.spans)
      continue;
    const PoolDesc &pool = program.pools[place.pool];
    for (int32_t i = 0; i < program.microbatches; ++i) {
      if (!isUsed(exe, program, p, i))
        continue;
      const int32_t span = place.spans[i];
      const int64_t needed =
          neededBytes(exe, uneven.sizes[uneven.sizeOf[i]], p);
      if (span < 1 || span > pool.slots - slotOf(place, i) ||
          span * pool.slotBytes < needed)
        fail("place " + std::to_string(p) + " of micro-batch " +
             std::to_string(i) + " has " + std::to_string(span) + " slots of " +
             std::to_string(pool.slotBytes) + " bytes, its buffer needs " +
             std::to_string(needed));
    }
  }
}

} // namespace rondo::runtime
