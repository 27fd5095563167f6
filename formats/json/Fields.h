//===- Fields.h - The members of a JSON object ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_FIELDS_H
#define RONDO_FORMATS_JSON_FIELDS_H

#include "formats/json/Value.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace rondo::json {

/// The members of an object whose keys are known.
class Fields {
public:
  /// Returns a fault if `value` is not an object, or has a key that is neither
  /// required nor optional, a duplicate key, or lacks a required one. `where`
  /// names the value in messages. Also reads the keys `homes`, `cards` and
  /// `card`, which earlier files have for `replicas`, `nics` and `nic`.
  std::optional<TextFault> read(Value value, llvm::StringRef where,
                                llvm::ArrayRef<llvm::StringRef> required,
                                llvm::ArrayRef<llvm::StringRef> optional = {});

  /// nullptr if the key is absent.
  const Value *find(llvm::StringRef key) const;
  /// For required keys.
  const Value &get(llvm::StringRef key) const { return *find(key); }

private:
  std::vector<Member> members;
};

/// Reads a whole number with least <= number <= most into `number`.
std::optional<TextFault> readInteger(Value value, llvm::StringRef where,
                                     int64_t least, int64_t most,
                                     int64_t &number);

/// The first member with this key; nothing if there is none, or `object` is not
/// an object.
std::optional<Value> findMember(Value object, llvm::StringRef key);

/// Checks a value that is an object with any keys, each once.
std::optional<TextFault> readAnyObject(Value value, llvm::StringRef where);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_FIELDS_H
