//===- ModelConfig.cpp - Hugging Face configurations ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ModelConfig.h"

#include "formats/json/Fields.h"
#include "formats/json/ModelTypes.h"
#include "schedule/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// The language holds sizes in 32 bits.
constexpr int64_t mostSize = std::numeric_limits<int32_t>::max();
/// With these, parameters fit 64 bits.
constexpr int64_t mostLayers = 1 << 14, mostWidth = 1 << 20;

int64_t mostOf(int64_t ModelConfig::*size) {
  if (size == &ModelConfig::layers)
    return mostLayers;
  const bool isLong = size == &ModelConfig::vocab ||
                      size == &ModelConfig::positions ||
                      size == &ModelConfig::window;
  return isLong ? mostSize : mostWidth;
}

std::string shortNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// Reads one file.
class ConfigReader {
public:
  ConfigReader(StringRef text, int64_t sequence)
      : text(text), wanted(sequence) {}

  std::optional<TextFault> read();
  ModelConfig config;

private:
  /// `line 3, column 4: "n_head" is 12`, for what `value` of `key` is.
  std::string say(StringRef key, Value value) const {
    return value.placeIn(text) + ": " + quoted(key) + " is " + value.excerpt();
  }
  std::optional<TextFault> findType(Value root);
  std::optional<TextFault> readMember(const Member &member);
  std::optional<TextFault> readFixed(const ModelKey &key, Value value);
  std::optional<TextFault> readReal(StringRef key, Value value,
                                    double &number) const;
  std::optional<TextFault> readScaling(StringRef key, Value value,
                                       bool withTheta);
  std::optional<TextFault> readLayerTypes(Value value);
  std::optional<TextFault> checkRequired() const;
  std::optional<TextFault> checkHeads();
  std::optional<TextFault> chooseSequence();
  /// Null if the file does not have it.
  const Value *find(StringRef key) const;
  /// The same where it is known to have it.
  std::string sayKey(StringRef key) const { return say(key, *find(key)); }

  StringRef text;
  int64_t wanted;
  const ModelType *type = nullptr;
  std::vector<Member> members;
};

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
              1, mostSize, scaling.originalPositions))
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

std::optional<TextFault> ConfigReader::readLayerTypes(Value value) {
  if (!value.isArray())
    return say("layer_types", value) + ", not a list";
  Elements walk(value);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k)
    if (element->string() != "full_attention")
      return element->placeIn(text) + ": layer_types[" + std::to_string(k) +
             "] is " + element->excerpt() +
             "; Rondo takes \"full_attention\": attention reaches back to the "
             "first token";
  return {};
}

std::optional<TextFault> ConfigReader::readMember(const Member &member) {
  const ModelKey *key = type->find(member.key);
  const Value value = member.value;
  if (!key) {
    if (isHarmlessKey(member.key))
      return {};
    std::vector<std::string> names;
    for (auto keys : {type->sharedKeys, type->ownKeys})
      for (const ModelKey &known : keys)
        names.push_back(known.name);
    const std::string nearest = nearestWord(member.key, names);
    return say(member.key, value) + ", and Rondo does not know this key of " +
           type->name +
           (nearest.empty() ? std::string() : " (" + nearest + " is one)") +
           ": if it changes nothing that is trained, read a copy of the file "
           "without it";
  }
  // As in a file without the key.
  if (value.isNull() && !key->isRequired) {
    if (key->size == &ModelConfig::window)
      config.window = 0;
    return {};
  }
  const std::string where = value.placeIn(text) + ": " + quoted(member.key);
  switch (key->use) {
  case KeyUse::Size:
    return readInteger(value, where, 1, mostOf(key->size), config.*key->size);
  case KeyUse::Real:
    return readReal(member.key, value, config.*key->real);
  case KeyUse::Flag:
    if (!value.boolean())
      return say(member.key, value) + ", neither true nor false";
    config.*key->flag = *value.boolean();
    return {};
  case KeyUse::Fixed:
    return readFixed(*key, value);
  case KeyUse::Dropout:
    if (!value.number())
      return say(member.key, value) + ", not a number";
    if (*value.number() != 0)
      config.warnings.push_back(say(member.key, value) +
                                ", but Rondo trains without dropout");
    return {};
  case KeyUse::RopeScaling:
    return readScaling(member.key, value, /*withTheta=*/false);
  case KeyUse::RopeParameters:
    return readScaling(member.key, value, /*withTheta=*/true);
  case KeyUse::LayerTypes:
    return readLayerTypes(value);
  }
  return {};
}

std::optional<TextFault> ConfigReader::checkRequired() const {
  for (auto keys : {type->sharedKeys, type->ownKeys})
    for (const ModelKey &key : keys)
      if (key.isRequired && !find(key.name))
        return "missing key " + quoted(key.name) + ", which a " + type->name +
               " must state";
  if (const Value *scaling = find("rope_scaling"))
    if (const Value *parameters = find("rope_parameters"))
      if (!scaling->isNull() && !parameters->isNull())
        return parameters->placeIn(text) +
               ": \"rope_parameters\" is given beside \"rope_scaling\" of " +
               scaling->placeIn(text) + "; keep one of them";
  return {};
}

std::optional<TextFault> ConfigReader::checkHeads() {
  if (config.ffn == 0)
    config.ffn = 4 * config.hidden;
  if (config.headWidth == 0) {
    if (config.hidden % config.heads != 0)
      return sayKey(type->hiddenKey) + ", not a multiple of the " +
             std::to_string(config.heads) + " heads of " +
             quoted(type->headsKey);
    config.headWidth = config.hidden / config.heads;
  }
  if (config.heads * config.headWidth > 16 * mostWidth)
    return sayKey(type->headsKey) + " of " + std::to_string(config.headWidth) +
           " numbers; all heads together have at most " +
           std::to_string(16 * mostWidth);
  if (config.keyHeads == 0)
    config.keyHeads = config.heads;
  if (config.heads % config.keyHeads != 0)
    return sayKey(type->headsKey) + ", not a multiple of the " +
           std::to_string(config.keyHeads) +
           " heads of \"num_key_value_heads\"";
  if (config.architecture == Architecture::Llama && config.headWidth % 2 != 0)
    return sayKey(find("head_dim") ? "head_dim" : type->hiddenKey) +
           ", so that heads are " + std::to_string(config.headWidth) +
           " wide; rotary positions turn pairs of numbers, so the width must "
           "be even";
  return {};
}

std::optional<TextFault> ConfigReader::chooseSequence() {
  if (!config.usesWindow)
    config.window = 0;
  const int64_t reach = config.window == 0
                            ? config.positions
                            : std::min(config.window, config.positions);
  config.sequence = wanted > 0 ? wanted : std::min(reach, mostDefaultSequence);
  if (config.sequence > config.positions)
    return sayKey(type->positionsKey) + ", fewer than the sequence of " +
           std::to_string(config.sequence) + ": give --sequence " +
           std::to_string(reach) + " or less";
  if (config.sequence > reach) {
    const std::string most = ": give --sequence " + std::to_string(reach) +
                             " or less; Rondo's attention has no window";
    if (!find("sliding_window"))
      return "\"sliding_window\" of " + config.type + " is " +
             std::to_string(config.window) + " if the file has none, shorter " +
             "than the sequence of " + std::to_string(config.sequence) + most;
    return sayKey("sliding_window") + ", shorter than the sequence of " +
           std::to_string(config.sequence) + most;
  }
  if (config.architecture == Architecture::Gpt &&
      config.sequence < config.positions)
    config.warnings.push_back(
        sayKey(type->positionsKey) + ", but the position embedding has a row " +
        "for each of the " + std::to_string(config.sequence) +
        " tokens of a sequence, and no more");
  return {};
}

std::optional<TextFault> ConfigReader::read() {
  if (auto fault = checkSyntax(text))
    return fault;
  if (auto fault = findType(Value(text)))
    return fault;
  for (const Member &member : members)
    if (auto fault = readMember(member))
      return fault;
  if (auto fault = checkRequired())
    return fault;
  if (auto fault = checkHeads())
    return fault;
  return chooseSequence();
}

} // namespace

std::vector<StringRef> modelTypeNames() {
  std::vector<StringRef> names;
  for (const ModelType &type : modelTypes())
    names.push_back(type.name);
  return names;
}

llvm::Expected<ModelConfig> readModelConfig(StringRef text, int64_t sequence) {
  ConfigReader reader(text, sequence);
  if (std::optional<TextFault> fault = reader.read())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   fault->message);
  return std::move(reader.config);
}

} // namespace rondo::json
