//===- SharedMemory.cpp - Arenas that several processes share -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedMemory.h"

#include "runtime/base/error.h"
#include "runtime/device/host_arena.h"
#include "test/unit/runtime/ForwardingDevice.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

/// Bytes of address space; only pages in use take memory.
static constexpr int64_t capacity = int64_t(1) << 36;
static constexpr int64_t page = 1 << 12;

static int64_t wholePages(int64_t bytes) {
  return (bytes + page - 1) / page * page;
}

[[noreturn]] static void fail(const std::string &what) {
  throw Error("the shared memory of the test " + what + ": " +
              std::strerror(errno));
}

SharedMemory::SharedMemory()
    : file(memfd_create("rondo-conformance", MFD_CLOEXEC)) {
  if (file < 0 || ftruncate(file, capacity) != 0)
    fail("cannot be made");
  map();
}

SharedMemory::SharedMemory(const std::string &name)
    : file(open(name.c_str(), O_RDWR | O_CLOEXEC)) {
  if (file < 0)
    fail("cannot be opened at " + name);
  map();
}

SharedMemory::~SharedMemory() {
  munmap(base, capacity);
  close(file);
}

void SharedMemory::map() {
  void *address = mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED)
    fail("cannot be mapped");
  base = static_cast<char *>(address);
}

std::string SharedMemory::name() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
}

char *SharedMemory::take(int64_t bytes) {
  const int64_t begin = used.fetch_add(wholePages(bytes));
  if (begin + wholePages(bytes) > capacity)
    throw Error("the shared memory of the test is used up");
  return base + begin;
}

void SharedMemory::giveBack(char *memory, int64_t bytes) {
  if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, memory - base,
                wholePages(bytes)) != 0)
    fail("takes nothing back");
}

int64_t SharedMemory::offsetOf(const void *address) const {
  if (!address)
    return -1;
  const int64_t offset = static_cast<const char *>(address) - base;
  if (offset < 0 || offset >= capacity)
    throw Error("what a transport works on lies outside of the arenas");
  return offset;
}

char *SharedMemory::at(int64_t offset) const {
  return offset < 0 ? nullptr : base + offset;
}

namespace {

class SharedArena : public HostArena {
public:
  SharedArena(SharedMemory &shared, int64_t bytes)
      : HostArena(bytes), shared(shared) {
    if (bytes > 0)
      memory = shared.take(bytes);
  }
  ~SharedArena() override {
    if (memory)
      shared.giveBack(memory, bytes());
  }

private:
  SharedMemory &shared;
};

class SharedDevice : public ForwardingDevice {
public:
  explicit SharedDevice(SharedMemory &memory) : memory(memory) {}

  std::unique_ptr<Arena> makeArena(int64_t bytes) override {
    return std::make_unique<SharedArena>(memory, bytes);
  }

private:
  SharedMemory &memory;
};

} // namespace

std::unique_ptr<Device>
rondo::runtime::test::makeSharedDevice(SharedMemory &memory) {
  return std::make_unique<SharedDevice>(memory);
}
