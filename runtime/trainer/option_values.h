//===- option_values.h - What a flag is set to ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_OPTION_VALUES_H
#define RONDO_RUNTIME_TRAINER_OPTION_VALUES_H

#include "runtime/trainer/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Throws Error with Exit::Usage.
[[noreturn]] void usage(const std::string &message);

// What the text behind a flag says. They end in usage() where it says something
// else.
int64_t wholeNumber(const std::string &flag, const std::string &text,
                    int64_t least, int64_t most = INT64_MAX);
/// At most INT32_MAX.
int32_t smallNumber(const std::string &flag, const std::string &text,
                    int64_t least);
double number(const std::string &flag, const std::string &text, double least,
              double most);
bool onOrOff(const std::string &flag, const std::string &text);
/// `LATENCY_US[:BYTES_PER_US]`
ImposedLink parseLink(const std::string &text);
/// `1,2,3`
std::vector<int32_t> parseTokens(const std::string &text);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_OPTION_VALUES_H
