//===- ConfigSequence.cpp - Windows and the sequence of a model -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ConfigReader.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace rondo::json {

std::optional<TextFault> ConfigReader::readLayerTypes(Value value) {
  if (!value.isArray())
    return say("layer_types", value) + ", not a list";
  Elements walk(value);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k) {
    const std::optional<std::string> kind = element->string();
    hasWindow.push_back(kind == "sliding_attention");
    // transformers 4 wrote "attention" for some model types.
    if (kind != "sliding_attention" && kind != "full_attention" &&
        kind != "attention")
      return element->placeIn(text) + ": layer_types[" + std::to_string(k) +
             "] is " + element->excerpt() +
             "; Rondo takes \"full_attention\", and \"sliding_attention\" "
             "with a window of at least the sequence";
  }
  return {};
}

std::optional<TextFault> ConfigReader::checkLayerTypes() const {
  const Value *types = find("layer_types");
  if (!types || types->isNull() || !type->find("layer_types"))
    return {};
  if (static_cast<int64_t>(hasWindow.size()) != config.layers)
    return types->placeIn(text) + ": \"layer_types\" has " +
           countOf(int64_t(hasWindow.size()), "element") + ", but " +
           quoted("num_hidden_layers") + " is " + std::to_string(config.layers);
  const auto first = llvm::find(hasWindow, true);
  if (first == hasWindow.end() || (config.usesWindow && config.window > 0))
    return {};
  const Value *flag = find("use_sliding_window");
  return types->placeIn(text) + ": layer_types[" +
         std::to_string(first - hasWindow.begin()) +
         "] is \"sliding_attention\", but the model has no window: " +
         (config.usesWindow ? "\"sliding_window\" is null or missing"
          : flag            ? say("use_sliding_window", *flag)
                            : "\"use_sliding_window\" of " + config.type +
                                  " is false if the file has none");
}

/// Transformers 5.24.0: `layer_types` says which layers have the window;
/// without it those from `max_window_layers` on.
int64_t ConfigReader::layersWithWindow() const {
  if (!config.usesWindow || config.window == 0)
    return 0;
  if (!hasWindow.empty())
    return llvm::count(hasWindow, true);
  return std::max<int64_t>(0, config.layers - config.fullLayers);
}

std::optional<TextFault> ConfigReader::chooseSequence() {
  const int64_t windowed = layersWithWindow();
  config.windowedLayers = windowed;
  if (windowed == 0)
    config.window = 0;
  const int64_t reach = config.window == 0
                            ? config.positions
                            : std::min(config.window, config.positions);
  config.sequence = wanted > 0 ? wanted : std::min(reach, maxDefaultSequence);
  // Costs know windows.
  if (config.architecture == Architecture::Experts &&
      config.sequence <= config.positions)
    return {};
  if (config.sequence > config.positions)
    return sayKey(type->positionsKey) + ", fewer than the sequence of " +
           std::to_string(config.sequence) + ": give --sequence " +
           std::to_string(reach) + " or less";
  const Value *window = find("sliding_window");
  const std::string inLayers =
      windowed == config.layers ? ""
                                : " in " + std::to_string(windowed) + " of " +
                                      std::to_string(config.layers) + " layers";
  const std::string windowIs =
      window ? say("sliding_window", *window) + inLayers
             : "\"sliding_window\" of " + config.type + " is " +
                   std::to_string(config.window) + inLayers +
                   " if the file has none";
  if (config.sequence > reach)
    return windowIs + ", shorter than the sequence of " +
           std::to_string(config.sequence) + ": give --sequence " +
           std::to_string(reach) + " or less; Rondo's attention has no window";
  if (wanted <= 0 &&
      config.sequence < std::min(config.positions, maxDefaultSequence))
    config.warnings.push_back(windowIs +
                              ": a sequence has at most as many tokens, as "
                              "Rondo's attention has no window");
  if (config.architecture == Architecture::Gpt &&
      config.sequence < config.positions)
    config.warnings.push_back(
        sayKey(type->positionsKey) + ", but the position embedding has a row " +
        "for each of the " + std::to_string(config.sequence) +
        " tokens of a sequence, and no more");
  return {};
}

} // namespace rondo::json
