//===- Files.cpp - Input and output files ---------------------------------===//

#include "tools/driver/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

bool isSpecialFile(StringRef path) {
  return sys::fs::exists(path) && !sys::fs::is_regular_file(path);
}

Error checkWritable(StringRef path) {
  auto fail = [&](const Twine &why) {
    return createStringError(inconvertibleErrorCode(),
                             "cannot write " + path + ": " + why);
  };
  if (path == "-")
    return Error::success();
  if (sys::fs::is_directory(path))
    return fail("it is a directory");
  if (isSpecialFile(path))
    return Error::success();
  StringRef folder = sys::path::parent_path(path);
  if (std::error_code ec = sys::fs::access(folder.empty() ? "." : folder,
                                           sys::fs::AccessMode::Write))
    return fail(ec.message());
  return Error::success();
}

/// Without a temporary.
static Error writeInPlace(StringRef path,
                          function_ref<Error(raw_ostream &)> write) {
  std::error_code ec;
  raw_fd_ostream os(path, ec, sys::fs::CD_OpenExisting);
  if (ec)
    return errorCodeToError(ec);
  if (Error error = write(os))
    return error;
  os.flush();
  ec = os.error();
  os.clear_error();
  return errorCodeToError(ec);
}

Error writeFile(StringRef path, function_ref<Error(raw_ostream &)> write) {
  Error error = path != "-" && isSpecialFile(path) ? writeInPlace(path, write)
                                                   : writeToOutput(path, write);
  if (!error)
    return error;
  return createStringError(inconvertibleErrorCode(),
                           "cannot write " + path + ": " +
                               toString(std::move(error)));
}

} // namespace rondo::driver
