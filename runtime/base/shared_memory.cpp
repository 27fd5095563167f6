//===- shared_memory.cpp - Memory of processes on one host ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/shared_memory.h"

#include "runtime/base/error.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

/// As shm_open() does, which before glibc 2.34 is in a library that programs do
/// not link.
static std::string pathOf(const std::string &name) { return "/dev/shm" + name; }
static int openObject(const std::string &name, int flags) {
  // The name of another process stays in the folder.
  if (name.rfind('/') != 0) {
    errno = EINVAL;
    return -1;
  }
  return open(pathOf(name).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
              0600);
}

/// 128 random bits: no other process can guess the name or take it before.
static std::string randomName() {
  uint64_t number[2] = {};
  if (getrandom(number, sizeof number, 0) != sizeof number)
    throw Error("the system gives no random numbers: " +
                std::string(std::strerror(errno)));
  char text[64];
  std::snprintf(text, sizeof text, "/rondo-%016llx%016llx",
                static_cast<unsigned long long>(number[0]),
                static_cast<unsigned long long>(number[1]));
  return text;
}

[[noreturn]] static void failOn(const std::string &name, const char *what,
                                const std::string &why) {
  throw Error(std::string(what) + " the shared memory '" + pathOf(name) +
                  "': " + why,
              Exit::Failure);
}

SharedMemory::SharedMemory(size_t bytes) : ownName(randomName()), bytes(bytes) {
  const int descriptor = openObject(ownName, O_CREAT | O_EXCL);
  if (descriptor < 0)
    failOn(ownName, "cannot make", std::strerror(errno));
  // Without memory for it, the first write would be a SIGBUS.
  if (const int error =
          posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
      error != 0) {
    close(descriptor);
    removeName();
    failOn(ownName, "cannot make", std::strerror(error));
  }
  map(descriptor);
}

SharedMemory::SharedMemory(const std::string &name, size_t bytes)
    : ownName(name), bytes(bytes) {
  const int descriptor = openObject(name, 0);
  if (descriptor < 0)
    failOn(name, "cannot open", std::strerror(errno));
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 ||
      status.st_size != static_cast<off_t>(bytes)) {
    close(descriptor);
    failOn(name, "cannot open",
           "it has " + std::to_string(status.st_size) + " bytes, not " +
               std::to_string(bytes));
  }
  map(descriptor);
}

void SharedMemory::map(int descriptor) {
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                /*offset=*/0);
  const int error = errno;
  close(descriptor);
  if (memory != MAP_FAILED)
    return;
  removeName();
  failOn(ownName, "cannot map", std::strerror(error));
}

SharedMemory::~SharedMemory() {
  munmap(memory, bytes);
  removeName();
}

void SharedMemory::removeName() {
  if (isNamed)
    unlink(pathOf(ownName).c_str());
  isNamed = false;
}
