//===- index.cpp - Fuzzes the index of safetensors files ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/trainer/safetensors.h"
#include "test/fuzz/Target.h"

using namespace rondo::runtime;
using rondo::fuzz::require;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::map<std::string, std::string> files;
  try {
    files = readSafetensorsIndex(rondo::fuzz::textOf(data, size));
  } catch (const Error &) {
    return 0;
  }
  require(!files.empty(), "an index that is read has a file");
  std::string again = "{\"weight_map\":{";
  for (const auto &[tensor, file] : files) {
    require(!file.empty() && file.find('/') == std::string::npos,
            "files are in the folder of the index");
    again += (again.back() == '{' ? "" : ",") + jsonString(tensor) + ":" +
             jsonString(file);
  }
  require(readSafetensorsIndex(again + "}}") == files,
          "an index that is written reads as the same");
  return 0;
}
