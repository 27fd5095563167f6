//===- Outputs.cpp - No output of a command replaces a file it uses -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Outputs.h"

#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace rondo::driver {

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
    // What is written into a device replaces nothing.
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
