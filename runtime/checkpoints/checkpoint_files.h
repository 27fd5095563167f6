//===- checkpoint_files.h - The files of a checkpoint -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint is named by a path. One process writes it as one file:
//
//   model.safetensors
//
// Several processes write a shard each, and an index, which has the names that
// Hugging Face's tools know:
//
//   model-iter400-00001-of-00002.safetensors
//   model-iter400-00002-of-00002.safetensors
//   model.safetensors.index.json
//
// Each save has shards of new names, so that the old checkpoint stays whole
// until the index is renamed. If both a whole file and an index exist, the
// whole file is the checkpoint: a save to shards ends by removing it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_FILES_H
#define RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_FILES_H

#include <cstdint>
#include <functional>
#include <string>

namespace rondo::runtime {

/// The index of the checkpoint `path`.
std::string indexOf(const std::string &path);

/// The file that holds the checkpoint `path`: `path` itself, or its index if
/// only that exists.
std::string findCheckpoint(const std::string &path);

/// A name for shards of a save that no file in the folder has: `iter400`, or
/// `iter400.1` if the checkpoint that exists is of the same iteration.
std::string newShardLabel(const std::string &path, int64_t iteration);

/// The path of shard `number`, from 0, of `count`.
std::string shardPath(const std::string &path, const std::string &label,
                      int32_t number, int32_t count);

/// Whether the index that belongs to `path` names files that no save of `path`
/// has written, as one of another tool does.
bool hasOtherIndex(const std::string &path);

/// Whether the checkpoint's index has a shard of this path; true if the index
/// cannot be read.
bool isNamedByIndex(const std::string &path, const std::string &shard);

/// Removes what saves have left: temporary files, and shards that no index in
/// the folder names. Removes no shard if an index cannot be read. Files that
/// cannot be removed stay. Calls `progress` after each index and each file.
void removeLeftovers(const std::string &path,
                     const std::function<void()> &progress);

/// Ends a save to one file: the shards of an earlier save go, and their index.
void removeShards(const std::string &path);

/// A shard that is being written, by one or several processes: each writes its
/// own bytes. Functions throw Error that names the file.
class ShardFile {
public:
  /// Makes the file, or opens the one that another process has made.
  ShardFile(const std::string &path, bool makes);
  ~ShardFile();
  ShardFile(const ShardFile &) = delete;
  ShardFile &operator=(const ShardFile &) = delete;

  /// Gives the file its final size. Call it before another process opens the
  /// file: a client of NFS that takes a file for shorter than it is may write
  /// zeros over what another one has written just before its own bytes.
  void resize(int64_t bytes);
  /// Call it with increasing offsets. Starts to write to the disk at once, and
  /// waits for the disk after some MiB, so that no call takes long, nor does
  /// commit().
  void write(int64_t offset, const void *data, int64_t bytes);
  /// Returns when the bytes of this process and the file's name are on the
  /// disk. The process that has made the file also lets others read it.
  void commit();

private:
  void flush(int64_t end);
  [[noreturn]] void fail() const;

  const std::string path;
  const bool makes;
  int descriptor;
  /// Up to `flushed` the disk has all bytes; up to `begun` it is writing them.
  int64_t flushed = 0, begun = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_FILES_H
