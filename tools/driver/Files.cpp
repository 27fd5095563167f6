//===- Files.cpp - Input files --------------------------------------------===//

#include "tools/driver/Files.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace rondo::driver {

Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path) {
  auto fail = [&](const Twine &why) {
    return createStringError(inconvertibleErrorCode(),
                             "cannot read " + path + ": " + why);
  };
  if (path != "-" && sys::fs::is_directory(path))
    return fail("it is a directory");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return fail(StringRef(buffer.getError().message()).lower());
  return std::move(*buffer);
}

} // namespace rondo::driver
