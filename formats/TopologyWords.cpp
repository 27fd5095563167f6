//===- TopologyWords.cpp - Words of a table of nvidia-smi -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/TopologyWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace rondo::formats {

using Word = TopologyWord;
using Words = std::vector<TopologyWord>;

namespace {

/// Takes `prefix` and at least one digit from the front.
bool consumeNumbered(StringRef &text, StringRef prefix) {
  StringRef rest = text;
  if (!rest.consume_front(prefix) || rest.empty() || !llvm::isDigit(rest[0]))
    return false;
  text = rest.drop_while(llvm::isDigit);
  return true;
}

/// Takes a terminal's escape sequence from the front, if there is one: as
/// bytes, in the notations in which logs show them (`^[[4m`, `\033[4m`), or
/// with its first byte lost (`[4m`).
bool consumeEscape(StringRef &text) {
  StringRef rest = text;
  bool hasEscape = false;
  for (StringRef escape : {"\x1b", "^[", "\\033", "\\x1b", "\\x1B", "\\e"})
    if (!hasEscape)
      hasEscape = rest.consume_front(escape);
  if (rest.consume_front("[")) {
    StringRef end = rest.drop_while(
        [](char c) { return llvm::isDigit(c) || c == ';' || c == '?'; });
    // Without its first byte only colours and underlines are certain.
    if (end.empty() || !(hasEscape ? llvm::isAlpha(end[0]) : end[0] == 'm'))
      return false;
    text = end.drop_front();
    return true;
  }
  if (!hasEscape)
    return false;
  if (rest.consume_front("]")) {
    // A window's title, up to a bell.
    text = rest.drop_while([](char c) { return c != '\a'; })
               .drop_front(rest.contains('\a'));
    return true;
  }
  // A character set, as in ESC ( B.
  if (rest.starts_with("(") && rest.size() > 1) {
    text = rest.drop_front(2);
    return true;
  }
  return false;
}

/// Takes what separates words from the front: blanks, the bars of a table in
/// Markdown, and blanks and marks of Unicode.
bool consumeSeparator(StringRef &text) {
  if (StringRef(" \t\r\v\f|").contains(text.front())) {
    text = text.drop_front();
    return true;
  }
  for (StringRef each : {"\xC2\xA0", "\xE2\x80\x8B", "\xEF\xBB\xBF"})
    if (text.consume_front(each))
      return true;
  return false;
}

/// Without splitting words that are fused.
Words splitAtBlanks(StringRef line) {
  Words words;
  bool isInWord = false;
  for (StringRef rest = line; !rest.empty();) {
    if (consumeEscape(rest))
      continue;
    if (consumeSeparator(rest)) {
      isInWord = false;
      continue;
    }
    if (!isInWord)
      words.push_back({"", rest.data() - line.data() + 1});
    isInWord = true;
    words.back().text += rest.front();
    rest = rest.drop_front();
  }
  return words;
}

/// Takes a cell from the front. No cell begins another one.
bool consumeCell(StringRef &text) {
  if (consumeNumbered(text, "NV"))
    return true;
  for (StringRef cell : {"X", "PIX", "PXB", "PHB", "PSB", "NODE", "SYS", "SOC"})
    if (text.consume_front(cell))
      return true;
  return false;
}

/// Takes a column's name from the front, of those that end in their digits.
bool consumeName(StringRef &text) {
  if (consumeNumbered(text, "GPU") || consumeNumbered(text, "NIC"))
    return true;
  StringRef rest = text;
  if (!consumeNumbered(rest, "mlx") || !consumeNumbered(rest, "_"))
    return false;
  text = rest;
  return true;
}

/// Splits words that lost the tabs between them: `NODENODE`, `GPU0GPU1`. A word
/// that is not made of cells or names as a whole stays.
Words splitFused(const Words &words) {
  Words result;
  for (const Word &word : words) {
    Words parts;
    StringRef rest = word.text;
    const StringRef whole = rest;
    while (!rest.empty()) {
      const StringRef from = rest;
      if (!consumeName(rest) && !consumeCell(rest))
        break;
      parts.push_back({from.drop_back(rest.size()).str(),
                       word.column + (from.data() - whole.data())});
    }
    // The last cell and the affinity after it, or the last name and its title.
    const bool endsInNumber =
        !parts.empty() && llvm::isDigit(parts.back().text.back());
    if (!rest.empty() && !parts.empty() &&
        ((!endsInNumber && llvm::isDigit(rest.front())) || rest == "N/A" ||
         rest == "CPU"))
      parts.push_back({rest.str(), word.column + (rest.data() - whole.data())});
    else if (!rest.empty())
      parts = {word};
    llvm::append_range(result, parts);
  }
  return result;
}

} // namespace

Words wordsOf(StringRef line) { return splitFused(splitAtBlanks(line)); }

bool isFused(StringRef text) {
  return (consumeName(text) || consumeCell(text)) && !text.empty() &&
         (text.contains('-') || consumeCell(text));
}

} // namespace rondo::formats
