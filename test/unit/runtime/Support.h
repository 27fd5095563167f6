//===- Support.h - Running programs and reading files in tests --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_SUPPORT_H
#define RONDO_TEST_UNIT_RUNTIME_SUPPORT_H

#include "Fixture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
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

/// Waits for processes. Their exit codes; -S for one that signal S has ended.
inline std::vector<int> exitCodesOf(const std::vector<pid_t> &children) {
  std::vector<int> codes;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status)
                                      : -WTERMSIG(status));
  }
  return codes;
}

/// An empty folder that is removed with what is in it.
class TemporaryFolder {
public:
  TemporaryFolder() : path("/tmp/rondo-runtime-XXXXXX") {
    if (!mkdtemp(path.data()))
      path.clear();
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string of(const std::string &name) const { return path + "/" + name; }
  /// Sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string path;
};

/// An empty file in a folder of its own. The object removes the folder with all
/// files in it.
class TemporaryFile {
public:
  TemporaryFile() : path(folder.of("file")) {
    write("");
    using std::filesystem::perms;
    std::filesystem::permissions(path, perms::owner_read | perms::owner_write);
  }

  std::string read() const {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void write(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

private:
  const TemporaryFolder folder;

public:
  std::string path;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_SUPPORT_H
