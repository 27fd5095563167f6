//===- oracles.cpp - Files of problems and known results ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/oracles.h"
#include "formats/json/ProblemReader.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>
#include <cstdlib>

using namespace rondo;

static std::unique_ptr<llvm::MemoryBuffer> readOrExit(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    fprintf(stderr, "cannot read %s\n", path.c_str());
    exit(1);
  }
  return std::move(*buffer);
}

std::vector<Problem> readProblemsOrExit(const std::string &path) {
  auto file = json::readProblems(path, readOrExit(path)->getBuffer());
  if (!file) {
    fprintf(stderr, "%s: %s\n", path.c_str(), describe(file.fault()).c_str());
    exit(1);
  }
  return std::move(file->problems);
}

llvm::json::Value readValueOrExit(const std::string &path) {
  auto value = llvm::json::parse(readOrExit(path)->getBuffer());
  if (!value) {
    fprintf(stderr, "%s: %s\n", path.c_str(),
            llvm::toString(value.takeError()).c_str());
    exit(1);
  }
  return std::move(*value);
}

std::optional<int64_t> integerIn(const llvm::json::Value &table,
                                 const std::string &name, const char *key) {
  if (const auto *rows = table.getAsObject())
    if (const auto *row = rows->getObject(name))
      if (const llvm::json::Value *value = row->get(key))
        if (value->getAsNull() || value->getAsInteger())
          return value->getAsInteger();
  fprintf(stderr, "there is no %s of %s\n", key, name.c_str());
  exit(1);
}

int64_t integerOf(const llvm::json::Value &table, const std::string &name,
                  const char *key) {
  if (std::optional<int64_t> value = integerIn(table, name, key))
    return *value;
  fprintf(stderr, "there is no %s of %s\n", key, name.c_str());
  exit(1);
}

bool booleanOf(const llvm::json::Value &table, const std::string &name,
               const char *key) {
  const auto *row = table.getAsObject()->getObject(name);
  return row && row->getBoolean(key).value_or(false);
}
