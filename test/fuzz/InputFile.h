//===- InputFile.h - An input as a file -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_FUZZ_INPUTFILE_H
#define RONDO_TEST_FUZZ_INPUTFILE_H

#include "test/fuzz/Target.h"

#include <sys/mman.h>
#include <unistd.h>

namespace rondo::fuzz {

/// A file in memory, for readers that take a path.
class InputFile {
public:
  InputFile() : fd(memfd_create("input", MFD_CLOEXEC)) {
    require(fd >= 0, "there is memory for a file");
  }
  ~InputFile() { close(fd); }
  InputFile(const InputFile &) = delete;

  void write(const uint8_t *data, size_t size) const {
    require(ftruncate(fd, 0) == 0 &&
                pwrite(fd, data, size, 0) == static_cast<ssize_t>(size),
            "the file takes the input");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

} // namespace rondo::fuzz

#endif // RONDO_TEST_FUZZ_INPUTFILE_H
