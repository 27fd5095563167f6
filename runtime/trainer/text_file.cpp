//===- text_file.cpp - Reads a file as a whole ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/text_file.h"

#include "runtime/base/error.h"
#include "runtime/trainer/lfs_pointer.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace rondo::runtime;

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
  try {
    refuseLfsPointer(contents);
  } catch (const Error &error) {
    throw Error(kind + " '" + path + "': " + error.what());
  }
  return contents;
}
