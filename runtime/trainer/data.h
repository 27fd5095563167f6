//===- data.h - Tokens to train on ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_DATA_H
#define RONDO_RUNTIME_TRAINER_DATA_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Where samples come from. A sample is a window of sequence + 1 tokens: the
/// inputs, and the targets, which are the inputs shifted by one. The window
/// depends only on the seed, the iteration and the sample's number, never on
/// ranks.
class Data {
public:
  virtual ~Data();

  /// Writes `count` tokens of a training sample.
  virtual void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                              int64_t count, int32_t *tokens) const = 0;
  /// Writes `count` tokens of held-out sample `sample` of `samples`, which are
  /// spread evenly over the held-out part.
  virtual void heldOutSample(int64_t sample, int64_t samples, int64_t count,
                             int32_t *tokens) const = 0;
  /// Whether there is a held-out part.
  virtual bool hasHeldOut() const = 0;
  virtual uint64_t hash() const = 0;
  /// One line for the user.
  virtual std::string describe() const = 0;
};

/// The files that `paths` name, a folder standing for its files, sorted by
/// name. Throws Error on a folder without files.
std::vector<std::string> listDataFiles(const std::vector<std::string> &paths);

/// Concatenates files: text by bytes, or llm.c's tokens (magic 20240520 version
/// 1 with 16 bits, 20240801 version 7 with 32). Reads all of it once. Throws
/// Error on an unreadable or truncated file, a token of `vocab` or more, or too
/// few tokens for a window in either part. Reading a sample throws Error if its
/// file has changed since. Each file keeps a descriptor open.
std::unique_ptr<Data> openData(const std::vector<std::string> &paths,
                               double heldOut, int32_t vocab, int64_t sequence);

/// Random tokens, for --verify and --profile.
std::unique_ptr<Data> generateData(int32_t vocab);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_DATA_H
