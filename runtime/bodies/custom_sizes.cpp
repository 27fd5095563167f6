//===- custom_sizes.cpp - Sizes that a body needs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/custom.h"

#include "kinds/Counts.h"
#include "runtime/bodies/described.h"

#include <string>
#include <vector>

namespace rondo::runtime {

static_assert(RONDO_READ_BY_WEIGHT_GRAD == int(ReadBy::WeightGrad) &&
                  RONDO_MAX_SAVED == maxLayerParts,
              "bodies from outside see the same numbers");

/// The parts that the body names, in its order.
static std::vector<SavedPart> partsOf(const LayerDesc &layer,
                                      const rondo_sizes &sizes) {
  const std::string who = "`sizes` of " + nameOfBody(layer);
  if (sizes.num_saved < 0 || sizes.num_saved > RONDO_MAX_SAVED)
    failOf(layer, who + " returns num_saved = " +
                      std::to_string(sizes.num_saved) + "; a layer has 0 to " +
                      std::to_string(RONDO_MAX_SAVED) + " named parts");
  std::vector<SavedPart> parts;
  for (int32_t k = 0; k < sizes.num_saved; ++k) {
    const rondo_saved &part = sizes.saved[k];
    if (!part.name || part.bytes < 0 || part.read_by < RONDO_READ_BY_BOTH ||
        part.read_by > RONDO_READ_BY_WEIGHT_GRAD)
      failOf(layer, who + " returns saved[" + std::to_string(k) +
                        "] without a name, with fewer than 0 bytes, or with a "
                        "read_by that is not one of RONDO_READ_BY_...");
    parts.push_back(
        {part.name, static_cast<ReadBy>(part.read_by), part.bytes, 1, nullptr});
  }
  return parts;
}

/// As a model states them.
static std::string textOf(const SavedPart *parts, int32_t count) {
  static const char *const readers[] = {"", ", read_by = input_grad",
                                        ", read_by = weight_grad"};
  std::string text;
  for (int32_t k = 0; k < count; ++k)
    text += (k > 0 ? ", part<name = \"" : "part<name = \"") +
            std::string(parts[k].name) +
            "\", bytes = " + std::to_string(parts[k].bytes) +
            readers[static_cast<int>(parts[k].readBy)] + ">";
  return "[" + text + "]";
}

std::string wrongSizes(const LayerDesc &layer) {
  const rondo_body &body = *layer.custom.body;
  const Described described(layer);
  rondo_sizes sizes{};
  if (const char *what = body.sizes(&described.layer, &sizes))
    failOf(layer, what);
  const std::vector<SavedPart> parts = partsOf(layer, sizes);
  const bool hasParts = layer.custom.numParts > 0;
  struct Size {
    const char *name;
    int64_t stated, needed;
  };
  const Size all[] = {
      {"weight_bytes", layer.weightBytes, sizes.weight_bytes},
      {"saved_for_input_grad_bytes", hasParts ? 0 : layer.inputGradFreesBytes,
       sizes.saved_for_input_grad_bytes},
      {"saved_for_weight_grad_bytes",
       hasParts ? 0 : layer.activationBytes - layer.inputGradFreesBytes,
       sizes.saved_for_weight_grad_bytes},
      {"kept_for_weight_grad_bytes", layer.inputGradKeepsBytes,
       sizes.kept_for_weight_grad_bytes},
      // Nothing reads the last layer's output.
      {"output_bytes", layer.outputBytes,
       layer.outputBytes == 0 ? 0 : sizes.output_bytes},
      {"output_without_grad_bytes", layer.custom.outputWithoutGradBytes,
       layer.outputBytes == 0 ? 0 : sizes.output_without_grad_bytes},
      {"workspace_bytes", layer.custom.workspaceBytes, sizes.workspace_bytes},
      {"frozen_weight_bytes", layer.custom.frozenBytes,
       sizes.frozen_weight_bytes},
      {"backward_workspace_bytes", layer.custom.backwardWorkspaceBytes,
       sizes.backward_workspace_bytes},
  };
  std::string stated, needed;
  auto differ = [&](const std::string &has, const std::string &needs) {
    const std::string comma = stated.empty() ? "" : ", ";
    stated += comma + has;
    needed += comma + needs;
  };
  for (const Size &size : all) {
    if (size.needed < 0)
      failOf(layer, "`sizes` of " + nameOfBody(layer) + " returns " +
                        size.name + " = " + std::to_string(size.needed) +
                        "; a size is at least 0");
    if (size.stated == size.needed)
      continue;
    differ(std::string(size.name) + " = " + std::to_string(size.stated),
           std::string(size.name) + " = " + std::to_string(size.needed));
  }
  const std::string has = textOf(layer.custom.parts, layer.custom.numParts),
                    needs = textOf(parts.data(), sizes.num_saved);
  if (has != needs)
    differ("saved = " + has, "saved = " + needs);
  const std::string samples =
      layer.custom.numSizes == 0
          ? ""
          : " for " + rondo::countOf(layer.batch, "sample");
  return stated.empty() ? ""
                        : stated + samples + ", but " + nameOfBody(layer) +
                              " needs " + needed + samples;
}

} // namespace rondo::runtime
