//===- save_checkpoint.cpp - Weights and optimizer state to files ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/bodies/tensors.h"
#include "runtime/checkpoints/checkpoint.h"
#include "runtime/checkpoints/checkpoint_files.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace rondo::runtime;

/// The metadata of each file of a checkpoint.
static std::map<std::string, std::string>
metadataOf(const State &state, const RunPosition &position) {
  return {{"format", checkpointFormat},
          {"schedule", state.executable().name},
          {"step", std::to_string(position.step)},
          {"seed", std::to_string(position.seed)},
          {"data_hash", std::to_string(position.data.hash)},
          {"data_time", std::to_string(position.data.modifiedNs)},
          {"optimizer", nameOf(position.optimizer)}};
}

/// Appends a slice to the data of a file.
static void addTo(SafetensorsHeader &header, int64_t &end, const Slice &slice) {
  SafetensorsEntry entry;
  entry.dtype = "F32";
  entry.shape = shapeOf(slice.tensor->layout);
  entry.begin = end;
  entry.end = end += 4 * slice.tensor->layout.count;
  header.tensors[slice.name] = entry;
}

/// The bytes of a file before its data.
static std::string beginOf(const SafetensorsHeader &header) {
  const std::string json = writeSafetensorsHeader(header);
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof length) +
         json;
}

/// Copies what this process holds of a slice into `buffer`, a part at a time,
/// and calls put(data, bytes, offset in the slice).
template <typename Put>
static void copySlice(const State &state, const Slice &slice,
                      std::vector<float> &buffer, Put put) {
  for (const State::Part &part : state.partsOf(*slice.tensor, slice.values)) {
    if (!state.holds(part.replica))
      continue;
    const auto most = static_cast<int64_t>(buffer.size());
    for (int64_t i = 0; i < part.count; i += most) {
      const int64_t bytes = 4 * std::min(most, part.count - i);
      state.read(part.replica, buffer.data(), part.values + i, bytes);
      put(buffer.data(), bytes, 4 * (part.first + i));
    }
  }
}

/// Writes one file, in a process that holds the whole state.
static void saveWhole(const std::string &path, const State &state,
                      const RunPosition &position,
                      const std::vector<Slice> &slices) {
  const bool isSpecial = isSpecialFile(path);
  if (!isSpecial)
    removeLeftovers(path, [] {});
  SafetensorsHeader header;
  header.metadata = metadataOf(state, position);
  int64_t end = 0;
  for (const Slice &slice : slices)
    addTo(header, end, slice);
  NewFile file(path, "checkpoint '" + path + "'");
  const std::string begin = beginOf(header);
  file.write(begin.data(), begin.size());
  std::vector<float> buffer(copiedAtOnce);
  for (const Slice &slice : slices)
    copySlice(state, slice, buffer,
              [&](const float *data, int64_t bytes, int64_t) {
                file.write(data, bytes);
              });
  file.commit();
  if (!isSpecial)
    removeShards(path);
}

/// Runs a step in all processes and waits for all. Returns the error of the
/// first process that has one, the same in all; or "".
template <typename Step>
static std::string firstFailure(const World &world, const std::string &name,
                                Step step) {
  std::string mine;
  try {
    step();
  } catch (const Error &error) {
    // Others are failures of the run.
    if (error.code != Exit::Failure)
      throw;
    mine = error.what();
  }
  const std::vector<std::string> all =
      world.store->exchange(name, mine, Store::Patience::WhileReported);
  for (size_t p = 0; p < all.size(); ++p)
    if (!all[p].empty())
      return (p > 0 ? "rank " + std::to_string(p) + ": " : "") + all[p];
  return std::string();
}

/// The size of a file that another process has written; -1 if it is not there.
/// A client of NFS compares its copy of a file's attributes with the server's
/// when it opens the file, and that of a folder's names when it opens the
/// folder: stat() alone may return attributes that are some
/// seconds old.
static int64_t sizeOfOthers(const std::string &path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int names = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names >= 0)
    close(names);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return -1;
  struct stat status{};
  const bool isKnown = fstat(file, &status) == 0;
  close(file);
  return isKnown ? status.st_size : -1;
}

/// Each process may have written to a disk of its own. Call it in process 0.
static void checkIsHere(const std::string &path, const std::string &shard,
                        int32_t process, int64_t bytes) {
  if (sizeOfOthers(shard) != bytes)
    throw Error("cannot write checkpoint '" + path + "': '" + shard +
                "', which rank " + std::to_string(process) +
                " has written, is not there for rank 0; --save needs a folder "
                "that all processes share");
}

namespace {

/// Writes a checkpoint of several processes. Each tensor is in the shard of the
/// first process that holds some of it; the others write their elements there.
class ShardedSave {
public:
  ShardedSave(const std::string &path, const State &state,
              const RunPosition &position, const std::vector<Slice> &slices);

  /// All processes call it. Returns the error of the first process that could
  /// not write, the same in all; empty: the checkpoint is on the disk.
  std::string run();

private:
  struct Shard {
    /// The process that makes it.
    int32_t process = 0;
    std::string path;
    SafetensorsHeader header;
    int64_t bytes = 0;
    /// The bytes before the data.
    std::string begin;
    /// Null in processes that write nothing to it.
    std::unique_ptr<ShardFile> file;
  };

  void makeShards();
  void writeShards();
  void writeIndex() const;
  void replaceOld();
  void removeWholeFile() const;
  void removeOwn();

  const std::string path;
  const State &state;
  const World &world;
  const std::vector<Slice> &slices;
  const std::string name;
  DiskPhase phase;
  std::vector<Shard> shards;
  /// The number of the shard of each slice.
  std::vector<size_t> shardOf;
};

} // namespace

ShardedSave::ShardedSave(const std::string &path, const State &state,
                         const RunPosition &position,
                         const std::vector<Slice> &slices)
    : path(path), state(state), world(state.world()), slices(slices),
      name("saving iteration " + std::to_string(position.step)),
      phase(world, "is " + name) {
  std::map<int32_t, size_t> ofProcess;
  const Executable &exe = state.executable();
  for (const Slice &slice : slices)
    ofProcess[exe.replicas[slice.tensor->replica].rank] = 0;
  for (auto &[process, number] : ofProcess) {
    number = shards.size();
    shards.emplace_back();
    shards.back().process = process;
    shards.back().header.metadata = metadataOf(state, position);
  }
  for (const Slice &slice : slices) {
    shardOf.push_back(ofProcess[exe.replicas[slice.tensor->replica].rank]);
    Shard &shard = shards[shardOf.back()];
    addTo(shard.header, shard.bytes, slice);
  }
  std::string label;
  if (world.isFirst()) {
    removeLeftovers(path, [&] { phase.progress(); });
    label = newShardLabel(path, position.step);
  }
  label = world.store->exchange(name, label, Store::Patience::WhileReported)
              .front();
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].begin = beginOf(shards[i].header);
    shards[i].path = shardPath(path, label, static_cast<int32_t>(i),
                               static_cast<int32_t>(shards.size()));
  }
}

/// A save removes the file at `path`, which must not be a device.
static void refuseSpecialFile(const std::string &path) {
  if (isSpecialFile(path))
    throw Error("cannot write checkpoint '" + path +
                "': it is not a regular file, and several processes write a "
                "checkpoint of several files; give --save a name in a folder");
}

/// Before any other process opens them.
void ShardedSave::makeShards() {
  if (world.isFirst())
    refuseSpecialFile(path);
  for (Shard &shard : shards)
    if (shard.process == world.process) {
      shard.file = std::make_unique<ShardFile>(shard.path, /*makes=*/true);
      shard.file->resize(static_cast<int64_t>(shard.begin.size()) +
                         shard.bytes);
      shard.file->write(0, shard.begin.data(),
                        static_cast<int64_t>(shard.begin.size()));
    }
}

void ShardedSave::writeShards() {
  std::vector<float> buffer(copiedAtOnce);
  for (size_t i = 0; i < slices.size(); ++i) {
    Shard &shard = shards[shardOf[i]];
    const int64_t begin = static_cast<int64_t>(shard.begin.size()) +
                          shard.header.tensors.at(slices[i].name).begin;
    copySlice(state, slices[i], buffer,
              [&](const float *data, int64_t bytes, int64_t offset) {
                if (!shard.file)
                  shard.file =
                      std::make_unique<ShardFile>(shard.path, /*makes=*/false);
                shard.file->write(begin + offset, data, bytes);
                phase.progress();
              });
  }
  for (Shard &shard : shards)
    if (shard.file) {
      shard.file->commit();
      phase.progress();
    }
}

void ShardedSave::writeIndex() const {
  int64_t bytes = 0;
  std::map<std::string, std::string> fileOf;
  for (const Shard &shard : shards) {
    bytes += shard.bytes;
    for (const auto &[tensor, entry] : shard.header.tensors)
      fileOf[tensor] = shard.path.substr(shard.path.rfind('/') + 1);
  }
  const std::string json =
      writeSafetensorsIndex(shards.front().header.metadata, bytes, fileOf);
  writeTextFile(indexOf(path), "checkpoint '" + indexOf(path) + "'", json);
}

void ShardedSave::removeOwn() {
  for (Shard &shard : shards) {
    shard.file.reset();
    if (shard.process == world.process)
      std::remove(shard.path.c_str());
  }
}

std::string ShardedSave::run() {
  std::string failure =
      firstFailure(world, name + ", shards made", [&] { makeShards(); });
  if (failure.empty())
    failure =
        firstFailure(world, name + ", data written", [&] { writeShards(); });
  // After an exception the shards stay until the next save: process 0 may have
  // written an index of them.
  if (!failure.empty()) {
    removeOwn();
    return failure;
  }
  return firstFailure(world, name + ", index written", [&] {
    if (world.isFirst())
      replaceOld();
  });
}

/// From the rename of the index on the new checkpoint counts, unless there is a
/// whole file: then from its removal on.
void ShardedSave::replaceOld() {
  try {
    for (const Shard &shard : shards)
      checkIsHere(path, shard.path, shard.process,
                  static_cast<int64_t>(shard.begin.size()) + shard.bytes);
    writeIndex();
  } catch (const Error &) {
    // The index has its new name even if the folder could not be synced then,
    // but may get the old one back.
    for (const Shard &shard : shards)
      if (!isNamedByIndex(path, shard.path))
        std::remove(shard.path.c_str());
    throw;
  }
  phase.progress();
  removeWholeFile();
  removeLeftovers(path, [&] { phase.progress(); });
}

void ShardedSave::removeWholeFile() const {
  if (unlink(path.c_str()) != 0) {
    if (errno == ENOENT)
      return;
    throw Error("cannot remove '" + path + "', which '" + indexOf(path) +
                "' replaces: " + std::strerror(errno));
  }
  if (!syncFolderOf(path))
    failWriting(path, "checkpoint '" + path + "'");
}

/// Whether the state is written as one file. A model without tensors needs no
/// shards.
static bool isOneFile(const State &state, const std::vector<Slice> &slices) {
  return state.world().isAlone() || slices.empty();
}

void rondo::runtime::saveCheckpoint(const std::string &path, const State &state,
                                    const RunPosition &position) {
  const std::vector<Slice> slices =
      slicesOf(state, position.optimizer, /*withChanges=*/true);
  if (isOneFile(state, slices)) {
    if (state.world().isFirst())
      saveWhole(path, state, position, slices);
    return;
  }
  const std::string failure = ShardedSave(path, state, position, slices).run();
  if (!failure.empty() && state.world().isFirst())
    throw Error(failure);
}

namespace {

/// An empty file that is removed again, whatever happens.
class ProbeFile {
public:
  explicit ProbeFile(std::string path) : path(std::move(path)) {}
  ~ProbeFile() {
    if (file)
      std::remove(path.c_str());
  }
  ProbeFile(const ProbeFile &) = delete;
  ProbeFile &operator=(const ProbeFile &) = delete;
  void make() { file = std::make_unique<ShardFile>(path, /*makes=*/true); }

private:
  const std::string path;
  std::unique_ptr<ShardFile> file;
};

} // namespace

void rondo::runtime::checkSavePath(const std::string &path,
                                   const State &state) {
  const World &world = state.world();
  auto tryFile = [&] { NewFile(path, "checkpoint '" + path + "'"); };
  if (world.isAlone())
    return tryFile();
  ProbeFile probe(shardPath(path, "iter0", world.process, world.processes));
  std::string failure = firstFailure(world, "the check of --save", [&] {
    if (world.isFirst()) {
      refuseSpecialFile(path);
      if (hasOtherIndex(path))
        throw Error("index '" + indexOf(path) +
                    "' is not of a checkpoint that Rondo saved; choose another "
                    "--save, or remove it");
      tryFile();
    }
    probe.make();
  });
  if (failure.empty())
    failure = firstFailure(world, "the end of the check of --save", [&] {
      for (int32_t p = 0; world.isFirst() && p < world.processes; ++p)
        checkIsHere(path, shardPath(path, "iter0", p, world.processes), p, 0);
    });
  if (!failure.empty())
    throwInAll(world, Error(failure));
}
