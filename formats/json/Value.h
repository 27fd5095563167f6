//===- Value.h - Views of JSON text -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers take values straight from the text in the order they need them, so
// that a schedule of a million actions builds no tree. Unlike llvm::json this
// keeps the order of keys, detects duplicate keys, and distinguishes 4 from
// 4.0.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_VALUE_H
#define RONDO_FORMATS_JSON_VALUE_H

#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::json {

/// A fault of a document. The reader makes the sentence, since
/// it quotes the text at its position, which nothing else keeps.
struct TextFault : Fault {
  TextFault(std::string message) : TextFault(FaultKind::Text, message) {}
  TextFault(const char *message) : TextFault(std::string(message)) {}
  TextFault(const llvm::Twine &message) : TextFault(message.str()) {}
  /// `kind` is one of documents. The message is one sentence, lower case, no
  /// final period.
  TextFault(FaultKind itsKind, const std::string &message) {
    kind = itsKind;
    parts.push_back(message);
  }
};

/// A fault of a document with words before or after its sentence.
TextFault withWords(const std::string &before, const Fault &fault,
                    const std::string &after = "");

/// Checks that `text` is exactly one JSON value in UTF-8, nested at most 256
/// levels deep. O(text).
/// A fault names line and column, which count from 1; a column counts bytes.
std::optional<TextFault> checkSyntax(llvm::StringRef text);

/// `line 3, column 4`; without the line where the text is one.
std::string placeIn(llvm::StringRef text, size_t offset);

/// Line and column of a text, from 1.
struct TextPlace {
  int64_t line = 1, column = 1;
};

/// Takes a place and the colon after it from the front of a message, as
/// placeIn() and Document::where() write them; nothing if there is none.
std::optional<TextPlace> takePlace(llvm::StringRef &message);

/// One value of a text that passed checkSyntax(). The text must outlive it.
class Value {
public:
  explicit Value(llvm::StringRef text) : source(text.trim(" \t\r\n")) {}

  bool isNull() const { return source.front() == 'n'; }
  bool isString() const { return source.front() == '"'; }
  bool isArray() const { return source.front() == '['; }
  bool isObject() const { return source.front() == '{'; }
  std::optional<bool> boolean() const;
  /// A number, perhaps with a fraction and an exponent.
  bool isNumber() const;
  /// A number without fraction and exponent, of any size.
  bool isWholeNumber() const;
  /// A whole number that int64 holds.
  std::optional<int64_t> integer() const;
  /// A number as the nearest double.
  std::optional<double> number() const;
  /// The characters of a string. `storage` holds them if there are escapes.
  std::optional<llvm::StringRef> string(std::string &storage) const;
  std::optional<std::string> string() const;

  /// Its place in `text`, of which it is a part.
  std::string placeIn(llvm::StringRef text) const {
    return json::placeIn(text, source.data() - text.data());
  }
  /// The text for messages, shortened if long.
  std::string excerpt() const;

private:
  friend class Elements;
  friend class Members;
  llvm::StringRef source;
};

/// Walks through an array.
class Elements {
public:
  explicit Elements(Value array);
  std::optional<Value> next();

private:
  llvm::StringRef rest;
};

struct Member {
  std::string key;
  Value value;
};

/// Walks through an object in the order of its text.
class Members {
public:
  explicit Members(Value object);
  std::optional<Member> next();

private:
  llvm::StringRef rest;
};

/// `text` in quotes, with JSON's escapes, shortened if long.
std::string quoted(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VALUE_H
