//===- GivenCuts.cpp - Stages given by users ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/GivenCuts.h"

#include "kinds/Counts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

using namespace rondo;

GivenCut rondo::cutByCounts(const std::vector<int64_t> &counts,
                            int32_t layers) {
  std::vector<int32_t> begins;
  int64_t sum = 0;
  for (int64_t count : counts) {
    begins.push_back(static_cast<int32_t>(sum));
    sum += count;
    if (count < 1)
      return "stage " + std::to_string(begins.size() - 1) + " has no layer";
    if (sum > layers)
      break;
  }
  if (sum != layers)
    return countOf(static_cast<int64_t>(counts.size()), "stage") +
           (counts.size() == 1 ? " has " : " have ") +
           (sum > layers ? "more than the " : std::to_string(sum) + " of ") +
           countOf(layers, "layer") + " of the model";
  return begins;
}

GivenCut rondo::cutByWeights(const std::vector<int64_t> &weights,
                             const std::vector<int64_t> &workNs) {
  const size_t layers = workNs.size(), stages = weights.size();
  if (stages > layers)
    return "there are " + countOf(static_cast<int64_t>(stages), "weight") +
           ", but only " + countOf(static_cast<int64_t>(layers), "layer");
  const double all = std::accumulate(workNs.begin(), workNs.end(), 0.),
               sum = std::accumulate(weights.begin(), weights.end(), 0.);
  std::vector<int32_t> begins = {0};
  double share = 0, work = 0;
  size_t layer = 0;
  for (size_t s = 0; s + 1 < stages; ++s) {
    share += double(weights[s]) / sum;
    // The stage gets at least one layer, and leaves at least one for each later
    // stage.
    work += double(workNs[layer++]);
    while (layer + (stages - s - 1) < layers &&
           std::abs(work + double(workNs[layer]) - share * all) <=
               std::abs(work - share * all))
      work += double(workNs[layer++]);
    begins.push_back(static_cast<int32_t>(layer));
  }
  return begins;
}

namespace {

/// Expands the repetitions of a layout.
class Expander {
public:
  Expander(const std::string &layout, bool mayPredict)
      : text(layout), mayPredict(mayPredict) {}

  /// Returns false if `fault` is set.
  bool run() {
    while (place < text.size())
      if (!addPart(/*isNested=*/false, expanded))
        return false;
    return true;
  }

  std::string expanded, fault;
  bool isLoose = false;

private:
  /// Maximum length of the expanded text.
  static constexpr size_t maxLetters = 100000;

  bool fail(const std::string &why) {
    fault = why;
    return false;
  }
  void skip() {
    while (place < text.size() &&
           (text[place] == ',' ||
            std::isspace(static_cast<unsigned char>(text[place]))))
      isLoose |= text[place++] != ',';
  }

  /// Appends a letter or a group, with its repetitions.
  bool addPart(bool isNested, std::string &to) {
    skip();
    if (place == text.size())
      return true;
    std::string part(1, text[place]);
    const size_t begin = place++;
    const bool isGroup = part == "(";
    if (isGroup) {
      if (isNested)
        return fail("a group within a group at character " +
                    std::to_string(begin + 1));
      part.clear();
      while (place < text.size() && text[place] != ')')
        if (!addPart(/*isNested=*/true, part))
          return false;
      if (place == text.size())
        return fail("the group at character " + std::to_string(begin + 1) +
                    " has no end");
      ++place;
      isLoose |= part.empty();
    } else if (part == "m" && !mayPredict) {
      return fail("m at character " + std::to_string(begin + 1) +
                  " is a multi-token prediction layer, which the model does "
                  "not have");
    } else if (part.find_first_of("EtmL|") == std::string::npos) {
      return fail("'" + part + "' at character " + std::to_string(begin + 1) +
                  " is not one of E, t, " + (mayPredict ? "m, " : "") +
                  "L, | and ( )");
    }
    skip();
    int64_t times = 1;
    if (place < text.size() && text[place] == '*') {
      ++place;
      skip();
      times = 0;
      const size_t number = place;
      while (place < text.size() &&
             std::isdigit(static_cast<unsigned char>(text[place])) &&
             times < static_cast<int64_t>(maxLetters))
        times = 10 * times + (text[place++] - '0');
      if (place == number || times == 0)
        return fail("* at character " + std::to_string(number) +
                    " needs a number of 1 or more");
    } else {
      isLoose |= isGroup;
    }
    if (to.size() + part.size() * static_cast<size_t>(times) > maxLetters)
      return fail("there are more than " + std::to_string(maxLetters) +
                  " letters");
    for (int64_t k = 0; k < times; ++k)
      to += part;
    return true;
  }

  const std::string &text;
  const bool mayPredict;
  size_t place = 0;
};

} // namespace

LayoutLetters rondo::expandLayout(const std::string &layout, bool mayPredict) {
  Expander expander(layout, mayPredict);
  const bool isWhole = expander.run();
  return {expander.expanded, isWhole ? "" : expander.fault, expander.isLoose};
}

GivenCut rondo::cutByLayout(const std::string &layout, int32_t blocks) {
  const auto [letters, fault, isLoose] =
      expandLayout(layout, /*mayPredict=*/false);
  if (!fault.empty())
    return fault;
  auto count = [&letters = letters](char letter) {
    return std::count(letters.begin(), letters.end(), letter);
  };
  std::string layers = letters;
  layers.erase(std::remove(layers.begin(), layers.end(), '|'), layers.end());
  if (count('E') != 1 || layers.front() != 'E')
    return "E, the embedding, must come first, and once";
  if (count('L') != 1 || layers.back() != 'L')
    return "L, the head, must come last, and once";
  if (count('t') != blocks)
    return "there are " + std::to_string(count('t')) +
           " t, but the model has " + countOf(blocks, "block");
  std::vector<int32_t> begins;
  int32_t layer = 0;
  bool isFirst = true;
  for (char letter : letters + "|") {
    if (letter != '|') {
      if (isFirst)
        begins.push_back(layer);
      isFirst = false;
      ++layer;
    } else if (isFirst) {
      return "stage " + std::to_string(begins.size()) + " has no layer";
    } else {
      isFirst = true;
    }
  }
  return begins;
}
