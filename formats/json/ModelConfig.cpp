//===- ModelConfig.cpp - Hugging Face configurations ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ModelConfig.h"

#include "formats/json/ConfigReader.h"
#include "kinds/EditDistance.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// The language holds sizes in 32 bits.
constexpr int64_t maxSize = std::numeric_limits<int32_t>::max();
/// With these, parameters fit 64 bits.
constexpr int64_t maxLayers = 1 << 14, maxWidth = 1 << 20, maxExperts = 1 << 12;
/// Weights of a model with experts.
constexpr double maxWeights = double(int64_t(1) << 60);

int64_t mostOf(int64_t ModelConfig::*size) {
  if (size == &ModelConfig::layers)
    return maxLayers;
  if (size == &ModelConfig::experts || size == &ModelConfig::sharedExperts)
    return maxExperts;
  const bool isLong =
      size == &ModelConfig::vocab || size == &ModelConfig::positions ||
      size == &ModelConfig::window || size == &ModelConfig::fullLayers;
  return isLong ? maxSize : maxWidth;
}

std::string shortNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

} // namespace

const Value *ConfigReader::find(StringRef key) const {
  for (const Member &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

std::optional<TextFault> ConfigReader::findType(Value root) {
  if (!root.isObject())
    return "the configuration is " + root.excerpt() + ", not an object";
  if (auto fault = readAnyObject(root, "the configuration"))
    return fault;
  Members walk(root);
  while (std::optional<Member> member = walk.next())
    members.push_back(std::move(*member));
  const Value *value = find("model_type");
  const std::string known = llvm::join(modelTypeNames(), ", ");
  if (!value)
    return "missing key \"model_type\"; it is one of " + known;
  const std::optional<std::string> name = value->string();
  for (const ModelType &row : modelTypes())
    if (name == row.name)
      type = &row;
  if (!type)
    return say("model_type", *value) + "; Rondo has the layers of " + known;
  config = type->defaults;
  config.type = type->name;
  return {};
}

std::optional<TextFault> ConfigReader::readReal(StringRef key, Value value,
                                                double &number) const {
  const std::optional<double> found = value.number();
  if (!found)
    return say(key, value) + ", not a number";
  if (!(*found > 0))
    return say(key, value) + "; it must be above 0";
  number = *found;
  return {};
}

std::optional<TextFault> ConfigReader::readFixed(const ModelKey &key,
                                                 Value value) {
  const std::string shown = value.excerpt();
  for (const char *allowed : key.values)
    if (shown == allowed ||
        (value.isNumber() && value.number() == Value(allowed).number()))
      return {};
  std::string known;
  for (const char *allowed : key.values)
    known += (known.empty() ? "" : " or ") + std::string(allowed);
  return say(key.name, value) + "; Rondo takes " + known + ": " + key.rule;
}

std::optional<TextFault> ConfigReader::readScaling(StringRef key, Value value,
                                                   bool withTheta) {
  if (!value.isObject())
    return say(key, value) + ", not an object";
  std::vector<Member> parts;
  Members walk(value);
  while (std::optional<Member> member = walk.next())
    parts.push_back(std::move(*member));
  auto part = [&](StringRef name) -> const Value * {
    for (const Member &member : parts)
      if (member.key == name)
        return &member.value;
    return nullptr;
  };
  const Value *kind = part("rope_type");
  if (!kind)
    kind = part("type");
  const std::optional<std::string> name =
      kind ? kind->string() : std::optional<std::string>();
  if (!kind && !withTheta)
    return value.placeIn(text) + ": missing key \"rope_type\" in " +
           quoted(key);
  RopeScaling &scaling = config.ropeScaling;
  std::vector<StringRef> needed;
  if (!kind || name == "default") {
    scaling.kind = RopeScaling::None;
  } else if (name == "llama3") {
    scaling.kind = RopeScaling::Llama3;
    needed = {"factor", "low_freq_factor", "high_freq_factor",
              "original_max_position_embeddings"};
  } else {
    return kind->placeIn(text) + ": rope_type is " + kind->excerpt() +
           "; Rondo leaves rotary positions as they are (default) or scales "
           "them as "
           "llama3 does";
  }
  for (const Member &member : parts) {
    const std::string inner = (key + "." + member.key).str();
    if (member.key == "rope_type" || member.key == "type")
      continue;
    if (member.key == "partial_rotary_factor") {
      if (member.value.isNull())
        continue;
      if (auto fault = readFixed(*type->find(member.key), member.value))
        return fault;
      continue;
    }
    if (withTheta && member.key == "rope_theta") {
      if (auto fault = readReal(inner, member.value, config.ropeTheta))
        return fault;
      continue;
    }
    if (!llvm::is_contained(needed, member.key))
      return say(inner, member.value) + "; rope_type " +
             (name ? *name : "default") + " has no such key";
    if (member.key == "original_max_position_embeddings") {
      if (auto fault = readInteger(
              member.value, member.value.placeIn(text) + ": " + quoted(inner),
              1, maxSize, scaling.originalPositions))
        return fault;
      continue;
    }
    double &number = member.key == "factor" ? scaling.factor
                     : member.key == "low_freq_factor"
                         ? scaling.lowFrequencyFactor
                         : scaling.highFrequencyFactor;
    if (auto fault = readReal(inner, member.value, number))
      return fault;
  }
  for (StringRef name : needed)
    if (!part(name))
      return value.placeIn(text) + ": missing key " + quoted(name) + " in " +
             quoted(key);
  if (scaling.kind == RopeScaling::Llama3 &&
      scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
    return part("high_freq_factor")->placeIn(text) + ": high_freq_factor is " +
           shortNumber(scaling.highFrequencyFactor) +
           ", not above low_freq_factor, which is " +
           shortNumber(scaling.lowFrequencyFactor);
  return {};
}

/// Null and false are what most keys are if a file does not have them.
std::optional<TextFault> ConfigReader::checkUnknown() {
  std::vector<std::string> names;
  for (auto keys : type->keys())
    for (const ModelKey &known : keys)
      names.push_back(known.name);
  std::vector<std::string> passed, refused;
  for (const Member *member : unknown) {
    const std::string nearest = nearestWord(member->key, names);
    const std::string shown =
        say(member->key, member->value) +
        (nearest.empty() ? "" : " (did you mean " + nearest + "?)");
    const bool isOff = member->value.isNull() ||
                       member->value.boolean() == std::optional<bool>(false);
    (isOff ? passed : refused).push_back(shown);
  }
  const std::string keysOf = " of " + config.type;
  if (refused.size() == 1)
    return refused.front() + ", and Rondo does not know this key" + keysOf +
           ": if it changes nothing that is trained, read a copy of the file "
           "without it";
  if (!refused.empty())
    return llvm::join(refused, "; ") + ": Rondo does not know these " +
           std::to_string(refused.size()) + " keys" + keysOf +
           "; if they change nothing that is trained, read a copy of the file "
           "without them";
  if (!passed.empty())
    config.warnings.push_back(
        llvm::join(passed, "; ") + ": Rondo does not know " +
        (passed.size() == 1
             ? "this key" + keysOf +
                   " and passes over it, as "
                   "it is null or false"
             : "these " + std::to_string(passed.size()) + " keys" + keysOf +
                   " and passes over them, as they are null or "
                   "false"));
  return {};
}

std::optional<TextFault> ConfigReader::readMember(const ModelKey &key,
                                                  Value value) {
  // As in a file without the key.
  if (value.isNull() && !key.isRequired) {
    if (key.size == &ModelConfig::window)
      config.window = 0;
    return {};
  }
  // Null means num_attention_heads; without the key, the default of the type.
  if (value.isNull() && key.size == &ModelConfig::keyHeads)
    return {};
  const std::string where = value.placeIn(text) + ": " + quoted(key.name);
  switch (key.use) {
  case KeyUse::Size:
    return readInteger(value, where, key.least, mostOf(key.size),
                       config.*key.size);
  case KeyUse::Real:
    return readReal(key.name, value, config.*key.real);
  case KeyUse::Flag:
    if (!value.boolean())
      return say(key.name, value) + ", neither true nor false";
    config.*key.flag = *value.boolean();
    return {};
  case KeyUse::Fixed:
    return readFixed(key, value);
  case KeyUse::Dropout:
    if (!value.number())
      return say(key.name, value) + ", not a number";
    if (*value.number() != 0)
      dropouts.push_back(say(key.name, value));
    return {};
  case KeyUse::RopeScaling:
    return readScaling(key.name, value, /*withTheta=*/false);
  case KeyUse::RopeParameters:
    return readScaling(key.name, value, /*withTheta=*/true);
  case KeyUse::LayerTypes:
    return readLayerTypes(value);
  case KeyUse::AnyValue:
    return {};
  }
  return {};
}

std::optional<TextFault> ConfigReader::checkRequired() const {
  for (auto keys : type->keys())
    for (const ModelKey &key : keys)
      if (key.isRequired && !find(key.name))
        return "missing key " + quoted(key.name) + ", which a " + type->name +
               " must state";
  if (const Value *scaling = find("rope_scaling"))
    if (const Value *parameters = find("rope_parameters"))
      if (!scaling->isNull() && !parameters->isNull())
        return parameters->placeIn(text) +
               ": \"rope_parameters\" is given in addition to \"rope_scaling\" "
               "of " +
               scaling->placeIn(text) + "; keep one of them";
  // Which of the two counts depends on the program that reads the file.
  const Value *parameters = find("rope_parameters"), *base = find("rope_theta");
  if (!parameters || !base || base->isNull())
    return {};
  const std::optional<Value> inner = findMember(*parameters, "rope_theta");
  if (inner && inner->number() != base->number())
    return say("rope_parameters.rope_theta", *inner) +
           ", but \"rope_theta\" of " + base->placeIn(text) + " is " +
           base->excerpt() + "; keep one of them";
  return {};
}

std::optional<TextFault> ConfigReader::checkHeads() {
  if (config.ffn == 0)
    config.ffn = 4 * config.hidden;
  if (config.expertFfn == 0)
    config.expertFfn = config.ffn;
  if (config.headWidth == 0 && config.keyRank == 0) {
    if (config.hidden % config.heads != 0)
      return sayKey(type->hiddenKey) + ", not a multiple of the " +
             std::to_string(config.heads) + " heads of " +
             quoted(type->headsKey);
    config.headWidth = config.hidden / config.heads;
  }
  if (config.heads * config.headWidth > 16 * maxWidth)
    return sayKey(type->headsKey) + " of " + std::to_string(config.headWidth) +
           " numbers; all heads together have at most " +
           std::to_string(16 * maxWidth);
  if (config.keyHeads == 0)
    config.keyHeads = config.heads;
  if (config.heads % config.keyHeads != 0)
    return sayKey(type->headsKey) + ", not a multiple of the " +
           std::to_string(config.keyHeads) +
           " heads of \"num_key_value_heads\"";
  if (config.architecture == Architecture::Experts)
    return checkExperts();
  if (config.architecture == Architecture::Llama && config.headWidth % 2 != 0)
    return sayKey(find("head_dim") ? "head_dim" : type->hiddenKey) +
           ", so that heads are " + std::to_string(config.headWidth) +
           " wide; rotary positions turn pairs of numbers, so the width must "
           "be even";
  return {};
}

std::optional<TextFault> ConfigReader::checkExperts() const {
  auto atMost = [&](const char *key, int64_t number, int64_t most,
                    const char *of) -> std::optional<TextFault> {
    if (number <= most)
      return {};
    return sayKey(key) + ", more than the " + std::to_string(most) + " " + of;
  };
  if (auto fault = atMost("num_experts_per_tok", config.expertsPerToken,
                          config.experts, "experts"))
    return fault;
  if (config.denseLayers > config.layers)
    return atMost("first_k_dense_replace", config.denseLayers, config.layers,
                  "layers");
  const double weights = double(config.layers) * double(config.hidden) * 3 *
                         double(config.expertFfn) *
                         double(config.experts + config.sharedExperts);
  if (weights > maxWeights)
    return "layers, experts and widths make " + shortNumber(weights) +
           " weights or more; the most is " + shortNumber(maxWeights);
  return {};
}

std::optional<TextFault> ConfigReader::read() {
  if (auto fault = checkSyntax(text))
    return fault;
  if (auto fault = findType(Value(text)))
    return fault;
  // All at once: otherwise each run of a user finds the next one.
  std::vector<std::string> faults;
  for (const Member &member : members) {
    if (const ModelKey *key = type->find(member.key)) {
      if (auto fault = readMember(*key, member.value))
        faults.push_back(describe(*fault));
    } else if (!isHarmlessKey(member.key)) {
      unknown.push_back(&member);
    }
  }
  if (auto fault = checkUnknown())
    faults.push_back(describe(*fault));
  if (!faults.empty())
    return llvm::join(faults, "; and ");
  if (!dropouts.empty())
    config.warnings.push_back(llvm::join(dropouts, "; ") +
                              ", but Rondo trains without dropout");
  if (auto fault = checkRequired())
    return fault;
  if (auto fault = checkLayerTypes())
    return fault;
  if (auto fault = checkHeads())
    return fault;
  return chooseSequence();
}

std::vector<StringRef> modelTypeNames() {
  std::vector<StringRef> names;
  for (const ModelType &type : modelTypes())
    names.push_back(type.name);
  return names;
}

Result<ModelConfig> readModelConfig(StringRef text, int64_t sequence) {
  ConfigReader reader(text, sequence);
  if (std::optional<TextFault> fault = reader.read())
    return *fault;
  return std::move(reader.config);
}

} // namespace rondo::json
