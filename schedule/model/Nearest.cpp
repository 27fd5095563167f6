//===- Nearest.cpp - Suggestions for mistyped words -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/Nearest.h"

#include <algorithm>
#include <cctype>

using namespace rondo;

static std::string lowered(std::string word) {
  for (char &c : word)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and
/// swaps of adjacent letters.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> least(a.size() + 1,
                                         std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] =
          std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                    least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  return least[a.size()][b.size()];
}

std::string rondo::nearestWord(const std::string &written,
                               const std::vector<std::string> &known) {
  const std::string word = lowered(written);
  std::string nearest;
  size_t least = (word.size() + 2) / 3;
  for (const std::string &candidate : known) {
    // The difference of the lengths is a lower bound, which avoids the
    // quadratic cost for long lines.
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > least)
      continue;
    const size_t edits = distance(word, lowered(candidate));
    if (edits < least ||
        (edits == least && (nearest.empty() || candidate < nearest))) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}
