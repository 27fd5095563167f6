//===- documents.cpp - Documents to train on ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/data/documents.h"

#include "kinds/Packing.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

#include <algorithm>

using rondo::Packing;
using rondo::packLongestFirst;
using namespace rondo::runtime;

PackedBatch
rondo::runtime::packDocuments(const std::vector<PackedDocument> &drawn,
                              const PackingLimits &limits) {
  std::vector<int64_t> lengths;
  for (const PackedDocument &document : drawn)
    lengths.push_back(document.tokens);
  const Packing packing =
      packLongestFirst(lengths, limits.microbatches, limits.rowTokens);
  PackedBatch batch;
  for (const std::vector<int64_t> &row : packing.rows) {
    batch.rows.emplace_back();
    for (int64_t document : row)
      batch.rows.back().push_back(drawn[document]);
  }
  return batch;
}

PackedBatch Documents::pack(uint64_t seed, int64_t iteration,
                            const PackingLimits &limits, bool isHeldOut) const {
  const int64_t most = std::min(limits.documentTokens, limits.rowTokens);
  const int64_t least = limits.microbatches;
  if (most < 1 || least < 1 ||
      (limits.documents != 0 && limits.documents < least))
    throw Error("no batch of " + std::to_string(limits.documents) +
                " documents of at most " + std::to_string(most) +
                " tokens has a document in each of " + std::to_string(least) +
                " micro-batches");
  std::vector<PackedDocument> drawn;
  const int64_t capacity = least * limits.rowTokens;
  int64_t tokens = 0;
  auto isComplete = [&] {
    const auto count = static_cast<int64_t>(drawn.size());
    return limits.documents ? count == limits.documents : tokens > capacity;
  };
  while (!isComplete()) {
    drawn.push_back(draw(seed, iteration, static_cast<int64_t>(drawn.size()),
                         most, isHeldOut));
    tokens += drawn.back().tokens;
  }
  return packDocuments(drawn, limits);
}

PackedBatch Documents::packBatch(uint64_t seed, int64_t iteration,
                                 const PackingLimits &limits) const {
  return pack(seed, iteration, limits, /*isHeldOut=*/false);
}

PackedBatch Documents::packHeldOut(int64_t batch,
                                   const PackingLimits &limits) const {
  return pack(/*seed=*/0, -1 - batch, limits, hasHeldOut());
}

void Documents::fill(const std::vector<PackedDocument> &row, int32_t *inputs,
                     int32_t *targets) const {
  std::vector<int32_t> window;
  for (const PackedDocument &document : row) {
    window.resize(document.tokens + 1);
    read(document.position, document.tokens + 1, window.data());
    if (inputs)
      inputs = std::copy(window.begin(), window.end() - 1, inputs);
    if (targets)
      targets = std::copy(window.begin() + 1, window.end(), targets);
  }
}

namespace {

class FileDocuments : public Documents {
public:
  FileDocuments(std::unique_ptr<Data> opened, int32_t vocab, int32_t endToken);

  bool hasHeldOut() const override { return data->hasHeldOut(); }
  DataIdentity identity() const override;
  std::string describe() const override { return data->describe(); }

protected:
  PackedDocument draw(uint64_t seed, int64_t iteration, int64_t draw,
                      int64_t most, bool isHeldOut) const override;
  void read(int64_t position, int64_t count, int32_t *tokens) const override {
    corpus.read(position, count, tokens);
  }

private:
  /// The tokens of a file in one of the parts.
  struct Part {
    int64_t begin, end;
    bool isText;
  };
  Part partOf(size_t file, bool isHeldOut) const;
  PackedDocument documentAt(int64_t position, const Part &part,
                            int64_t most) const;

  const std::unique_ptr<Data> data;
  const Corpus &corpus;
  const int32_t endToken;
};

/// Random lengths, of tokens that depend on the position.
class GeneratedDocuments : public Documents {
public:
  explicit GeneratedDocuments(int32_t vocab) : vocab(vocab) {}

  bool hasHeldOut() const override { return false; }
  DataIdentity identity() const override { return {}; }
  std::string describe() const override { return "generated documents"; }

protected:
  PackedDocument draw(uint64_t seed, int64_t iteration, int64_t draw,
                      int64_t most, bool) const override {
    return {
        pick(seed, iteration, 2 * draw, INT64_MAX),
        static_cast<int32_t>(1 + pick(seed, iteration, 2 * draw + 1, most))};
  }
  void read(int64_t position, int64_t count, int32_t *tokens) const override {
    for (int64_t i = 0; i < count; ++i)
      tokens[i] = static_cast<int32_t>(
          pick(static_cast<uint64_t>(position), 0, i, vocab));
  }

private:
  const int32_t vocab;
};

} // namespace

FileDocuments::FileDocuments(std::unique_ptr<Data> opened, int32_t vocab,
                             int32_t endToken)
    : data(std::move(opened)), corpus(*data->corpus()), endToken(endToken) {
  const size_t count = corpus.areTexts.size();
  for (size_t f = 0; f < count; ++f)
    if (!corpus.areTexts[f] && (endToken < 0 || endToken >= vocab))
      throw Error("documents of token files end with token " +
                  std::to_string(endToken) +
                  ", which is outside the model's vocabulary of " +
                  std::to_string(vocab) + ": give another --end-token");
  // Each part has a document: a token and its target in one file.
  for (const bool isHeldOut : {false, true}) {
    bool hasDocument = isHeldOut && !hasHeldOut();
    for (size_t f = 0; f < count && !hasDocument; ++f)
      hasDocument = partOf(f, isHeldOut).end - partOf(f, isHeldOut).begin >= 2;
    if (!hasDocument)
      throw Error("no file of the data has two tokens for " +
                  std::string(isHeldOut ? "evaluation" : "training") +
                  ", a token and the one to predict: give more data or another "
                  "--held-out");
  }
}

/// Other documents for another end token.
DataIdentity FileDocuments::identity() const {
  DataIdentity identity = data->identity();
  identity.hash = mix(identity.hash + static_cast<uint64_t>(endToken) + 1);
  return identity;
}

FileDocuments::Part FileDocuments::partOf(size_t file, bool isHeldOut) const {
  const int64_t begin = corpus.begins[file], end = corpus.begins[file + 1];
  const bool isText = corpus.areTexts[file];
  if (isHeldOut)
    return {std::max(begin, corpus.trained), end, isText};
  return {begin, std::min(end, corpus.trained), isText};
}

/// The document around a position, which is not the part's last: from its begin
/// if that is less than `most` tokens before, otherwise from the position.
PackedDocument FileDocuments::documentAt(int64_t position, const Part &part,
                                         int64_t most) const {
  int64_t begin = position - part.begin < most ? part.begin : position;
  int64_t end = part.end - 1;
  if (!part.isText) {
    std::vector<int32_t> window(std::min(most, position - part.begin + 1));
    const int64_t first = position + 1 - static_cast<int64_t>(window.size());
    corpus.read(first, static_cast<int64_t>(window.size()), window.data());
    const auto last = std::find(window.rbegin(), window.rend(), endToken);
    if (last != window.rend())
      begin = first + (window.rend() - last) - 1;
    window.resize(std::min(most, end - begin));
    corpus.read(begin + 1, static_cast<int64_t>(window.size()), window.data());
    const auto next = std::find(window.begin(), window.end(), endToken);
    if (next != window.end())
      end = begin + 1 + (next - window.begin());
  }
  return {begin, static_cast<int32_t>(std::min(most, end - begin))};
}

PackedDocument FileDocuments::draw(uint64_t seed, int64_t iteration,
                                   int64_t draw, int64_t most,
                                   bool isHeldOut) const {
  const std::vector<int64_t> &begins = corpus.begins;
  const int64_t first = isHeldOut ? corpus.trained : 0;
  const int64_t end = isHeldOut ? begins.back() : corpus.trained;
  // Another try if the file has no other token to predict.
  for (uint64_t attempt = 0;; ++attempt) {
    const int64_t position =
        first + pick(seed + (attempt << 32), iteration, draw, end - first);
    const size_t file =
        std::upper_bound(begins.begin(), begins.end(), position) -
        begins.begin() - 1;
    const Part part = partOf(file, isHeldOut);
    if (part.end - part.begin >= 2)
      return documentAt(std::min(position, part.end - 2), part, most);
  }
}

std::unique_ptr<Documents>
rondo::runtime::openDocuments(const std::vector<std::string> &paths,
                              double heldOut, int32_t vocab, int32_t endToken,
                              const ReadAt &readAt) {
  const std::string ending = ".safetensors";
  for (const std::string &path : listDataFiles(paths))
    if (path.size() > ending.size() &&
        path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
      throw Error("data '" + path +
                  "' has samples of streams, no documents: "
                  "give text or llm.c tokens (.bin)");
  return std::make_unique<FileDocuments>(
      openData(paths, heldOut, vocab, /*sequence=*/1, readAt), vocab, endToken);
}

std::unique_ptr<Documents> rondo::runtime::generateDocuments(int32_t vocab) {
  return std::make_unique<GeneratedDocuments>(vocab);
}
