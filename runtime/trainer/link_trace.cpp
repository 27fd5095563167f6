//===- link_trace.cpp - Reads how links change ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/link_trace.h"

#include "runtime/base/error.h"
#include "runtime/trainer/link_trace_lines.h"
#include "runtime/trainer/text_file.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

using namespace rondo::runtime;

static constexpr double maxMs = 1e12, maxUs = 1e9;
static constexpr int64_t maxBytesPerUs = 1'000'000'000;
/// Of a message of other jobs, and the time in which one is sent.
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
