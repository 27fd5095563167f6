//===- algorithms.cpp - Algorithms of the emulated library's products -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emulation.h"
#include "engine.h"

#include <cstdlib>
#include <map>
#include <mutex>

using namespace emulation;

static std::mutex listMutex;
static std::map<size_t, int64_t> numProducts;

static std::vector<Algorithm> firstAlgorithms() {
  const char *text = std::getenv("RONDO_EMULATED_PRODUCTS");
  std::vector<Algorithm> all;
  while (text && *text) {
    char *end = nullptr;
    all.emplace_back();
    all.back().ms = std::strtod(text, &end);
    text = *end == ',' ? end + 1 : nullptr;
  }
  if (all.empty())
    all.emplace_back();
  return all;
}

static std::vector<Algorithm> &list() {
  static std::vector<Algorithm> all = firstAlgorithms();
  return all;
}

std::vector<Algorithm> emulation::algorithms() {
  std::lock_guard<std::mutex> lock(listMutex);
  return list();
}

void emulation::setAlgorithms(const std::vector<Algorithm> &all) {
  std::lock_guard<std::mutex> lock(listMutex);
  list() = all;
}

void emulation::countProduct(size_t number) {
  std::lock_guard<std::mutex> lock(listMutex);
  ++numProducts[number];
}

int64_t emulation::productsWith(size_t number) {
  std::lock_guard<std::mutex> lock(listMutex);
  return numProducts[number];
}
