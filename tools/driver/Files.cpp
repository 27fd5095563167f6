//===- Files.cpp - Input and output files ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Files.h"

#include "codegen/TemporaryName.h"
#include "kinds/LfsPointer.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
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
  if (std::string pointer = whyLfsPointer((*buffer)->getBuffer());
      !pointer.empty())
    return fail(pointer);
  return std::move(*buffer);
}

std::unique_ptr<MemoryBuffer> readOrReport(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (buffer)
    return std::move(*buffer);
  reportError(toString(buffer.takeError()));
  return nullptr;
}

bool isModuleFile(StringRef path) { return path.ends_with(".mlir"); }

bool isSpecialFile(StringRef path) {
  // For example /dev/stdout, which may be an open regular file.
  if ((path.starts_with("/dev/") || path.starts_with("/proc/")) &&
      sys::fs::is_symlink_file(path))
    return true;
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
  if (isSpecialFile(path)) {
    if (std::error_code ec = sys::fs::access(path, sys::fs::AccessMode::Write))
      return fail(ec.message());
    return Error::success();
  }
  StringRef folder = sys::path::parent_path(path);
  if (!folder.empty() && !sys::fs::exists(folder))
    return fail("folder '" + folder + "' does not exist");
  if (std::error_code ec = sys::fs::access(folder.empty() ? "." : folder,
                                           sys::fs::AccessMode::Write))
    return fail(ec.message());
  return Error::success();
}

int reportUnwritable(StringRef path) {
  Error error = path.empty() ? Error::success() : checkWritable(path);
  return error ? reportError(toString(std::move(error))) : int(Success);
}

/// Writes everything or returns an error. LLVM's writeToOutput() ends the
/// process if the disk is full, and only after the rename.
static Error print(raw_fd_ostream &os,
                   function_ref<Error(raw_ostream &)> write) {
  Error error = write(os);
  os.flush();
  std::error_code ec = os.error();
  os.clear_error();
  return error ? std::move(error) : errorCodeToError(ec);
}

/// Appends to the existing content, without a temporary file.
static Error writeInPlace(StringRef path,
                          function_ref<Error(raw_ostream &)> write) {
  std::error_code ec;
  raw_fd_ostream os(path, ec, sys::fs::CD_OpenExisting, sys::fs::FA_Write,
                    sys::fs::OF_Append);
  return ec ? errorCodeToError(ec) : print(os, write);
}

static Error writeBeside(StringRef path,
                         function_ref<Error(raw_ostream &)> write) {
  StringRef folder = sys::path::parent_path(path);
  if (!folder.empty() && !sys::fs::exists(folder))
    return createStringError(inconvertibleErrorCode(),
                             "folder '" + folder + "' does not exist");
  int descriptor = -1;
  const std::string temporary = codegen::temporaryBeside(path);
  if (std::error_code ec = codegen::openExclusive(temporary, descriptor))
    return errorCodeToError(ec);
  FileRemover remover(temporary);
  sys::RemoveFileOnSignal(temporary);
  scope_exit forget([&] { sys::DontRemoveFileOnSignal(temporary); });
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  if (Error error = print(os, write))
    return error;
  // The umask decides who may read what is complete.
  if (std::error_code ec = sys::fs::setPermissions(
          descriptor,
          static_cast<sys::fs::perms>((sys::fs::all_read | sys::fs::all_write) &
                                      ~sys::fs::getUmask())))
    return errorCodeToError(ec);
  os.close();
  std::error_code ec = os.error();
  os.clear_error();
  if (!ec)
    ec = sys::fs::rename(temporary, path);
  if (!ec)
    remover.releaseFile();
  return errorCodeToError(ec);
}

void reportWritten(StringRef path, const Twine &what) {
  if (path != "-" && (sys::fs::is_directory(path) || !isSpecialFile(path)))
    outs() << "wrote " << path << ": " << what << "\n";
}

/// Also under another name, such as /dev/stdout: of two streams to a file, only
/// one knows where its end is.
static bool isStandardOutput(StringRef path) {
  sys::fs::file_status ours, its;
  return path == "-" || (!sys::fs::status(1, ours) &&
                         !sys::fs::status(path, its) && equivalent(ours, its));
}

Error writeFile(StringRef path, function_ref<Error(raw_ostream &)> write) {
  Error error = isStandardOutput(path) ? write(outs())
                : isSpecialFile(path)  ? writeInPlace(path, write)
                                       : writeBeside(path, write);
  if (!error)
    return error;
  return createStringError(inconvertibleErrorCode(),
                           "cannot write " + path + ": " +
                               toString(std::move(error)));
}

int writeOrReport(StringRef path, function_ref<void(raw_ostream &)> write) {
  Error error = writeFile(path, [&](raw_ostream &os) {
    write(os);
    return Error::success();
  });
  return error ? reportError(toString(std::move(error))) : int(Success);
}

//===----------------------------------------------------------------------===//
// Outputs that replace no input
//===----------------------------------------------------------------------===//

/// The path of a file that may not exist yet, with links resolved in its
/// folder.
static SmallString<256> canonicalPath(StringRef path) {
  SmallString<256> absolute(path), folder;
  sys::fs::make_absolute(absolute);
  if (!sys::fs::real_path(absolute, folder))
    return folder;
  sys::path::remove_dots(absolute, /*remove_dot_dot=*/false);
  if (sys::fs::real_path(sys::path::parent_path(absolute), folder))
    folder = sys::path::parent_path(absolute);
  sys::path::append(folder, sys::path::filename(absolute));
  return folder;
}

static bool isSameFile(StringRef a, StringRef b) {
  bool areSame = false;
  if (!sys::fs::equivalent(a, b, areSame))
    return areSame;
  return canonicalPath(a) == canonicalPath(b);
}

std::vector<UsedFile> inputFiles(const Arguments &arguments,
                                 ArrayRef<StringRef> options) {
  std::vector<UsedFile> files;
  for (const std::string &path : arguments.files())
    files.push_back({"the input file", path});
  for (StringRef option : options)
    for (const std::string &path : arguments.all(option))
      files.push_back({("--" + option).str(), path});
  return files;
}

int checkOutputs(ArrayRef<UsedFile> inputs, ArrayRef<UsedFile> outputs) {
  for (auto [number, output] : enumerate(outputs)) {
    // Writing to a device replaces no file.
    if (output.path.empty() || output.path == "-" ||
        (isSpecialFile(output.path) && !sys::fs::is_directory(output.path)))
      continue;
    auto isOutput = [&path = output.path](const UsedFile &other) {
      return !other.path.empty() && other.path != "-" &&
             isSameFile(path, other.path);
    };
    if (auto *input = find_if(inputs, isOutput); input != inputs.end())
      return reportUsage(output.name + " is " +
                         (input->name.front() == '-' ? "the file of " : "") +
                         input->name + ", " + input->path +
                         "; write to another file");
    ArrayRef<UsedFile> others = outputs.take_front(number);
    if (auto *other = find_if(others, isOutput); other != others.end())
      return reportUsage(other->name + " and " + output.name +
                         " are the same file, " + output.path);
  }
  return Success;
}

} // namespace rondo::driver
