//===- frames.cpp - Fuzzes the frames of the store ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input comes in two parts; its first byte says where to split it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/launch/socket.h"
#include "test/fuzz/Target.h"

#include <algorithm>

using namespace rondo::runtime;
using rondo::fuzz::require;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string bytes = rondo::fuzz::textOf(data + 1, size - 1);
  const size_t cut = std::min<size_t>(data[0], bytes.size());
  FrameReader reader;
  size_t read = 0;
  try {
    for (size_t end : {cut, bytes.size()}) {
      reader.add(bytes.data() + (end == cut ? 0 : cut),
                 end == cut ? cut : end - cut);
      while (std::optional<Frame> frame = reader.next(1 << 16)) {
        const std::string again = encode(*frame);
        read += again.size();
        require(read <= end, "a frame has no more bytes than have come");
        require(bytes.compare(read - again.size(), again.size(), again) == 0,
                "a frame that is written is what was read");
      }
      if (end == bytes.size())
        break;
    }
  } catch (const Error &) {
  }
  return 0;
}
