//===- option_values.cpp - What a flag is set to --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/option_values.h"

#include "runtime/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace rondo::runtime;

void rondo::runtime::usage(const std::string &message) {
  throw Error(message + "; --help lists the flags", Exit::Usage);
}

int64_t rondo::runtime::wholeNumber(const std::string &flag,
                                    const std::string &text, int64_t least,
                                    int64_t most) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  const bool isNumber = !text.empty() && *end == '\0';
  if (isNumber && (errno == ERANGE ? value > 0 : value > most))
    usage(flag + " is " + text + "; it must be at most " +
          std::to_string(most));
  if (!isNumber || errno == ERANGE || value < least)
    usage(flag + " needs a whole number of at least " + std::to_string(least) +
          ", not '" + text + "'");
  return value;
}

int32_t rondo::runtime::smallNumber(const std::string &flag,
                                    const std::string &text, int64_t least) {
  return static_cast<int32_t>(wholeNumber(flag, text, least, INT32_MAX));
}

double rondo::runtime::number(const std::string &flag, const std::string &text,
                              double least, double most) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
    char range[80];
    std::snprintf(range, sizeof range,
                  std::isinf(most) ? "of at least %g" : "from %g to %g", least,
                  most);
    usage(flag + " needs a number " + range + ", not '" + text + "'");
  }
  return value;
}

ImposedLink rondo::runtime::parseLink(const std::string &text) {
  size_t colon = text.find(':');
  ImposedLink link;
  link.latencyNs = static_cast<int64_t>(
      1000 * number("--link", text.substr(0, colon), 0, 1e9));
  if (colon != std::string::npos)
    link.bytesPerUs = wholeNumber("--link", text.substr(colon + 1), 0);
  return link;
}

std::vector<int32_t> rondo::runtime::parseTokens(const std::string &text) {
  std::vector<int32_t> tokens;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    tokens.push_back(
        smallNumber("--generate-tokens", text.substr(begin, end - begin), 0));
    begin = end + 1;
  }
  return tokens;
}

bool rondo::runtime::onOrOff(const std::string &flag, const std::string &text) {
  if (text != "on" && text != "off")
    usage(flag + " needs on or off, not '" + text + "'");
  return text == "on";
}
