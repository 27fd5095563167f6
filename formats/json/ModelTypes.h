//===- ModelTypes.h - What keys of configurations mean ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_MODELTYPES_H
#define RONDO_FORMATS_JSON_MODELTYPES_H

#include "formats/json/ModelConfig.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>

namespace rondo::json {

/// The kind of a key's value.
enum class KeyUse : uint8_t {
  /// A whole number of `least` or more.
  Size,
  /// A number above 0.
  Real,
  Flag,
  /// Only some values are what Rondo computes.
  Fixed,
  /// Rondo trains without dropout; a note reports it.
  Dropout,
  RopeScaling,
  /// Scaling and base in one object, as newer files have them.
  RopeParameters,
  /// A list with the kind of attention of each layer.
  LayerTypes,
  /// Changes values, but neither sizes nor costs.
  AnyValue,
};

struct ModelKey {
  const char *name;
  KeyUse use;
  /// The members that Size, Real and Flag fill.
  int64_t ModelConfig::*size = nullptr;
  double ModelConfig::*real = nullptr;
  bool ModelConfig::*flag = nullptr;
  bool isRequired = false;
  /// Only if the use is Size.
  int64_t least = 1;
  /// Fixed: JSON texts of what it may be.
  llvm::ArrayRef<const char *> values = {};
  /// Fixed: what Rondo has.
  const char *rule = nullptr;
};

/// One value of `model_type`.
struct ModelType {
  const char *name;
  /// The keys of all model types, of several, and of this one.
  llvm::ArrayRef<ModelKey> commonKeys, sharedKeys, ownKeys;
  /// With the defaults of keys that a file may leave out.
  ModelConfig defaults;
  /// Keys as messages name them.
  const char *hiddenKey, *headsKey, *positionsKey;

  std::array<llvm::ArrayRef<ModelKey>, 3> keys() const {
    return {commonKeys, sharedKeys, ownKeys};
  }
  /// Null if it is in no list.
  const ModelKey *find(llvm::StringRef key) const;
};

llvm::ArrayRef<ModelType> modelTypes();

/// Whether the key changes nothing that is trained, for any model type.
bool isHarmlessKey(llvm::StringRef key);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_MODELTYPES_H
