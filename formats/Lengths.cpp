//===- Lengths.cpp - Lengths of documents ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Lengths.h"

#include "formats/json/Table.h"
#include "kinds/Counts.h"
#include "kinds/Packing.h"
#include "kinds/RowSize.h"

#include <algorithm>

using llvm::StringRef;

namespace rondo::formats {

namespace {

using json::TextFault;
using json::Value;

/// Reads the values of a text.
class Reader {
public:
  Reader(StringRef text, StringRef key) : text(text), key(key) {}

  std::vector<DocumentLengths> entries;

  std::optional<TextFault> addList(Value list);
  std::optional<TextFault> addLine(StringRef line);

private:
  std::optional<TextFault> addEntry(Value value);
  std::optional<TextFault> addObject(Value value);
  std::optional<TextFault> addLength(Value value);
  TextFault fault(Value value, const llvm::Twine &message) const {
    return TextFault(value.placeIn(text) + ": " + message.str());
  }

  const StringRef text, key;
};

std::optional<TextFault> Reader::addLength(Value value) {
  const std::optional<int64_t> length = value.integer();
  if (!length || *length < 1 || *length > maxDocumentLength)
    return fault(value, value.excerpt() +
                            " is no length of a document, a whole number from "
                            "1 to 2^31 - 1");
  entries.back().push_back(*length);
  return std::nullopt;
}

std::optional<TextFault> Reader::addEntry(Value value) {
  entries.emplace_back();
  if (!value.isArray())
    return addLength(value);
  json::Elements walk(value);
  while (auto element = walk.next())
    if (auto fault = addLength(*element))
      return fault;
  return entries.back().empty()
             ? std::optional(fault(value, "a micro-batch has no documents"))
             : std::nullopt;
}

std::optional<TextFault> Reader::addObject(Value value) {
  if (key.empty())
    return fault(value, "an object; --key names the key with the length");
  json::Members walk(value);
  while (auto member = walk.next())
    if (member->key == key)
      return addEntry(member->value);
  return fault(value, "no key " + json::quoted(key));
}

std::optional<TextFault> Reader::addList(Value list) {
  json::Elements walk(list);
  while (auto element = walk.next())
    if (auto fault =
            element->isObject() ? addObject(*element) : addEntry(*element))
      return fault;
  return std::nullopt;
}

std::optional<TextFault> Reader::addLine(StringRef line) {
  std::optional<TextFault> fault = json::checkSyntax(line);
  if (!fault)
    return Value(line).isObject() ? addObject(Value(line))
                                  : addEntry(Value(line));
  // Its place is in the line.
  const std::string sentence = describe(*fault);
  StringRef message = sentence;
  const auto place = json::takePlace(message).value_or(json::TextPlace());
  return TextFault(
      json::placeIn(text, line.data() - text.data() + place.column - 1) + ": " +
      message.str());
}

} // namespace

Result<std::vector<DocumentLengths>> readLengths(StringRef text,
                                                 StringRef key) {
  Reader reader(text, key);
  std::optional<TextFault> fault;
  if (text.ltrim().starts_with("[") && !json::checkSyntax(text))
    fault = reader.addList(Value(text));
  else
    for (StringRef rest = text; !rest.empty() && !fault;) {
      const auto [line, others] = rest.split('\n');
      rest = others;
      if (!line.trim().empty())
        fault = reader.addLine(line);
    }
  if (fault)
    return *fault;
  if (reader.entries.empty())
    return TextFault("no lengths in it; expected a number a line, an object a "
                     "line, or a list");
  return std::move(reader.entries);
}

Result<std::vector<DocumentLengths>>
packLengths(const std::vector<DocumentLengths> &entries,
            const PackedLengths &how) {
  std::vector<int64_t> documents;
  for (const auto &[index, entry] : llvm::enumerate(entries)) {
    if (entry.size() > 1)
      return TextFault("entry " + std::to_string(index + 1) + " has " +
                       countOf(entry.size(), "document") +
                       ", so that entries are micro-batches; --row-tokens "
                       "packs documents");
    for (int64_t left = entry.front(); left > 0; left -= how.rowTokens)
      documents.push_back(std::min(left, how.rowTokens));
  }
  auto next = documents.begin();
  for (int64_t batch = 0;; ++batch) {
    const int64_t left = documents.end() - next;
    if (left < how.microbatches)
      return TextFault("the file has documents for " + countOf(batch, "batch") +
                       " of " + countOf(how.microbatches, "micro-batch") +
                       " of up to " + countOf(how.rowTokens, "token"));
    std::vector<int64_t> drawn;
    for (int64_t tokens = 0; tokens <= how.microbatches * how.rowTokens &&
                             static_cast<int64_t>(drawn.size()) < left;)
      tokens += drawn.emplace_back(next[drawn.size()]);
    const Packing packing =
        packLongestFirst(drawn, how.microbatches, how.rowTokens);
    if (batch == how.batch) {
      std::vector<DocumentLengths> rows;
      for (const std::vector<int64_t> &row : packing.rows) {
        rows.emplace_back();
        for (int64_t document : row)
          rows.back().push_back(drawn[document]);
      }
      return rows;
    }
    next += packing.packed;
  }
}

Result<std::vector<int64_t>> tokensAndPairs(const DocumentLengths &lengths) {
  const RowSize size = rowSize(lengths);
  if (size.pairs > json::maxFigure)
    return TextFault("a micro-batch of " + countOf(lengths.size(), "document") +
                     " has 2^62 pairs of tokens or more");
  return std::vector<int64_t>{size.tokens, size.pairs};
}

} // namespace rondo::formats
