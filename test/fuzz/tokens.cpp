//===- tokens.cpp - Fuzzes the reader of files of tokens ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/data/data.h"
#include "test/fuzz/InputFile.h"

using namespace rondo::runtime;
using rondo::fuzz::require;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const rondo::fuzz::InputFile file;
  file.write(data, size);
  constexpr int32_t vocab = 300, count = 5;
  try {
    const std::unique_ptr<Data> tokens =
        openData({file.path()}, 0.25, vocab, count - 1);
    int32_t sample[count];
    auto check = [&] {
      for (int32_t token : sample)
        require(token >= 0 && token < vocab, "a token is in the vocabulary");
    };
    for (int64_t i = 0; i < 3; ++i) {
      tokens->trainingSample(7, i, i, count, sample);
      check();
      if (!tokens->hasHeldOut())
        continue;
      tokens->heldOutSample(i, 3, count, sample);
      check();
    }
  } catch (const Error &) {
  }
  return 0;
}
