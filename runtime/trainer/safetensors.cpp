//===- safetensors.cpp - The safetensors file format ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/safetensors.h"

#include "runtime/base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace rondo::runtime;

std::string rondo::runtime::jsonString(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string
rondo::runtime::writeSafetensorsHeader(const SafetensorsHeader &header) {
  std::string json = "{\"__metadata__\":{";
  const char *comma = "";
  for (const auto &[key, value] : header.metadata) {
    json += comma + jsonString(key) + ":" + jsonString(value);
    comma = ",";
  }
  json += "}";
  for (const auto &[name, entry] : header.tensors) {
    json += "," + jsonString(name) + ":{\"dtype\":" + jsonString(entry.dtype) +
            ",\"shape\":[";
    comma = "";
    for (int64_t size : entry.shape) {
      json += comma + std::to_string(size);
      comma = ",";
    }
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," +
            std::to_string(entry.end) + "]}";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

namespace {

/// Reads the part of JSON that a header uses: objects of fixed depth, strings,
/// and arrays of whole numbers.
class Reader {
public:
  explicit Reader(const std::string &text) : text(text) {}

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("header, byte " + std::to_string(at) + ": " + what);
  }

  /// Skips whitespace.
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                                text[at] == '\r' || text[at] == '\t'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  void expect(char c) {
    if (peek() != c)
      fail(std::string("expected '") + c + "'");
    ++at;
  }
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
  template <typename Each> void object(Each each) {
    list('{', '}', [&] {
      std::string key = string();
      expect(':');
      each(key);
    });
  }
  std::string string();
  int64_t integer();
  std::vector<int64_t> integers() {
    std::vector<int64_t> values;
    list('[', ']', [&] { values.push_back(integer()); });
    return values;
  }
  void end() {
    if (peek() != '\0' || at < text.size())
      fail("more than one value");
  }

private:
  const std::string &text;
  size_t at = 0;
};

std::string Reader::string() {
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
    // Names of tensors are ASCII; other characters are not decoded.
    const std::string digits = text.substr(std::min(at, text.size()), 4);
    char *end = nullptr;
    unsigned long code = std::strtoul(digits.c_str(), &end, 16);
    if (escape != 'u' || end != digits.c_str() + 4 || code > 0x7f)
      fail("an escape that no tensor name needs");
    result += static_cast<char>(code);
    at += 4;
  }
}

int64_t Reader::integer() {
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

int64_t bytesOf(const std::string &dtype) {
  static const std::pair<const char *, int64_t> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  for (auto [name, bytes] : sizes)
    if (dtype == name)
      return bytes;
  return 0;
}

void checkEntry(const std::string &name, const SafetensorsEntry &entry,
                int64_t dataBytes) {
  auto fail = [&](const std::string &what) {
    throw Error("tensor '" + name + "' " + what);
  };
  int64_t bytes = bytesOf(entry.dtype);
  if (bytes == 0)
    fail("has the unknown dtype '" + entry.dtype + "'");
  for (int64_t size : entry.shape) {
    if (size > 0 && bytes > (int64_t(1) << 60) / size)
      fail("has a shape of more than 2^60 bytes");
    bytes *= size;
  }
  if (entry.begin > entry.end || entry.end - entry.begin != bytes)
    fail("takes bytes " + std::to_string(entry.begin) + " to " +
         std::to_string(entry.end) + ", its shape needs " +
         std::to_string(bytes));
  if (entry.end > dataBytes)
    fail("ends at byte " + std::to_string(entry.end) +
         " of the data, the file has " + std::to_string(dataBytes) +
         ": it is truncated");
}

} // namespace

SafetensorsHeader rondo::runtime::readSafetensorsHeader(const std::string &json,
                                                        int64_t dataBytes) {
  SafetensorsHeader header;
  Reader reader(json);
  reader.object([&](const std::string &name) {
    if (name == "__metadata__") {
      reader.object([&](const std::string &key) {
        if (!header.metadata.emplace(key, reader.string()).second)
          reader.fail("metadata '" + key + "' appears twice");
      });
      return;
    }
    SafetensorsEntry entry;
    int fields = 0;
    reader.object([&](const std::string &key) {
      ++fields;
      if (key == "dtype") {
        entry.dtype = reader.string();
      } else if (key == "shape") {
        entry.shape = reader.integers();
      } else if (key == "data_offsets") {
        std::vector<int64_t> offsets = reader.integers();
        if (offsets.size() != 2)
          reader.fail("data_offsets of '" + name + "' are not two numbers");
        entry.begin = offsets[0];
        entry.end = offsets[1];
      } else {
        reader.fail("tensor '" + name + "' has the unknown field '" + key +
                    "'");
      }
    });
    if (fields != 3)
      reader.fail("tensor '" + name +
                  "' needs dtype, shape and data_offsets once each");
    if (!header.tensors.emplace(name, std::move(entry)).second)
      reader.fail("tensor '" + name + "' appears twice");
  });
  reader.end();

  std::vector<std::pair<int64_t, const std::string *>> begins;
  for (const auto &[name, entry] : header.tensors) {
    checkEntry(name, entry, dataBytes);
    if (entry.end > entry.begin)
      begins.push_back({entry.begin, &name});
  }
  std::sort(begins.begin(), begins.end());
  int64_t end = 0;
  for (auto [begin, name] : begins) {
    if (begin != end)
      throw Error("tensor '" + *name + "' begins at byte " +
                  std::to_string(begin) + " of the data, the one before ends " +
                  "at byte " + std::to_string(end));
    end = header.tensors[*name].end;
  }
  if (end != dataBytes)
    throw Error("the tensors end at byte " + std::to_string(end) +
                " of the data, the file has " + std::to_string(dataBytes));
  return header;
}
