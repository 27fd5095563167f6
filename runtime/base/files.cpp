//===- files.cpp - Files that are read or written as a whole --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/files.h"

#include "kinds/LfsPointer.h"
#include "runtime/base/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

bool rondo::runtime::isSpecialFile(const std::string &path) {
  struct stat status{};
  if ((path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0) &&
      lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    return true;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

NewFile::NewFile(const std::string &path, const std::string &name,
                 Readers readers)
    : path(path), name(name), readers(readers),
      isInPlace(readers == Readers::Usual && isSpecialFile(path)),
      temporary(isInPlace ? path : path + ".tmp." + std::to_string(getpid())),
      file(nullptr) {
  if (isInPlace) {
    file = std::fopen(temporary.c_str(), "ab");
  } else if (const int descriptor = makeExclusiveFile(temporary);
             descriptor >= 0) {
    file = fdopen(descriptor, "wb");
  }
  if (!file)
    fail();
}

NewFile::~NewFile() {
  if (!file)
    return;
  std::fclose(file);
  if (!isInPlace)
    std::remove(temporary.c_str());
}

void NewFile::write(const void *data, size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes)
    fail();
}

void NewFile::commit() {
  if (std::fflush(file) != 0)
    fail();
  if (!isInPlace && readers == Readers::Usual && !shareAsUsual(fileno(file)))
    fail();
  if (!isInPlace && fsync(fileno(file)) != 0)
    fail();
  int closed = std::fclose(file);
  file = nullptr;
  if (isInPlace) {
    if (closed != 0)
      fail();
    return;
  }
  if (closed != 0 || std::rename(temporary.c_str(), path.c_str()) != 0) {
    int error = errno;
    std::remove(temporary.c_str());
    errno = error;
    fail();
  }
  // The rename is durable once the folder is synced.
  if (!syncFolderOf(path))
    fail();
}

void rondo::runtime::writeTextFile(const std::string &path,
                                   const std::string &name,
                                   const std::string &text, Readers readers) {
  NewFile file(path, name, readers);
  file.write(text.data(), text.size());
  file.commit();
}

bool rondo::runtime::syncFolderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor =
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return true;
  // Some file systems cannot sync folders.
  const bool isSafe = fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  close(descriptor);
  errno = error;
  return isSafe;
}

void rondo::runtime::failWriting(const std::string &path,
                                 const std::string &name) {
  const size_t slash = path.rfind('/');
  struct stat folder;
  if (errno == ENOENT && slash != std::string::npos && slash > 0 &&
      stat(path.substr(0, slash).c_str(), &folder) != 0)
    throw Error("cannot write " + name + ": folder '" + path.substr(0, slash) +
                "' does not exist");
  throw Error("cannot write " + name + ": " + std::strerror(errno));
}

std::string rondo::runtime::readTextFile(const std::string &kind,
                                         const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // An empty file sets the failbit of `text`, a folder the badbit of `file`.
  if (file)
    text << file.rdbuf();
  if (!file || file.bad())
    throw Error("cannot read " + kind + " '" + path +
                "': " + std::strerror(errno));
  std::string contents = text.str();
  if (const std::string why = whyLfsPointer(contents); !why.empty())
    throw Error(kind + " '" + path + "': " + why);
  return contents;
}

//===----------------------------------------------------------------------===//
// Files that only this user may open.
//===----------------------------------------------------------------------===//

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
