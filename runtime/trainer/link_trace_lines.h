//===- link_trace_lines.h - The lines of a link trace -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_LINK_TRACE_LINES_H
#define RONDO_RUNTIME_TRAINER_LINK_TRACE_LINES_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

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
  /// By column; what a row does not have is absent.
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
  /// Of a row, or of the header.
  void checkColumns(const Texts &texts);

  const std::string &text;
  const std::string path;
  size_t begin = 0, badByte;
  bool isJson;
  int64_t number = 0;
  Texts row;
  /// Of CSV.
  std::vector<Column> header;
  /// numColumns: not known yet.
  Column keyColumn = numColumns;
  int64_t keyLine = 0;
};

/// Quoted, short enough for a message, and without control characters.
std::string shownText(const std::string &text);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LINK_TRACE_LINES_H
