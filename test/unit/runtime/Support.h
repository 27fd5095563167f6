//===- Support.h - Running programs and reading files in tests --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_SUPPORT_H
#define RONDO_TEST_UNIT_RUNTIME_SUPPORT_H

#include "Fixture.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace rondo::runtime::test {

/// run_executable() with a command line.
inline int runProgram(const Program &program, std::vector<std::string> words) {
  words.insert(words.begin(), "fixture");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return run_executable(program.exe, static_cast<int>(argv.size()),
                        argv.data());
}

/// An empty file that is removed with the object.
class TemporaryFile {
public:
  TemporaryFile() : path("/tmp/rondo-runtime-XXXXXX") {
    int descriptor = mkstemp(path.data());
    if (descriptor >= 0)
      close(descriptor);
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;

  std::string read() const {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void write(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string path;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_SUPPORT_H
