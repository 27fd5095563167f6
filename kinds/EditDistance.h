//===- EditDistance.h - Suggestions for mistyped words ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_KINDS_EDITDISTANCE_H
#define RONDO_KINDS_EDITDISTANCE_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace rondo {

/// Optimal string alignment: the least number of letters that are changed,
/// removed, added or swapped with a neighbour. O(a * b).
inline size_t editDistance(const std::string &a, const std::string &b) {
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

/// The known word nearest to a written one, or empty if none is near: up to a
/// third of the letters, rounded up and without leading dashes, may be wrong.
/// Ignores case. Of equally near words the first in alphabetical order.
/// O(letters squared) per word.
inline std::string nearestWord(const std::string &written,
                               const std::vector<std::string> &known) {
  auto lowered = [](std::string word) {
    for (char &c : word)
      c = char(std::tolower(static_cast<unsigned char>(c)));
    return word;
  };
  const std::string word = lowered(written);
  std::string nearest;
  const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  size_t least = (word.size() - dashes + 2) / 3;
  for (const std::string &candidate : known) {
    // The lengths give a bound, so that a long line takes little time.
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > least)
      continue;
    const size_t edits = editDistance(word, lowered(candidate));
    if (edits < least ||
        (edits == least && (nearest.empty() || candidate < nearest))) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace rondo

#endif // RONDO_KINDS_EDITDISTANCE_H
