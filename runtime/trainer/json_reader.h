//===- json_reader.h - Reads JSON -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_JSON_READER_H
#define RONDO_RUNTIME_TRAINER_JSON_READER_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Reads a JSON text from its start to its end, value by value: the caller
/// knows what comes next. All functions throw Error with the number of the byte
/// that is wrong.
class JsonReader {
public:
  /// The text must outlive the reader. `where` begins all errors: "header, ".
  explicit JsonReader(const std::string &text, const char *where = "")
      : text(text), where(where) {}

  [[noreturn]] void fail(const std::string &what) const;

  /// The next character that is not whitespace; 0 at the end.
  char peek();
  void expect(char c);
  /// Calls each() before every member or element up to `close`.
  template <typename Each> void list(char open, char close, Each each) {
    expect(open);
    if (peek() == close) {
      ++at;
      return;
    }
    for (;;) {
      each();
      if (peek() == close) {
        ++at;
        return;
      }
      expect(',');
    }
  }
  /// Calls each(key) before every value.
  template <typename Each> void object(Each each) {
    list('{', '}', [&] {
      std::string key = string();
      expect(':');
      each(key);
    });
  }
  /// Characters beyond ASCII must not be escaped.
  std::string string();
  /// A whole number of at most 18 digits, not negative.
  int64_t integer();
  std::vector<int64_t> integers();
  /// A number, true, false or null, as it is written.
  std::string word();
  /// Skips a value of any kind, up to 32 deep.
  void skip();
  /// Nothing may follow.
  void end();

private:
  void skip(int depth);
  void skipString();

  const std::string &text;
  const char *where;
  size_t at = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_JSON_READER_H
