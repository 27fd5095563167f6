//===- Value.cpp - Views of JSON text -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Value.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr int maxDepth = 256;

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

StringRef dropBlanks(StringRef text) { return text.ltrim(" \t\r\n"); }

/// Recursive descent; reports the first fault.
class SyntaxChecker {
public:
  explicit SyntaxChecker(StringRef text)
      : begin(text.begin()), at(text.begin()), end(text.end()) {}

  /// The error at offset(), or null.
  const char *run() {
    if (value(0)) {
      blanks();
      if (at != end)
        fail("text after the value");
    }
    return message;
  }
  size_t offset() const { return static_cast<size_t>(at - begin); }

private:
  bool fail(const char *what) {
    message = what;
    return false;
  }
  void blanks() {
    while (at != end && isBlank(*at))
      ++at;
  }
  bool take(char c) {
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  bool word(StringRef expected) {
    if (!StringRef(at, end - at).starts_with(expected))
      return fail("expected a value");
    at += expected.size();
    return true;
  }
  bool digits() {
    const char *first = at;
    while (at != end && llvm::isDigit(*at))
      ++at;
    return at != first || fail("expected a digit");
  }
  bool number() {
    take('-');
    if (!take('0') && !digits())
      return false;
    if (take('.') && !digits())
      return false;
    if (take('e') || take('E')) {
      if (!take('+'))
        take('-');
      return digits();
    }
    return true;
  }
  bool string() {
    ++at;
    while (at != end && *at != '"') {
      if (static_cast<unsigned char>(*at) < 0x20)
        return fail("control character in a string");
      if (*at++ != '\\')
        continue;
      if (at == end)
        break;
      char escape = *at++;
      if (escape == 'u') {
        for (int i = 0; i < 4; ++i, ++at)
          if (at == end || !llvm::isHexDigit(*at))
            return fail("expected four hexadecimal digits");
      } else if (!StringRef("\"\\/bfnrt").contains(escape)) {
        --at;
        return fail("unknown escape in a string");
      }
    }
    return take('"') || fail("the text ends inside a string");
  }
  bool array(int depth) {
    ++at;
    blanks();
    if (take(']'))
      return true;
    do {
      if (!value(depth + 1))
        return false;
      blanks();
    } while (take(','));
    return take(']') || fail(at == end ? "the text ends inside a list"
                                       : "expected ',' or ']'");
  }
  bool object(int depth) {
    ++at;
    blanks();
    if (take('}'))
      return true;
    do {
      blanks();
      if (at == end)
        return fail("the text ends inside an object");
      if (*at != '"')
        return fail("expected a key in quotes");
      if (!string())
        return false;
      blanks();
      if (!take(':'))
        return fail("expected ':'");
      if (!value(depth + 1))
        return false;
      blanks();
    } while (take(','));
    return take('}') || fail(at == end ? "the text ends inside an object"
                                       : "expected ',' or '}'");
  }
  bool value(int depth) {
    blanks();
    if (at == end)
      return fail("the text ends where a value is expected");
    if (depth > maxDepth)
      return fail("nested too deeply");
    switch (*at) {
    case '{':
      return object(depth);
    case '[':
      return array(depth);
    case '"':
      return string();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      return *at == '-' || llvm::isDigit(*at) ? number()
                                              : fail("expected a value");
    }
  }

  const char *begin, *at, *end;
  const char *message = nullptr;
};

/// Length of the string at the start of `text`, including quotes.
size_t stringLength(StringRef text) {
  size_t i = 1;
  while (text[i] != '"')
    i += text[i] == '\\' ? 2 : 1;
  return i + 1;
}

/// Length of the value at the start of `text`.
size_t valueLength(StringRef text) {
  if (text.front() == '"')
    return stringLength(text);
  if (text.front() != '[' && text.front() != '{')
    return std::min(text.find_first_of(",]} \t\r\n"), text.size());
  int depth = 0;
  size_t i = 0;
  do {
    switch (text[i]) {
    case '"':
      i += stringLength(text.substr(i));
      continue;
    case '[':
    case '{':
      ++depth;
      break;
    case ']':
    case '}':
      --depth;
      break;
    default:
      break;
    }
    ++i;
  } while (depth);
  return i;
}

/// Takes the value at the start of `rest` and the ',' or bracket after it.
Value takeValue(StringRef &rest) {
  size_t length = valueLength(rest);
  Value value(rest.take_front(length));
  rest = dropBlanks(rest.drop_front(length));
  if (rest.front() == ',')
    rest = dropBlanks(rest.drop_front());
  return value;
}

std::string cut(StringRef text) {
  constexpr size_t most = 64;
  if (text.size() <= most)
    return text.str();
  return llvm::json::fixUTF8(text.take_front(most)) + "...";
}

void appendCodePoint(unsigned codePoint, std::string &out) {
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = bytes;
  if (!llvm::ConvertCodePointToUTF8(codePoint, end)) {
    out += "\xef\xbf\xbd"; // the replacement character, for half a pair
    return;
  }
  out.append(bytes, end);
}

unsigned hexValue(StringRef digits) {
  unsigned value = 0;
  digits.getAsInteger(16, value);
  return value;
}

std::string decode(StringRef text) {
  std::string out;
  while (!text.empty()) {
    size_t plain = std::min(text.find('\\'), text.size());
    out += text.take_front(plain);
    text = text.drop_front(plain);
    if (text.empty())
      break;
    char escape = text[1];
    text = text.drop_front(2);
    if (escape != 'u') {
      size_t index = StringRef("bfnrt").find(escape);
      out += index == StringRef::npos ? escape : "\b\f\n\r\t"[index];
      continue;
    }
    unsigned unit = hexValue(text.take_front(4));
    text = text.drop_front(4);
    if (unit >= 0xd800 && unit < 0xdc00 && text.starts_with("\\u")) {
      unsigned low = hexValue(text.substr(2, 4));
      if (low >= 0xdc00 && low < 0xe000) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        text = text.drop_front(6);
      }
    }
    appendCodePoint(unit, out);
  }
  return out;
}

} // namespace

std::string placeIn(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t lineStart = before.rfind('\n');
  size_t column =
      before.size() - (lineStart == StringRef::npos ? 0 : lineStart + 1) + 1;
  std::string where;
  if (text.trim().contains('\n') || before.contains('\n'))
    where = "line " + std::to_string(before.count('\n') + 1) + ", ";
  return where + "column " + std::to_string(column);
}

std::optional<TextPlace> takePlace(StringRef &message) {
  StringRef rest = message;
  TextPlace place;
  const bool hasLine =
      rest.consume_front("line ") && !rest.consumeInteger(10, place.line);
  if (hasLine && !rest.consume_front(", ") && !rest.consume_front(": "))
    return std::nullopt;
  StringRef after = rest;
  if (after.consume_front("column ") &&
      !after.consumeInteger(10, place.column) && after.consume_front(": ")) {
    message = after;
    return place;
  }
  place.column = 1;
  if (!hasLine || !message.drop_back(rest.size()).ends_with(": "))
    return std::nullopt;
  message = rest;
  return place;
}

TextFault withWords(const std::string &before, const Fault &fault,
                    const std::string &after) {
  return {fault.kind, before + describe(fault) + after};
}

static TextFault faultAt(StringRef text, size_t offset, const char *message) {
  return placeIn(text, offset) + ": " + message;
}

std::optional<TextFault> checkSyntax(StringRef text) {
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    return faultAt(text, offset, "not UTF-8 text");
  SyntaxChecker checker(text);
  if (const char *message = checker.run())
    return faultAt(text, checker.offset(), message);
  return std::nullopt;
}

std::optional<bool> Value::boolean() const {
  if (source == "true")
    return true;
  if (source == "false")
    return false;
  return std::nullopt;
}

bool Value::isNumber() const {
  return source.front() == '-' || llvm::isDigit(source.front());
}

bool Value::isWholeNumber() const {
  return isNumber() && source.find_first_of(".eE") == StringRef::npos;
}

std::optional<int64_t> Value::integer() const {
  int64_t value;
  if (!isWholeNumber() || source.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

std::optional<double> Value::number() const {
  double value;
  if (!isNumber() || source.getAsDouble(value))
    return std::nullopt;
  return value;
}

std::optional<StringRef> Value::string(std::string &storage) const {
  if (!isString())
    return std::nullopt;
  StringRef inner = source.drop_front().drop_back();
  if (!inner.contains('\\'))
    return inner;
  storage = decode(inner);
  return StringRef(storage);
}

std::optional<std::string> Value::string() const {
  std::string storage;
  if (std::optional<StringRef> text = string(storage))
    return text->str();
  return std::nullopt;
}

std::string Value::excerpt() const {
  std::string text = cut(source);
  for (char &c : text)
    if (isBlank(c))
      c = ' ';
  return text;
}

Elements::Elements(Value array) : rest(dropBlanks(array.source.drop_front())) {}

std::optional<Value> Elements::next() {
  if (rest.front() == ']')
    return std::nullopt;
  return takeValue(rest);
}

Members::Members(Value object) : rest(dropBlanks(object.source.drop_front())) {}

std::optional<Member> Members::next() {
  if (rest.front() == '}')
    return std::nullopt;
  size_t length = stringLength(rest);
  std::string key = decode(rest.take_front(length).drop_front().drop_back());
  rest = dropBlanks(rest.drop_front(length));
  rest = dropBlanks(rest.drop_front()); // ':'
  return Member{std::move(key), takeValue(rest)};
}

std::string quoted(StringRef text) {
  std::string out;
  llvm::raw_string_ostream os(out);
  llvm::json::OStream(os).value(llvm::json::Value(cut(text)));
  return out;
}

} // namespace rondo::json
