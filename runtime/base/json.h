//===- json.h - Reads and writes JSON ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_JSON_H
#define RONDO_RUNTIME_BASE_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
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

/// Writes one JSON value, without spaces: `{"a":1,"b":["x"]}`. The caller opens
/// and ends objects and arrays in order, and gives each member of an object a
/// key before its value.
class JsonWriter {
public:
  JsonWriter &object() { return open('{', '}'); }
  JsonWriter &array() { return open('[', ']'); }
  /// Ends the object or array that was opened last.
  JsonWriter &end();
  JsonWriter &key(std::string_view name);

  JsonWriter &value(std::string_view text);
  JsonWriter &value(const char *text) { return value(std::string_view(text)); }
  JsonWriter &value(int64_t number) { return raw(std::to_string(number)); }
  JsonWriter &value(int32_t number) { return value(int64_t(number)); }
  JsonWriter &value(bool is) { return raw(is ? "true" : "false"); }
  /// As printf() writes it, for example with "%.9g"; JSON has no infinity and
  /// no NaN.
  JsonWriter &value(double number, const char *format);
  /// A key and what value() takes.
  template <typename... Value>
  JsonWriter &member(std::string_view name, const Value &...of) {
    return key(name).value(of...);
  }

  /// Begins the next key, value or end on a line of its own.
  JsonWriter &line() {
    breaksLine = true;
    return *this;
  }
  /// The JSON. Requires that every object and array has ended.
  const std::string &text() const { return written; }

private:
  JsonWriter &open(char begin, char end);
  JsonWriter &raw(std::string_view json);
  /// Before a key or a value.
  void separate();
  void breakLine();

  std::string written;
  /// The closing characters of open objects and arrays, innermost last.
  std::string closers;
  bool needsComma = false, breaksLine = false;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_JSON_H
