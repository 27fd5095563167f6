//===- checkpoint_files.cpp - The files of a checkpoint -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/checkpoints/checkpoint_files.h"

#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/checkpoints/safetensors.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace rondo::runtime;
namespace fs = std::filesystem;

static constexpr std::string_view extension = ".safetensors",
                                  iterationWord = "-iter", countWord = "-of-",
                                  temporaryWord = ".tmp.";

//===----------------------------------------------------------------------===//
// Names.
//===----------------------------------------------------------------------===//

/// `dir/` of `dir/name`.
static std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

static std::string fileNameOf(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

/// `model` of `dir/model.safetensors`.
static std::string stemOf(const std::string &path) {
  const std::string name = fileNameOf(path);
  const size_t stem = name.size() - std::min(name.size(), extension.size());
  return stem > 0 && name.substr(stem) == extension ? name.substr(0, stem)
                                                    : name;
}

namespace {

/// Takes parts of a name from its begin.
struct NameReader {
  std::string_view rest;

  bool word(std::string_view text) {
    if (rest.substr(0, text.size()) != text)
      return false;
    rest.remove_prefix(text.size());
    return true;
  }
  bool digits() {
    const size_t count =
        std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(count);
    return count > 0;
  }
};

} // namespace

/// Whether a name is one that shardPath() makes for the checkpoint of `stem`.
static bool isShardName(std::string_view name, const std::string &stem) {
  NameReader reader{name};
  if (!reader.word(stem) || !reader.word(iterationWord) || !reader.digits())
    return false;
  if (reader.word(".") && !reader.digits())
    return false;
  return reader.word("-") && reader.digits() && reader.word(countWord) &&
         reader.digits() && reader.rest == extension;
}

/// Whether a name is that of a NewFile of `target`, before its commit().
static bool isTemporaryName(std::string_view name, const std::string &target) {
  NameReader reader{name};
  return reader.word(target) && reader.word(temporaryWord) && reader.digits() &&
         reader.rest.empty();
}

std::string rondo::runtime::indexOf(const std::string &path) {
  return path + ".index.json";
}

std::string rondo::runtime::findCheckpoint(const std::string &path) {
  return access(path.c_str(), F_OK) != 0 &&
                 access(indexOf(path).c_str(), F_OK) == 0
             ? indexOf(path)
             : path;
}

/// The names in the checkpoint's folder; nullopt if it cannot be read.
static std::optional<std::vector<std::string>>
namesInFolder(const std::string &path) {
  std::vector<std::string> names;
  const std::string folder = folderOf(path);
  std::error_code error;
  fs::directory_iterator entries(folder.empty() ? "." : folder, error), end;
  for (; !error && entries != end; entries.increment(error))
    names.push_back(entries->path().filename().string());
  if (error)
    return std::nullopt;
  return names;
}

std::string rondo::runtime::newShardLabel(const std::string &path,
                                          int64_t iteration) {
  const std::vector<std::string> names =
      namesInFolder(path).value_or(std::vector<std::string>());
  const std::string first =
      std::string(iterationWord.substr(1)) + std::to_string(iteration);
  auto isUsed = [&](const std::string &label) {
    const std::string begin = stemOf(path) + "-" + label + "-";
    for (const std::string &name : names)
      if (name.compare(0, begin.size(), begin) == 0)
        return true;
    return false;
  };
  std::string label = first;
  for (int more = 1; isUsed(label); ++more)
    label = first + "." + std::to_string(more);
  return label;
}

std::string rondo::runtime::shardPath(const std::string &path,
                                      const std::string &label, int32_t number,
                                      int32_t count) {
  char place[40];
  std::snprintf(place, sizeof place, "-%05d%s%05d", number + 1,
                countWord.data(), count);
  return folderOf(path) + stemOf(path) + "-" + label + place +
         std::string(extension);
}

//===----------------------------------------------------------------------===//
// Removing.
//===----------------------------------------------------------------------===//

/// The files that an index names; none if it does not exist, and nullopt if it
/// cannot be read.
static std::optional<std::set<std::string>>
filesOfIndex(const std::string &index) {
  std::set<std::string> shards;
  if (access(index.c_str(), F_OK) != 0 && errno == ENOENT)
    return shards;
  try {
    for (const auto &[tensor, file] :
         readSafetensorsIndex(readTextFile("index", index)))
      shards.insert(file);
  } catch (const Error &) {
    return std::nullopt;
  }
  return shards;
}

static std::optional<std::set<std::string>>
namedShards(const std::string &path) {
  return filesOfIndex(indexOf(path));
}

/// The files that the indexes among `names`, all of the checkpoint's folder,
/// name; nullopt if one cannot be read.
static std::optional<std::set<std::string>>
namedByAny(const std::string &path, const std::vector<std::string> &names,
           const std::function<void()> &progress) {
  const std::string end = indexOf("");
  std::set<std::string> all;
  for (const std::string &name : names) {
    if (name.size() < end.size() ||
        name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    std::optional<std::set<std::string>> files =
        filesOfIndex(folderOf(path) + name);
    progress();
    if (!files)
      return std::nullopt;
    all.merge(*files);
  }
  return all;
}

bool rondo::runtime::hasOtherIndex(const std::string &path) {
  const std::optional<std::set<std::string>> shards = namedShards(path);
  if (!shards)
    return false;
  for (const std::string &shard : *shards)
    if (!isShardName(shard, stemOf(path)))
      return true;
  return false;
}

bool rondo::runtime::isNamedByIndex(const std::string &path,
                                    const std::string &shard) {
  const std::optional<std::set<std::string>> shards = namedShards(path);
  return !shards || shards->count(fileNameOf(shard)) > 0;
}

void rondo::runtime::removeLeftovers(const std::string &path,
                                     const std::function<void()> &progress) {
  const std::string name = fileNameOf(path), index = fileNameOf(indexOf(path)),
                    stem = stemOf(path);
  const std::optional<std::vector<std::string>> names = namesInFolder(path);
  if (!names)
    return;
  // A copy of an index keeps its shards, and `model` and `model.safetensors`
  // have shards of the same names.
  const std::optional<std::set<std::string>> shards =
      namedByAny(path, *names, progress);
  for (const std::string &each : *names)
    if (isTemporaryName(each, name) || isTemporaryName(each, index) ||
        (shards && !shards->count(each) && isShardName(each, stem))) {
      unlink((folderOf(path) + each).c_str());
      progress();
    }
}

void rondo::runtime::removeShards(const std::string &path) {
  const std::optional<std::set<std::string>> shards = namedShards(path);
  if (!shards || hasOtherIndex(path))
    return;
  if (!shards->empty())
    unlink(indexOf(path).c_str());
  removeLeftovers(path, [] {});
}

//===----------------------------------------------------------------------===//
// Writing.
//===----------------------------------------------------------------------===//

ShardFile::ShardFile(const std::string &path, bool makes)
    : path(path), makes(makes),
      descriptor(makes
                     ? makeExclusiveFile(path)
                     : open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)) {
  if (descriptor < 0)
    fail();
}

ShardFile::~ShardFile() {
  if (descriptor >= 0)
    close(descriptor);
}

void ShardFile::resize(int64_t bytes) {
  if (ftruncate(descriptor, bytes) != 0)
    fail();
}

void ShardFile::write(int64_t offset, const void *data, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t count =
        pwrite(descriptor, static_cast<const char *>(data) + done,
               static_cast<size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail();
    done += count;
  }
  constexpr int64_t windowBytes = int64_t(32) << 20;
  if (offset + bytes - begun >= windowBytes)
    flush(offset + bytes);
}

/// Two windows are under way at once: the disk writes one while the next is
/// filled.
void ShardFile::flush(int64_t end) {
  auto sync = [&](int64_t first, int64_t last, unsigned flags) {
    // Other errors than those of the disk: the file system cannot do this, and
    // commit() will.
    if (last > first &&
        sync_file_range(descriptor, first, last - first, flags) != 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
      fail();
  };
  sync(begun, end, SYNC_FILE_RANGE_WRITE);
  sync(flushed, begun,
       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
           SYNC_FILE_RANGE_WAIT_AFTER);
  flushed = begun;
  begun = end;
}

void ShardFile::commit() {
  if ((makes && !shareAsUsual(descriptor)) || fsync(descriptor) != 0)
    fail();
  const int closed = close(descriptor);
  descriptor = -1;
  if (closed != 0 || !syncFolderOf(path))
    fail();
}

void ShardFile::fail() const { failWriting(path, "checkpoint '" + path + "'"); }
