//===- exclusive_file.cpp - Files that nobody else has made ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/exclusive_file.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

int rondo::runtime::makeExclusiveFile(const std::string &path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    return -1;
  return open(path.c_str(),
              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
}

/// umask() would change it for other threads meanwhile.
static mode_t defaultMode() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (unsigned mask = 0; word == "Umask:" && status >> std::oct >> mask)
      return 0666 & ~mask;
  return 0600;
}

bool rondo::runtime::shareAsUsual(int descriptor) {
  return fchmod(descriptor, defaultMode()) == 0;
}

int rondo::runtime::openOwnFile(const std::string &path, bool appends) {
  struct stat link{};
  if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
      link.st_uid != geteuid() && link.st_uid != 0) {
    errno = ELOOP;
    return -1;
  }
  return open(path.c_str(),
              O_WRONLY | O_CREAT | O_CLOEXEC | (appends ? O_APPEND : O_TRUNC),
              0666);
}
