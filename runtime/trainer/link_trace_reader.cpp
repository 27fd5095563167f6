//===- link_trace_reader.cpp - Traces of links, CSV or JSON lines ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/link_trace_reader.h"

#include "kinds/EditDistance.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

using namespace rondo::runtime;

using rondo::nearestWord;

namespace {

/// Splits a link trace into rows, and rows into the texts of their columns. The
/// text must outlive it. All functions throw Error that begins with
/// `PATH:LINE: `.
class LinkTraceLines {
public:
  enum Column : uint8_t {
    Time,
    Iteration,
    From,
    To,
    Latency,
    Bytes,
    OtherBytes,
    OtherMessage,
    numColumns
  };
  static const std::string &nameOf(Column column);
  /// Indexed by column; nullopt if the row does not have it.
  using Texts = std::array<std::optional<std::string>, numColumns>;

  LinkTraceLines(const std::string &text, const std::string &path);

  /// Goes on to the next row; false: there is none. Each row has From, To,
  /// Latency, Bytes and key().
  bool next();
  const Texts &texts() const { return row; }
  /// Time or Iteration, the same for all rows.
  Column key() const { return keyColumn; }
  /// The row's line, from 1.
  int64_t line() const { return number; }
  [[noreturn]] void fail(const std::string &what) const;

private:
  Column columnOf(const std::string &name) const;
  void readHeader(const std::string &content);
  void readFields(const std::string &content);
  void readObject(const std::string &content);
  /// `texts` are those of a row or of the header.
  void checkColumns(const Texts &texts);

  const std::string &text;
  const std::string path;
  size_t begin = 0, badByte;
  bool isJson;
  int64_t number = 0;
  Texts row;
  /// The columns of a CSV file.
  std::vector<Column> header;
  /// numColumns: not known yet.
  Column keyColumn = numColumns;
  int64_t keyLine = 0;
};

} // namespace

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

/// Quoted, short enough for a message, and without control characters.
static std::string shownText(const std::string &text) {
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

/// Position of the first byte that is not part of a character in UTF-8; npos:
/// none.
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
    // The only string that is a value is the name of all ranks.
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

static constexpr double maxMs = 1e12, maxUs = 1e9;
static constexpr int64_t maxBytesPerUs = 1'000'000'000;
/// Limits of a message of other jobs, and of the time between two.
static constexpr int64_t maxTracedBytes = 1'000'000'000'000;
static constexpr int64_t leastUsBetween = 100;
static constexpr int64_t nsPerMs = 1'000'000, nsPerUs = 1'000;

static bool hasOnly(const std::string &text, const char *characters) {
  return !text.empty() &&
         text.find_first_not_of(characters) == std::string::npos;
}

static std::optional<int64_t> wholeNumberIn(const std::string &text) {
  constexpr size_t maxDigits = 18;
  if (!hasOnly(text, "0123456789") || text.size() > maxDigits)
    return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

static std::optional<double> numberIn(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  // strtod() also takes hexadecimal digits and words.
  if (!hasOnly(text, "0123456789.+-eE") || *end != '\0')
    return std::nullopt;
  return value;
}

namespace {

using Column = LinkTraceLines::Column;

class Reader {
public:
  Reader(const std::string &text, const std::string &path, int32_t ranks,
         int64_t period)
      : lines(text, path), ranks(ranks), period(period) {}

  LinkTrace read();

private:
  /// A value that is not what it must be.
  [[noreturn]] void failOn(Column column, const std::string &text,
                           const std::string &rule) const {
    lines.fail(LinkTraceLines::nameOf(column) + " is " + shownText(text) +
               ", not " + rule + "; correct the value");
  }
  bool goesByTime() const { return lines.key() == LinkTraceLines::Time; }

  void add();
  void readOtherMessage(ImposedLink &link);
  void checkOrder(const LinkTrace::Row &row, const std::string &place);
  void checkPeriod(const LinkTrace::Row &row, const std::string &place) const;

  const std::string &text(Column column) const {
    return *lines.texts()[column];
  }
  double number(Column column, double most) const;
  int64_t wholeNumber(Column column, int64_t least, int64_t most) const;
  int32_t rank(Column column) const;

  LinkTraceLines lines;
  const int32_t ranks;
  const int64_t period;
  LinkTrace trace;
  /// The last row of each pair of names.
  struct Last {
    LinkTrace::Row row;
    std::string place;
    int64_t line;
  };
  std::vector<Last> lasts;
};

} // namespace

LinkTrace Reader::read() {
  while (lines.next())
    add();
  if (trace.rows.empty())
    lines.fail("the link trace has no rows; it needs a header line and a row, "
               "or a line of JSON: add them");
  trace.by = goesByTime() ? SerialLink::By::Time : SerialLink::By::Iteration;
  if (period > 0)
    trace.period = goesByTime() ? period * nsPerMs : period;
  return std::move(trace);
}

double Reader::number(Column column, double most) const {
  const std::optional<double> value = numberIn(text(column));
  if (!value || !(*value >= 0 && *value <= most)) {
    char rule[40];
    std::snprintf(rule, sizeof rule, "a number from 0 to %g", most);
    failOn(column, text(column), rule);
  }
  return *value;
}

int64_t Reader::wholeNumber(Column column, int64_t least, int64_t most) const {
  const std::optional<int64_t> value = wholeNumberIn(text(column));
  if (!value || *value < least || *value > most)
    failOn(column, text(column),
           "a whole number from " + std::to_string(least) + " to " +
               std::to_string(most));
  return *value;
}

int32_t Reader::rank(Column column) const {
  if (text(column) == "*")
    return LinkTrace::anyRank;
  const std::optional<int64_t> value = wholeNumberIn(text(column));
  if (!value || *value >= ranks)
    failOn(column, text(column),
           "a rank of this program, 0 to " + std::to_string(ranks - 1) +
               ", or * for all");
  return static_cast<int32_t>(*value);
}

void Reader::add() {
  LinkTrace::Row row;
  const std::string &place = text(lines.key());
  row.at = goesByTime()
               ? std::llround(number(LinkTraceLines::Time, maxMs) * nsPerMs)
               : wholeNumber(LinkTraceLines::Iteration, 1, INT32_MAX) - 1;
  row.from = rank(LinkTraceLines::From);
  row.to = rank(LinkTraceLines::To);
  if (row.from == row.to && row.from != LinkTrace::anyRank)
    lines.fail("from and to are both rank " + std::to_string(row.from) +
               "; a link connects two ranks: name another one");
  row.link.latencyNs =
      std::llround(number(LinkTraceLines::Latency, maxUs) * nsPerUs);
  row.link.bytesPerUs = wholeNumber(LinkTraceLines::Bytes, 0, maxBytesPerUs);
  if (lines.texts()[LinkTraceLines::OtherBytes])
    row.link.otherBytesPerUs =
        wholeNumber(LinkTraceLines::OtherBytes, 0, maxBytesPerUs);
  if (row.link.otherBytesPerUs > 0 &&
      row.link.otherBytesPerUs >= row.link.bytesPerUs)
    lines.fail(
        "other_bytes_per_us is " + std::to_string(row.link.otherBytesPerUs) +
        (row.link.bytesPerUs == 0
             ? ", but bytes_per_us is 0, no limit; other traffic takes part "
               "of a limit: give one"
             : ", but bytes_per_us is " + std::to_string(row.link.bytesPerUs) +
                   "; other traffic must leave something: lower it"));
  if (lines.texts()[LinkTraceLines::OtherMessage])
    readOtherMessage(row.link);
  checkOrder(row, place);
  checkPeriod(row, place);
  trace.rows.push_back(row);
}

void Reader::readOtherMessage(ImposedLink &link) {
  link.otherMessageBytes =
      wholeNumber(LinkTraceLines::OtherMessage, 0, maxTracedBytes);
  if (link.otherMessageBytes == 0)
    return;
  if (link.otherBytesPerUs == 0)
    lines.fail("other_message_bytes is " +
               std::to_string(link.otherMessageBytes) +
               ", but other_bytes_per_us is 0; messages of other jobs need a "
               "rate: give one, or leave out their bytes");
  if (link.otherMessageBytes < leastUsBetween * link.otherBytesPerUs)
    lines.fail(
        "other_message_bytes is " + std::to_string(link.otherMessageBytes) +
        ", which " + std::to_string(link.otherBytesPerUs) +
        " bytes per us take less than " + std::to_string(leastUsBetween) +
        " us to send; other traffic is no finer: make it " +
        std::to_string(leastUsBetween * link.otherBytesPerUs) + " or more");
}

static std::string nameOf(const LinkTrace::Row &row) {
  auto name = [](int32_t rank) {
    return rank == LinkTrace::anyRank ? "*" : std::to_string(rank);
  };
  return name(row.from) + " -> " + name(row.to);
}

/// Whether some link belongs to both rows.
static bool share(const LinkTrace::Row &a, const LinkTrace::Row &b) {
  auto meet = [](int32_t x, int32_t y, int32_t &both) {
    both = x == LinkTrace::anyRank ? y : x;
    return x == y || x == LinkTrace::anyRank || y == LinkTrace::anyRank;
  };
  int32_t from = 0, to = 0;
  return meet(a.from, b.from, from) && meet(a.to, b.to, to) &&
         (from != to || from == LinkTrace::anyRank);
}

void Reader::checkOrder(const LinkTrace::Row &row, const std::string &place) {
  Last *same = nullptr;
  for (Last &last : lasts) {
    if (share(row, last.row) && row.at < last.row.at)
      lines.fail(LinkTraceLines::nameOf(lines.key()) + " " + place +
                 " of link " + nameOf(row) + " is less than " + last.place +
                 " of link " + nameOf(last.row) + " in line " +
                 std::to_string(last.line) +
                 "; the rows of a link must not go back: sort them");
    if (last.row.from == row.from && last.row.to == row.to)
      same = &last;
  }
  if (same)
    *same = {row, place, lines.line()};
  else
    lasts.push_back({row, place, lines.line()});
}

void Reader::checkPeriod(const LinkTrace::Row &row,
                         const std::string &place) const {
  if (period == 0)
    return;
  const int64_t unit = goesByTime() ? nsPerMs : 1;
  if (row.at / unit >= period)
    lines.fail(
        LinkTraceLines::nameOf(lines.key()) + " " + place +
        " is never reached, since --link-trace-repeat begins again every " +
        std::to_string(period) + (goesByTime() ? " ms" : " iterations") +
        "; repeat every " + std::to_string(row.at / unit + 1) + " or more");
}

LinkTrace rondo::runtime::parseLinkTrace(const std::string &text,
                                         const std::string &path, int32_t ranks,
                                         int64_t period) {
  return Reader(text, path, ranks, period).read();
}

LinkTrace rondo::runtime::readLinkTrace(const std::string &path, int32_t ranks,
                                        int64_t period) {
  return parseLinkTrace(readTextFile("link trace", path), path, ranks, period);
}
