//===- declared_streams.cpp - Streams that layers declare -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/streams/streams.h"

#include <set>

using namespace rondo::runtime;

std::vector<StreamDesc> rondo::runtime::streamsOf(const LayerDesc *layers,
                                                  int32_t count) {
  std::vector<StreamDesc> streams;
  std::set<std::string> names;
  for (int32_t l = 0; l < count; ++l)
    for (int32_t s = 0; s < layers[l].custom.numStreams; ++s)
      if (names.insert(layers[l].custom.streams[s].name).second)
        streams.push_back(layers[l].custom.streams[s]);
  return streams;
}
