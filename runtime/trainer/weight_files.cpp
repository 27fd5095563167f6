//===- weight_files.cpp - Tensors in one or several files -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/weight_files.h"

#include "runtime/trainer/checkpoint_files.h"
#include "runtime/trainer/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

using namespace rondo::runtime;
namespace fs = std::filesystem;

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
  std::error_code error;
  if (!fs::exists(path, error) && !error)
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
