//===- data.cpp - Tokens to train on --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/data/data.h"

#include "runtime/base/random.h"
#include "runtime/data/token_files.h"

using namespace rondo::runtime;

DataSource::~DataSource() = default;

int64_t rondo::runtime::pick(uint64_t seed, int64_t iteration, int64_t sample,
                             int64_t end) {
  uint64_t random = mix(mix(mix(seed) + static_cast<uint64_t>(iteration)) +
                        static_cast<uint64_t>(sample));
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>((Wide(random) * static_cast<uint64_t>(end)) >>
                              64);
}

namespace {

class FileData : public Data {
public:
  FileData(const std::vector<std::string> &paths, double heldOut, int32_t vocab,
           int64_t sequence, const ReadAt &readAt)
      : files(paths, heldOut, vocab, readAt) {
    files.require(sequence + 1, "a sample");
  }

  void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                      int64_t length, int32_t *tokens) const override {
    files.read(pick(seed, iteration, sample, files.trained() - length + 1),
               length, tokens);
  }
  void heldOutSample(int64_t sample, int64_t samples, int64_t length,
                     int32_t *tokens) const override {
    int64_t room = files.size() - files.trained() - length;
    files.read(files.trained() +
                   (samples > 1 ? room * sample / (samples - 1) : 0),
               length, tokens);
  }
  bool hasHeldOut() const override { return files.trained() < files.size(); }
  DataIdentity identity() const override { return files.identity(); }
  std::string describe() const override { return files.describe(); }

private:
  const TokenFiles files;
};

class GeneratedData : public Data {
public:
  explicit GeneratedData(int32_t vocab) : vocab(vocab) {}
  void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                      int64_t length, int32_t *tokens) const override {
    for (int64_t i = 0; i < length; ++i)
      tokens[i] = static_cast<int32_t>(
          pick(mix(seed) + static_cast<uint64_t>(i), iteration, sample, vocab));
  }
  void heldOutSample(int64_t sample, int64_t, int64_t length,
                     int32_t *tokens) const override {
    trainingSample(0, -1, sample, length, tokens);
  }
  bool hasHeldOut() const override { return false; }
  DataIdentity identity() const override { return {}; }
  std::string describe() const override { return "generated tokens"; }

private:
  const int32_t vocab;
};

} // namespace

std::unique_ptr<Data>
rondo::runtime::openData(const std::vector<std::string> &paths, double heldOut,
                         int32_t vocab, int64_t sequence,
                         const ReadAt &readAt) {
  return std::make_unique<FileData>(paths, heldOut, vocab, sequence, readAt);
}

std::unique_ptr<Data> rondo::runtime::generateData(int32_t vocab) {
  return std::make_unique<GeneratedData>(vocab);
}
