//===- safetensors.cpp - Reads and writes safetensors files ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/checkpoints/safetensors.h"

#include "kinds/LfsPointer.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/half.h"
#include "runtime/base/json.h"
#include "runtime/checkpoints/checkpoint_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

using namespace rondo::runtime;

namespace fs = std::filesystem;

std::string rondo::runtime::describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string
rondo::runtime::writeSafetensorsHeader(const SafetensorsHeader &header) {
  JsonWriter json;
  json.object().key("__metadata__").object();
  for (const auto &[key, value] : header.metadata)
    json.member(key, value);
  json.end();
  for (const auto &[name, entry] : header.tensors) {
    json.key(name).object().member("dtype", entry.dtype);
    json.key("shape").array();
    for (int64_t size : entry.shape)
      json.value(size);
    json.end().key("data_offsets").array().value(entry.begin).value(entry.end);
    json.end().end();
  }
  std::string text = json.end().text();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

int64_t rondo::runtime::bytesOfDtype(const std::string &dtype) {
  static const std::pair<const char *, int64_t> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  for (auto [name, bytes] : sizes)
    if (dtype == name)
      return bytes;
  return 0;
}

bool rondo::runtime::convertToFloats(const std::string &dtype, const void *from,
                                     int64_t count, float *to) {
  if (dtype == "F32") {
    std::memcpy(to, from, count * sizeof(float));
    return true;
  }
  const bool isF16 = dtype == "F16";
  if (!isF16 && dtype != "BF16")
    return false;
  const char *bytes = static_cast<const char *>(from);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + 2 * i, sizeof bits);
    to[i] = isF16 ? fromF16(bits) : fromBf16(bits);
  }
  return true;
}

static void checkEntry(const std::string &name, const SafetensorsEntry &entry,
                       int64_t dataBytes) {
  auto fail = [&](const std::string &what) {
    throw Error("tensor '" + name + "' " + what);
  };
  int64_t bytes = bytesOfDtype(entry.dtype);
  if (bytes == 0)
    fail("has the unknown dtype '" + entry.dtype + "'");
  for (int64_t size : entry.shape) {
    if (size > 0 && bytes > (int64_t(1) << 60) / size)
      fail("has a shape of more than 2^60 bytes");
    bytes *= size;
  }
  if (entry.begin > entry.end || entry.end - entry.begin != bytes)
    fail("takes bytes " + std::to_string(entry.begin) + " to " +
         std::to_string(entry.end) + ", its shape needs " +
         std::to_string(bytes));
  if (entry.end > dataBytes)
    fail("ends at byte " + std::to_string(entry.end) +
         " of the data, the file has " + std::to_string(dataBytes) +
         ": it is truncated");
}

SafetensorsHeader rondo::runtime::readSafetensorsHeader(const std::string &json,
                                                        int64_t dataBytes) {
  SafetensorsHeader header;
  JsonReader reader(json, "header, ");
  reader.object([&](const std::string &name) {
    if (name == "__metadata__") {
      reader.object([&](const std::string &key) {
        if (!header.metadata.emplace(key, reader.string()).second)
          reader.fail("metadata '" + key + "' appears twice");
      });
      return;
    }
    SafetensorsEntry entry;
    int fields = 0;
    reader.object([&](const std::string &key) {
      ++fields;
      if (key == "dtype") {
        entry.dtype = reader.string();
      } else if (key == "shape") {
        entry.shape = reader.integers();
      } else if (key == "data_offsets") {
        std::vector<int64_t> offsets = reader.integers();
        if (offsets.size() != 2)
          reader.fail("data_offsets of '" + name + "' are not two numbers");
        entry.begin = offsets[0];
        entry.end = offsets[1];
      } else {
        reader.fail("tensor '" + name + "' has the unknown field '" + key +
                    "'");
      }
    });
    if (fields != 3)
      reader.fail("tensor '" + name +
                  "' needs dtype, shape and data_offsets once each");
    if (!header.tensors.emplace(name, std::move(entry)).second)
      reader.fail("tensor '" + name + "' appears twice");
  });
  reader.end();

  std::vector<std::pair<int64_t, const std::string *>> begins;
  for (const auto &[name, entry] : header.tensors) {
    checkEntry(name, entry, dataBytes);
    if (entry.end > entry.begin)
      begins.push_back({entry.begin, &name});
  }
  std::sort(begins.begin(), begins.end());
  int64_t end = 0;
  for (auto [begin, name] : begins) {
    if (begin != end)
      throw Error("tensor '" + *name + "' begins at byte " +
                  std::to_string(begin) + " of the data, the one before ends " +
                  "at byte " + std::to_string(end));
    end = header.tensors[*name].end;
  }
  if (end != dataBytes)
    throw Error("the tensors end at byte " + std::to_string(end) +
                " of the data, the file has " + std::to_string(dataBytes));
  return header;
}

std::string rondo::runtime::writeSafetensorsIndex(
    const std::map<std::string, std::string> &metadata, int64_t totalBytes,
    const std::map<std::string, std::string> &fileOf) {
  JsonWriter json;
  json.object().key("metadata").object().member("total_size", totalBytes);
  for (const auto &[key, value] : metadata)
    json.member(key, value);
  json.end().line().key("weight_map").object();
  for (const auto &[tensor, file] : fileOf)
    json.line().member(tensor, file);
  return json.line().end().end().text() + "\n";
}

std::map<std::string, std::string>
rondo::runtime::readSafetensorsIndex(const std::string &json) {
  std::map<std::string, std::string> fileOf;
  JsonReader reader(json);
  bool hasMap = false;
  reader.object([&](const std::string &key) {
    if (key != "weight_map")
      return reader.skip();
    if (hasMap)
      reader.fail("weight_map appears twice");
    hasMap = true;
    reader.object([&](const std::string &name) {
      const std::string file = reader.string();
      if (file.empty() || file == "." || file == ".." ||
          file.find('/') != std::string::npos ||
          file.find('\0') != std::string::npos)
        reader.fail(
            "tensor '" + name + "' is in '" + file +
            "', which is not the name of a file in the folder of the index");
      if (!fileOf.emplace(name, file).second)
        reader.fail("tensor '" + name + "' appears twice");
    });
  });
  reader.end();
  if (fileOf.empty())
    throw Error("it has no weight_map, or an empty one: it is not the index of "
                "safetensors files");
  return fileOf;
}

SafetensorsFile::SafetensorsFile(const std::string &path,
                                 const std::string &kind)
    : filePath(path), kind(kind) {
  // Opening a pipe would wait for its writer.
  std::error_code error;
  if (std::filesystem::is_fifo(path, error))
    throw Error("cannot read " + name() + ": it is a pipe, not a file");
  file.open(path, std::ios::binary);
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

static constexpr char oneFile[] = "model.safetensors",
                      indexFile[] = "model.safetensors.index.json";

/// The file or the index that `path` means.
static std::string fileOfPath(const std::string &path,
                              const std::string &kind) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return findCheckpoint(path);
  for (const char *name : {oneFile, indexFile})
    if (const fs::path file = fs::path(path) / name; fs::exists(file, error))
      return file.string();
  throw Error(kind + " '" + path + "': the folder has neither " + oneFile +
              " nor " + indexFile);
}

WeightFiles::WeightFiles(const std::string &path, const std::string &kind)
    : kind(kind), top(fileOfPath(path, kind)),
      hasIndex(fs::path(top).extension() == ".json") {
  if (hasIndex) {
    readIndex();
    return;
  }
  for (const auto &[name, entry] : open(top).header().tensors)
    places[name] = top;
}

void WeightFiles::readIndex() {
  const std::string text = readTextFile("index", top);
  try {
    places = readSafetensorsIndex(text);
  } catch (const Error &error) {
    throw Error("index '" + top + "': " + error.what());
  }
  for (auto &[tensor, name] : places)
    name = (fs::path(top).parent_path() / name).string();
}

SafetensorsFile &WeightFiles::open(const std::string &path) {
  std::unique_ptr<SafetensorsFile> &file = files[path];
  if (file)
    return *file;
  if (!hasIndex) {
    file = std::make_unique<SafetensorsFile>(path, kind);
    return *file;
  }
  // Opened, since a client of NFS may not find a name that is new.
  if (!std::ifstream(path) && errno == ENOENT)
    throw Error("cannot read " + kind + " '" + path +
                "': " + std::strerror(ENOENT) + "; index '" + top +
                "' names it, and all of its files must be in its folder");
  auto opened = std::make_unique<SafetensorsFile>(path, kind);
  opened->named([&] {
    const auto &tensors = opened->header().tensors;
    for (const auto &[tensor, entry] : tensors) {
      auto place = places.find(tensor);
      if (place == places.end() || place->second != path)
        throw Error("it has the tensor '" + tensor + "', which index '" + top +
                    "' does not place there");
    }
    for (const auto &[tensor, place] : places)
      if (place == path && !tensors.count(tensor))
        throw Error("it has no tensor '" + tensor + "', which index '" + top +
                    "' places there");
  });
  file = std::move(opened);
  return *file;
}

const SafetensorsEntry &WeightFiles::entry(const std::string &tensor) {
  return open(places.at(tensor)).header().tensors.at(tensor);
}

void WeightFiles::read(const std::string &tensor, int64_t first, int64_t count,
                       float *values) {
  const SafetensorsEntry &where = entry(tensor);
  const int64_t size = bytesOfDtype(where.dtype);
  bytes.resize(count * size);
  SafetensorsFile &file = open(places.at(tensor));
  file.read(where, first * size, bytes.data(), count * size);
  if (!convertToFloats(where.dtype, bytes.data(), count, values))
    file.named([&] {
      throw Error("tensor '" + tensor + "' is " + where.dtype +
                  "; Rondo reads F32, F16 and BF16");
    });
}

std::set<std::string> WeightFiles::dataFiles() const {
  if (!hasIndex)
    return {top};
  std::set<std::string> paths;
  for (const auto &[tensor, path] : places)
    paths.insert(path);
  return paths;
}

std::set<std::string> WeightFiles::paths() const {
  std::set<std::string> paths = dataFiles();
  paths.insert(top);
  return paths;
}
