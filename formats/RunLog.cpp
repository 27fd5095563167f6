//===- RunLog.cpp - Times of iterations in logs of training ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/RunLog.h"

#include "formats/json/Value.h"

#include <algorithm>
#include <string>
#include <vector>

using llvm::StringRef;

namespace rondo::formats {

namespace {

constexpr StringRef ofMegatron = "elapsed time per iteration (ms):",
                    ofTorchtitan = "tps:";

/// The number after `word`, with commas between digits; 0 if there is none.
double numberAfter(StringRef line, StringRef word) {
  const size_t at = line.find(word);
  if (at == StringRef::npos)
    return 0;
  std::string digits;
  for (char c : line.substr(at + word.size()).ltrim())
    if (c == '.' || (c >= '0' && c <= '9'))
      digits += c;
    else if (c != ',')
      break;
  double number = 0;
  return StringRef(digits).getAsDouble(number) ? 0 : number;
}

/// The median of the later half: the first iterations compile and allocate.
double laterMedian(std::vector<double> numbers) {
  numbers.erase(numbers.begin(), numbers.begin() + int64_t(numbers.size()) / 2);
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

} // namespace

Result<RunLog> readRunLog(StringRef text) {
  std::vector<double> ms, rates;
  while (!text.empty()) {
    const auto [line, rest] = text.split('\n');
    text = rest;
    if (const double found = numberAfter(line, ofMegatron); found > 0)
      ms.push_back(found);
    else if (const double rate = numberAfter(line, ofTorchtitan); rate > 0)
      rates.push_back(rate);
  }
  if (ms.empty() == rates.empty())
    return json::TextFault(
        ms.empty() ? "no line has 'elapsed time per iteration (ms): N', "
                     "as Megatron-LM writes it, or 'tps: N' of "
                     "torchtitan"
                   : "lines of Megatron-LM and of torchtitan are mixed");
  const std::vector<double> &numbers = ms.empty() ? rates : ms;
  // A single line counts.
  RunLog log;
  log.iterations = int64_t(numbers.size() - numbers.size() / 2);
  (ms.empty() ? log.tokensPerSecond : log.iterationNs) =
      laterMedian(numbers) * (ms.empty() ? 1 : 1e6);
  return log;
}

} // namespace rondo::formats
