//===- text_file.cpp - Reads a file as a whole ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/text_file.h"

#include "kinds/LfsPointer.h"
#include "runtime/base/error.h"

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
  if (const std::string why = whyLfsPointer(contents); !why.empty())
    throw Error(kind + " '" + path + "': " + why);
  return contents;
}
