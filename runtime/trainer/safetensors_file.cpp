//===- safetensors_file.cpp - A safetensors file being read ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/safetensors_file.h"

#include "kinds/LfsPointer.h"

#include <cerrno>
#include <cstring>

using namespace rondo::runtime;

SafetensorsFile::SafetensorsFile(const std::string &path,
                                 const std::string &kind)
    : filePath(path), kind(kind), file(path, std::ios::binary) {
  if (!file)
    throw Error("cannot read " + name() + ": " + std::strerror(errno));
  named([&] { readHeader(); });
}

void SafetensorsFile::readBytes(void *data, int64_t bytes) {
  errno = 0;
  if (!file.read(static_cast<char *>(data), bytes))
    throw Error(errno != 0
                    ? std::string("it cannot be read: ") + std::strerror(errno)
                    : "it ends before its data do");
}

void SafetensorsFile::readHeader() {
  file.seekg(0, std::ios::end);
  const int64_t fileBytes = file.tellg();
  file.seekg(0);
  if (fileBytes > 0 && fileBytes < rondo::lfsPointerBytes) {
    std::string text(fileBytes, '\0');
    readBytes(text.data(), fileBytes);
    if (const std::string why = rondo::whyLfsPointer(text); !why.empty())
      throw Error(why);
    file.seekg(0);
  }
  uint64_t length = 0;
  if (fileBytes >= 8)
    readBytes(&length, sizeof length);
  constexpr uint64_t maxHeaderBytes = 100'000'000;
  if (fileBytes < 8 || length > maxHeaderBytes ||
      static_cast<int64_t>(length) > fileBytes - 8)
    throw Error("it has " + std::to_string(fileBytes) +
                " bytes, too few for its header: it is truncated or not "
                "a safetensors file");
  std::string json(length, '\0');
  readBytes(json.data(), static_cast<int64_t>(length));
  dataBegin = 8 + static_cast<int64_t>(length);
  contents = readSafetensorsHeader(json, fileBytes - dataBegin);
}

void SafetensorsFile::read(const SafetensorsEntry &entry, int64_t first,
                           void *data, int64_t bytes) {
  file.seekg(dataBegin + entry.begin + first);
  named([&] { readBytes(data, bytes); });
}
