//===- json.cpp - Reads and writes JSON -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/json.h"

#include "runtime/base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace rondo::runtime;

void JsonReader::fail(const std::string &what) const {
  throw Error(where + ("byte " + std::to_string(at)) + ": " + what);
}

char JsonReader::peek() {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                              text[at] == '\r' || text[at] == '\t'))
    ++at;
  return at < text.size() ? text[at] : '\0';
}

void JsonReader::expect(char c) {
  if (peek() != c)
    fail(std::string("expected '") + c + "'");
  ++at;
}

std::string JsonReader::string() {
  expect('"');
  std::string result;
  for (;;) {
    if (at >= text.size())
      fail("a string has no end");
    unsigned char c = static_cast<unsigned char>(text[at++]);
    if (c == '"')
      return result;
    if (c < 0x20)
      fail("a control character in a string");
    if (c != '\\') {
      result += static_cast<char>(c);
      continue;
    }
    char escape = at < text.size() ? text[at++] : '\0';
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (const char *found = std::find(plain, plain + 8, escape);
        found != plain + 8) {
      result += meant[found - plain];
      continue;
    }
    // Names of tensors and columns are ASCII; other characters are not
    // decoded.
    const std::string digits = text.substr(std::min(at, text.size()), 4);
    // strtoul() alone would take blanks, a sign and 0x.
    const bool areDigits =
        digits.size() == 4 &&
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    const unsigned long code =
        areDigits ? std::strtoul(digits.c_str(), nullptr, 16) : 0;
    if (escape != 'u' || !areDigits || code > 0x7f)
      fail("an escape that JSON does not have, or of a character beyond ASCII");
    result += static_cast<char>(code);
    at += 4;
  }
}

int64_t JsonReader::integer() {
  peek();
  size_t begin = at;
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    if (at - begin >= 18)
      fail("a number with more than 18 digits");
    value = value * 10 + (text[at] - '0');
  }
  if (at == begin)
    fail("expected a whole number that is not negative");
  return value;
}

std::vector<int64_t> JsonReader::integers() {
  std::vector<int64_t> values;
  list('[', ']', [&] { values.push_back(integer()); });
  return values;
}

void JsonReader::end() {
  if (peek() != '\0' || at < text.size())
    fail("more than one value");
}

void JsonReader::skip() { skip(0); }

void JsonReader::skipString() {
  expect('"');
  for (; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  if (at >= text.size())
    fail("a string has no end");
  ++at;
}

void JsonReader::skip(int depth) {
  constexpr int deepest = 32;
  if (depth > deepest)
    fail("values are more than " + std::to_string(deepest) + " deep");
  switch (peek()) {
  case '"':
    return skipString();
  case '{':
    return list('{', '}', [&] {
      peek();
      skipString();
      expect(':');
      skip(depth + 1);
    });
  case '[':
    return list('[', ']', [&] { skip(depth + 1); });
  default:
    break;
  }
  word();
}

std::string JsonReader::word() {
  peek();
  const size_t begin = at;
  while (at < text.size() && text[at] != '\0' &&
         std::strchr("+-.0123456789Eaeflnrstu", text[at]))
    ++at;
  if (at == begin)
    fail("expected a value");
  return text.substr(begin, at - begin);
}

void JsonWriter::breakLine() {
  if (breaksLine)
    written += '\n';
  breaksLine = false;
}

void JsonWriter::separate() {
  if (needsComma)
    written += ',';
  needsComma = false;
  breakLine();
}

JsonWriter &JsonWriter::open(char begin, char end) {
  separate();
  written += begin;
  closers += end;
  return *this;
}

JsonWriter &JsonWriter::end() {
  breakLine();
  written += closers.back();
  closers.pop_back();
  needsComma = true;
  return *this;
}

static void appendString(std::string &json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      json += escape;
    } else {
      json += c;
    }
  }
  json += '"';
}

JsonWriter &JsonWriter::key(std::string_view name) {
  separate();
  appendString(written, name);
  written += ':';
  return *this;
}

JsonWriter &JsonWriter::value(std::string_view text) {
  separate();
  appendString(written, text);
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(double number, const char *format) {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return raw(text);
}

JsonWriter &JsonWriter::raw(std::string_view json) {
  separate();
  written += json;
  needsComma = true;
  return *this;
}
