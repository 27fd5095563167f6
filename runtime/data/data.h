//===- data.h - Tokens to train on ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DATA_DATA_H
#define RONDO_RUNTIME_DATA_DATA_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Identifies data, for a resumed run to compare. The names of files do not
/// count.
struct DataIdentity {
  /// Hash of how much is in each file and of samples of it; 0: no data.
  uint64_t hash = 0;
  /// When the files were last modified, in ns since 1970; 0: unknown.
  int64_t modifiedNs = 0;
};

/// The data that a run is given.
class DataSource {
public:
  virtual ~DataSource();

  /// Whether there is a held-out part.
  virtual bool hasHeldOut() const = 0;
  virtual DataIdentity identity() const = 0;
  /// One line for the user.
  virtual std::string describe() const = 0;
};

/// The place of a training sample among `end`, uniform over [0, end).
int64_t pick(uint64_t seed, int64_t iteration, int64_t sample, int64_t end);

/// The tokens of all files, one file after another.
struct Corpus {
  /// First token of each file, then the end of the last.
  std::vector<int64_t> begins;
  /// Whether each file is text by bytes.
  std::vector<bool> areTexts;
  /// Tokens before the held-out part.
  int64_t trained = 0;
  /// Writes tokens. Throws Error as reading a sample does.
  std::function<void(int64_t begin, int64_t count, int32_t *tokens)> read;
};

/// The source of samples of tokens. A sample is a window of sequence + 1
/// tokens: the inputs, and the targets, which are the inputs shifted by one.
/// The window depends only on the seed, the iteration and the sample's number,
/// never on ranks.
class Data : public DataSource {
public:
  /// Writes `count` tokens of a training sample.
  virtual void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                              int64_t count, int32_t *tokens) const = 0;
  /// Writes `count` tokens of held-out sample `sample` of `samples`, which are
  /// spread evenly over the held-out part.
  virtual void heldOutSample(int64_t sample, int64_t samples, int64_t count,
                             int32_t *tokens) const = 0;
  /// Null: tokens are not of files.
  virtual const Corpus *corpus() const { return nullptr; }
};

/// The files that `paths` name, a folder standing for its files, sorted by
/// name. Throws Error on a folder without files.
std::vector<std::string> listDataFiles(const std::vector<std::string> &paths);

/// Reads up to `bytes` of an open file at `offset`, fewer at its end. Negative,
/// with errno set, on failure.
using ReadAt =
    std::function<int64_t(int file, void *data, int64_t bytes, int64_t offset)>;
int64_t readFileAt(int file, void *data, int64_t bytes, int64_t offset);

/// Concatenates files: text by bytes, or llm.c's tokens (magic 20240520 version
/// 1 with 16 bits, 20240801 version 7 with 32). Reads the headers and, of all
/// files together, about a million tokens: the first, the last and blocks at
/// equal distances. Throws Error on an unreadable or truncated file, a token of
/// `vocab` or more among these, or too few tokens for a window in either part.
/// Reading a sample throws Error on a token of `vocab` or more, or if its file
/// has been cut since. Each file keeps a descriptor open.
std::unique_ptr<Data> openData(const std::vector<std::string> &paths,
                               double heldOut, int32_t vocab, int64_t sequence,
                               const ReadAt &readAt = readFileAt);

/// Random tokens, for --verify and --profile.
std::unique_ptr<Data> generateData(int32_t vocab);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DATA_DATA_H
