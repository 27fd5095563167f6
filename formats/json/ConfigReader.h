//===- ConfigReader.h - Reads a Hugging Face configuration ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_CONFIGREADER_H
#define RONDO_FORMATS_JSON_CONFIGREADER_H

#include "formats/json/Fields.h"
#include "formats/json/ModelConfig.h"
#include "formats/json/ModelTypes.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::json {

/// Reads one file.
class ConfigReader {
public:
  ConfigReader(llvm::StringRef text, int64_t sequence)
      : text(text), wanted(sequence) {}

  std::optional<TextFault> read();
  ModelConfig config;

private:
  /// `line 3, column 4: "n_head" is 12`, for what `value` of `key` is.
  std::string say(llvm::StringRef key, Value value) const {
    return value.placeIn(text) + ": " + quoted(key) + " is " + value.excerpt();
  }
  std::optional<TextFault> findType(Value root);
  std::optional<TextFault> readMember(const ModelKey &key, Value value);
  std::optional<TextFault> checkUnknown();
  std::optional<TextFault> readFixed(const ModelKey &key, Value value);
  std::optional<TextFault> readReal(llvm::StringRef key, Value value,
                                    double &number) const;
  std::optional<TextFault> readScaling(llvm::StringRef key, Value value,
                                       bool withTheta);
  std::optional<TextFault> readLayerTypes(Value value);
  std::optional<TextFault> checkLayerTypes() const;
  std::optional<TextFault> checkRequired() const;
  std::optional<TextFault> checkHeads();
  std::optional<TextFault> checkExperts() const;
  int64_t layersWithWindow() const;
  std::optional<TextFault> chooseSequence();
  /// Null if the file does not have it.
  const Value *find(llvm::StringRef key) const;
  /// The same where it is known to have it.
  std::string sayKey(llvm::StringRef key) const { return say(key, *find(key)); }

  llvm::StringRef text;
  int64_t wanted;
  const ModelType *type = nullptr;
  std::vector<Member> members;
  std::vector<const Member *> unknown;
  /// The numbers above 0, each as say() shows it.
  std::vector<std::string> dropouts;
  /// For each element of `layer_types`, whether the layer has the window.
  std::vector<bool> hasWindow;
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_CONFIGREADER_H
