//===- link_trace_lines.cpp - The lines of a link trace -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/link_trace_lines.h"

#include "kinds/EditDistance.h"
#include "runtime/base/error.h"
#include "runtime/trainer/json_reader.h"

#include <algorithm>
#include <cstdio>

using namespace rondo::runtime;

static const std::vector<std::string> columnNames = {"time_ms",
                                                     "iteration",
                                                     "from",
                                                     "to",
                                                     "latency_us",
                                                     "bytes_per_us",
                                                     "other_bytes_per_us",
                                                     "other_message_bytes"};

const std::string &LinkTraceLines::nameOf(Column column) {
  return columnNames[column];
}

std::string rondo::runtime::shownText(const std::string &text) {
  constexpr size_t most = 40;
  std::string result = text.substr(0, most);
  // Not within a character.
  if (text.size() > most) {
    while (!result.empty() && (text[result.size()] & 0xc0) == 0x80)
      result.pop_back();
    result += "...";
  }
  for (char &c : result)
    if (static_cast<unsigned char>(c) < ' ')
      c = '?';
  return "'" + result + "'";
}

/// Where the first byte is that is not part of a character in UTF-8; npos:
/// there is none.
static size_t findBadByte(const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t size = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
    if (size == 0 || at + size > text.size())
      return at;
    uint32_t code = size == 1 ? lead : lead & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
      if ((text[at + i] & 0xc0) != 0x80)
        return at;
      code = code << 6 | (text[at + i] & 0x3fu);
    }
    if ((size == 3 && code < 0x800) || (size == 4 && code < 0x10000) ||
        (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
      return at;
    at += size;
  }
  return std::string::npos;
}

static std::string trimmed(const std::string &text) {
  const char *blanks = " \t\r";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

static std::vector<std::string> fieldsOf(const std::string &line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return fields;
}

LinkTraceLines::LinkTraceLines(const std::string &text, const std::string &path)
    : text(text), path(path), badByte(findBadByte(text)) {
  const std::string mark = "\xef\xbb\xbf";
  if (text.compare(0, mark.size(), mark) == 0)
    begin = mark.size();
  const size_t first = text.find_first_not_of(" \t\r\n", begin);
  isJson = first != std::string::npos && text[first] == '{';
}

void LinkTraceLines::fail(const std::string &what) const {
  throw Error(path + ":" + std::to_string(std::max<int64_t>(number, 1)) + ": " +
              what);
}

bool LinkTraceLines::next() {
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++number;
    if (badByte < end) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "0x%02x",
                    static_cast<unsigned char>(text[badByte]));
      fail("byte " + std::to_string(badByte - begin + 1) + " of the line, " +
           byte + ", is not UTF-8; store the file as UTF-8");
    }
    const std::string content = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (content.empty())
      continue;
    if (!isJson && header.empty()) {
      readHeader(content);
      continue;
    }
    if (isJson)
      readObject(content);
    else
      readFields(content);
    return true;
  }
  return false;
}

LinkTraceLines::Column LinkTraceLines::columnOf(const std::string &name) const {
  const auto found = std::find(columnNames.begin(), columnNames.end(), name);
  if (found != columnNames.end())
    return static_cast<Column>(found - columnNames.begin());
  const std::string nearest = nearestWord(name, columnNames);
  fail(
      "unknown column " + shownText(name) +
      "; there are time_ms or iteration, from, to, latency_us, bytes_per_us, "
      "other_bytes_per_us and other_message_bytes" +
      (nearest.empty() ? ": leave it out" : ": did you mean " + nearest + "?"));
}

void LinkTraceLines::readHeader(const std::string &content) {
  Texts names;
  for (const std::string &name : fieldsOf(content)) {
    const Column column = columnOf(name);
    if (names[column])
      fail("column " + name + " is there twice; leave out one of them");
    names[column] = name;
    header.push_back(column);
  }
  checkColumns(names);
}

void LinkTraceLines::readFields(const std::string &content) {
  const std::vector<std::string> fields = fieldsOf(content);
  if (fields.size() != header.size())
    fail(std::to_string(fields.size()) + " fields, but the header has " +
         std::to_string(header.size()) +
         " columns; give each column one value");
  for (size_t i = 0; i < fields.size(); ++i)
    row[header[i]] = fields[i];
}

void LinkTraceLines::readObject(const std::string &content) {
  row = {};
  const std::string where = path + ":" + std::to_string(number) + ": ";
  JsonReader json(content, where.c_str());
  json.object([&](const std::string &name) {
    const Column column = columnOf(name);
    if (row[column])
      fail("column " + name + " is there twice; leave out one of them");
    if (json.peek() != '"') {
      row[column] = json.word();
      return;
    }
    // Of strings only the name of all ranks is a value.
    const std::string value = json.string();
    row[column] = value == "*" ? value : '"' + value + '"';
  });
  json.end();
  checkColumns(row);
}

void LinkTraceLines::checkColumns(const Texts &texts) {
  if (texts[Time] && texts[Iteration])
    fail("columns time_ms and iteration are both there; a link trace goes by "
         "one of them: leave out the other");
  const std::string needs = "; a link trace needs time_ms or iteration, from, "
                            "to, latency_us and bytes_per_us: add it";
  if (!texts[Time] && !texts[Iteration])
    fail("columns time_ms and iteration are both missing" + needs);
  for (const Column column : {From, To, Latency, Bytes})
    if (!texts[column])
      fail("column " + columnNames[column] + " is missing" + needs);
  const Column own = texts[Time] ? Time : Iteration;
  if (keyColumn == numColumns) {
    keyColumn = own;
    keyLine = number;
  }
  if (own != keyColumn)
    fail("the line has " + columnNames[own] + ", but line " +
         std::to_string(keyLine) + " has " + columnNames[keyColumn] +
         "; a link trace goes by one of them: use it in all lines");
}
