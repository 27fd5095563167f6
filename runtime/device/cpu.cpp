//===- cpu.cpp - A rank's memory in this process --------------------------===//

#include "runtime/device/device.h"
#include "runtime/error.h"
#include "runtime/layer.h"

#include <cstdlib>
#include <cstring>
#include <string>

using namespace rondo::runtime;

Arena::~Arena() = default;

namespace {

/// An arena of 0 bytes has no address, which memcpy() and memset() may not get.
class CpuArena : public Arena {
public:
  explicit CpuArena(int64_t bytes) : size(bytes) {
    if (bytes == 0)
      return;
    memory = static_cast<char *>(
        std::aligned_alloc(bufferAlignment, alignedBytes(bytes)));
    if (!memory)
      throw Error("the system refused an arena of " + std::to_string(bytes) +
                      " bytes",
                  Exit::RunFailure);
    // Touching every page now keeps page faults out of the first iteration.
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }
  ~CpuArena() override { std::free(memory); }

  char *base() const override { return memory; }
  int64_t bytes() const override { return size; }
  void read(void *host, const void *device, int64_t bytes) const override {
    if (bytes > 0)
      std::memcpy(host, device, static_cast<size_t>(bytes));
  }
  void write(void *device, const void *host, int64_t bytes) override {
    if (bytes > 0)
      std::memcpy(device, host, static_cast<size_t>(bytes));
  }
  void fill(void *device, uint8_t byte, int64_t bytes) override {
    if (bytes > 0)
      std::memset(device, byte, static_cast<size_t>(bytes));
  }

private:
  char *memory = nullptr;
  int64_t size;
};

} // namespace

std::unique_ptr<Arena> rondo::runtime::makeCpuArena(int64_t bytes) {
  return std::make_unique<CpuArena>(bytes);
}
