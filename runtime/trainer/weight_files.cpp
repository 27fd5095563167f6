//===- weight_files.cpp - Tensors in one or several files -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/weight_files.h"

#include "runtime/trainer/text_file.h"

#include <filesystem>

using namespace rondo::runtime;
namespace fs = std::filesystem;

static constexpr char oneFile[] = "model.safetensors",
                      indexFile[] = "model.safetensors.index.json",
                      kind[] = "weights";

/// The file or the index that `path` means.
static std::string fileOfPath(const std::string &path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path;
  for (const char *name : {oneFile, indexFile})
    if (const fs::path file = fs::path(path) / name; fs::exists(file, error))
      return file.string();
  throw Error("weights '" + path + "': the folder has neither " + oneFile +
              " nor " + indexFile);
}

static bool isIndex(const std::string &path) {
  return fs::path(path).extension() == ".json";
}

WeightFiles::WeightFiles(const std::string &path) {
  const std::string file = fileOfPath(path);
  if (isIndex(file))
    readIndex(file);
  else
    for (const auto &[name, entry] : open(file).header().tensors)
      places[name] = file;
}

void WeightFiles::readIndex(const std::string &path) {
  const std::string text = readTextFile("index", path);
  try {
    places = readSafetensorsIndex(text);
  } catch (const Error &error) {
    throw Error("index '" + path + "': " + error.what());
  }
  for (auto &[tensor, name] : places)
    name = (fs::path(path).parent_path() / name).string();
  index = path;
}

SafetensorsFile &WeightFiles::open(const std::string &path) {
  std::unique_ptr<SafetensorsFile> &file = files[path];
  if (file)
    return *file;
  auto opened = std::make_unique<SafetensorsFile>(path, kind);
  if (!index.empty())
    opened->named([&] {
      for (const auto &[tensor, entry] : opened->header().tensors) {
        auto place = places.find(tensor);
        if (place == places.end() || place->second != path)
          throw Error("it has the tensor '" + tensor + "', which index '" +
                      index + "' does not place there");
      }
    });
  file = std::move(opened);
  return *file;
}

const SafetensorsEntry &WeightFiles::entry(const std::string &tensor) {
  SafetensorsFile &file = open(places.at(tensor));
  auto found = file.header().tensors.find(tensor);
  if (found == file.header().tensors.end())
    file.named([&] {
      throw Error("it has no tensor '" + tensor + "', which index '" + index +
                  "' places there");
    });
  return found->second;
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

std::set<std::string> WeightFiles::paths() const {
  std::set<std::string> paths;
  for (const auto &[tensor, path] : places)
    paths.insert(path);
  if (!index.empty())
    paths.insert(index);
  return paths;
}
