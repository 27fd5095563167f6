//===- oracles.h - Files of problems and known results ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that cannot read something reports it on stderr and ends the
// program.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_BENCH_SEARCH_ORACLES_H
#define RONDO_BENCH_SEARCH_ORACLES_H

#include "schedule/model/Problem.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

std::vector<rondo::Problem> readProblemsOrExit(const std::string &path);
llvm::json::Value readValueOrExit(const std::string &path);

/// A field of the row `name`; nothing if it is null.
std::optional<int64_t> integerIn(const llvm::json::Value &table,
                                 const std::string &name, const char *key);
/// The same of a row that has it.
int64_t integerOf(const llvm::json::Value &table, const std::string &name,
                  const char *key);
/// False if there is no such row or field.
bool booleanOf(const llvm::json::Value &table, const std::string &name,
               const char *key);

#endif // RONDO_BENCH_SEARCH_ORACLES_H
