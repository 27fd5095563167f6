//===- DocumentsTest.cpp - Documents from files, and their batches --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "kinds/RowSize.h"
#include "runtime/data/documents.h"
#include "test/unit/ErrorThrownBy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

using rondo::rowSize;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// llm.c's file of 16-bit tokens.
std::string tokenFile(const std::vector<uint16_t> &tokens) {
  const int32_t header[256] = {20240520, 1,
                               static_cast<int32_t>(tokens.size())};
  std::string bytes(reinterpret_cast<const char *>(header), sizeof header);
  bytes.append(reinterpret_cast<const char *>(tokens.data()),
               2 * tokens.size());
  return bytes;
}

/// The lengths of the documents of a row, and what fill() writes for it.
struct Row {
  std::vector<int32_t> lengths, inputs, targets;
};
Row rowOf(const Documents &documents, const PackedBatch &batch, int32_t i) {
  Row row;
  for (const PackedDocument &document : batch.rows[i])
    row.lengths.push_back(document.tokens);
  row.inputs.resize(rowSize(row.lengths).tokens);
  row.targets.resize(row.inputs.size());
  documents.fill(batch.rows[i], row.inputs.data(), row.targets.data());
  return row;
}

PackedBatch pack(const std::vector<int32_t> &lengths,
                 const PackingLimits &limits) {
  std::vector<PackedDocument> drawn;
  for (size_t i = 0; i < lengths.size(); ++i)
    drawn.push_back({static_cast<int64_t>(i), lengths[i]});
  return packDocuments(drawn, limits);
}

std::vector<std::vector<int64_t>> positions(const PackedBatch &batch) {
  std::vector<std::vector<int64_t>> rows;
  for (const std::vector<PackedDocument> &row : batch.rows) {
    rows.emplace_back();
    for (const PackedDocument &document : row)
      rows.back().push_back(document.position);
  }
  return rows;
}

using Rows = std::vector<std::vector<int64_t>>;

TEST(Packing, TheLongestGoesToTheShortestRow) {
  const PackedBatch batch = pack({3, 9, 4, 4, 5}, {2, 100, 100, 0});
  EXPECT_EQ(positions(batch), (Rows{{1, 3}, {4, 2, 0}}));
}

TEST(Packing, TheLastDrawnAreLeftOutUntilRowsFit) {
  EXPECT_EQ(positions(pack({4, 4, 2, 5}, {2, 6, 6, 0})), (Rows{{0, 2}, {1}}));
  EXPECT_EQ(positions(pack({4, 4, 2, 3}, {2, 7, 7, 0})),
            (Rows{{0, 3}, {1, 2}}));
  // A batch keeps one document for each row, since each fits a row of its own.
  EXPECT_EQ(positions(pack({6, 6, 1}, {2, 6, 6, 0})), (Rows{{0}, {1}}));
}

TEST(Packing, SizesOfRowsAreSumsOfLengths) {
  constexpr rondo::RowSize size = rowSize(std::array<int32_t, 2>{9, 4});
  EXPECT_EQ(size.tokens, 13);
  EXPECT_EQ(size.pairs, 81 + 16);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(rowSize(std::array<int64_t, 2>{most, 1}).tokens, most);
  EXPECT_EQ(rowSize(std::array<int64_t, 2>{most, 1}).pairs, most);
}

TEST(Packing, BatchesRepeatAndKeepTheLimits) {
  const std::unique_ptr<Documents> documents = generateDocuments(50);
  const PackingLimits limits = {4, 64, 40, 0};
  std::set<std::vector<int32_t>> different;
  for (int64_t iteration = 0; iteration < 50; ++iteration) {
    const PackedBatch batch = documents->packBatch(7, iteration, limits);
    EXPECT_EQ(batch.rows, documents->packBatch(7, iteration, limits).rows);
    EXPECT_NE(batch.rows, documents->packBatch(8, iteration, limits).rows);
    ASSERT_EQ(batch.rows.size(), 4u);
    int64_t all = 0;
    for (int32_t i = 0; i < 4; ++i) {
      const Row row = rowOf(*documents, batch, i);
      EXPECT_TRUE(!row.inputs.empty() && row.inputs.size() <= 64);
      all += static_cast<int64_t>(row.inputs.size());
      for (int32_t length : row.lengths)
        EXPECT_TRUE(length >= 1 && length <= 40) << length;
      for (int32_t token : row.targets)
        EXPECT_TRUE(token >= 0 && token < 50) << token;
      different.insert(row.inputs);
    }
    // One more document does not fit.
    EXPECT_GE(all, 4 * 64 - 3 * 40);
  }
  EXPECT_EQ(different.size(), 200u);
}

TEST(Packing, ANumberOfDocumentsMayBeStated) {
  const std::unique_ptr<Documents> documents = generateDocuments(50);
  const PackedBatch batch = documents->packBatch(7, 3, {4, 400, 40, 9});
  size_t count = 0;
  for (const auto &row : batch.rows)
    count += row.size();
  EXPECT_EQ(count, 9u);
  EXPECT_EQ(
      errorThrownBy([&] { (void)documents->packBatch(7, 3, {4, 400, 40, 3}); }),
      "no batch of 3 documents of at most 40 tokens has a document in "
      "each of 4 micro-batches");
}

// A file of text is a document; its last byte is only a target.
TEST(Documents, FilesOfText) {
  TemporaryFile a, b;
  a.write("abcdefghij");
  b.write("XYZ");
  const std::unique_ptr<Documents> documents =
      openDocuments({a.path, b.path}, 0, 256);
  std::set<std::string> found;
  for (int64_t iteration = 0; iteration < 200; ++iteration) {
    const PackedBatch batch = documents->packBatch(1, iteration, {1, 6, 4, 1});
    const Row row = rowOf(*documents, batch, 0);
    std::string text(row.inputs.begin(), row.inputs.end());
    found.insert(text + "|" + static_cast<char>(row.targets.back()));
    for (size_t i = 0; i + 1 < row.inputs.size(); ++i)
      EXPECT_EQ(row.targets[i], row.inputs[i + 1]);
  }
  // From the begin if that is less than 4 before, otherwise from the place that
  // was drawn.
  EXPECT_EQ(found, (std::set<std::string>{"abcd|e", "efgh|i", "fghi|j", "ghi|j",
                                          "hi|j", "i|j", "XY|Z"}));
}

// Each document begins at an end token, whose target is what follows; the next
// end token is the last target.
TEST(Documents, TokenFilesHaveEndTokens) {
  TemporaryFile file;
  file.write(tokenFile({99, 1, 2, 3, 99, 4, 99, 99, 5, 6}));
  const std::unique_ptr<Documents> documents =
      openDocuments({file.path}, 0, 100, 99);
  std::set<std::vector<int32_t>> found;
  for (int64_t iteration = 0; iteration < 200; ++iteration) {
    const PackedBatch batch =
        documents->packBatch(1, iteration, {1, 100, 100, 1});
    Row row = rowOf(*documents, batch, 0);
    row.inputs.push_back(row.targets.back());
    found.insert(row.inputs);
  }
  EXPECT_EQ(found, (std::set<std::vector<int32_t>>{
                       {99, 1, 2, 3, 99}, {99, 4, 99}, {99, 99}, {99, 5, 6}}));
}

TEST(Documents, PartsDoNotShareTokens) {
  TemporaryFile file;
  file.write(std::string(60, 'a') + std::string(40, 'b'));
  const std::unique_ptr<Documents> documents =
      openDocuments({file.path}, 0.4, 256);
  EXPECT_TRUE(documents->hasHeldOut());
  const PackingLimits limits = {2, 20, 9, 0};
  for (int64_t i = 0; i < 100; ++i)
    for (int32_t row = 0; row < 2; ++row) {
      for (int32_t token :
           rowOf(*documents, documents->packBatch(1, i, limits), row).targets)
        EXPECT_EQ(token, 'a');
      for (int32_t token :
           rowOf(*documents, documents->packHeldOut(i, limits), row).inputs)
        EXPECT_EQ(token, 'b');
    }
  EXPECT_NE(documents->packHeldOut(0, limits).rows,
            documents->packHeldOut(1, limits).rows);
}

std::string errorOf(const std::vector<std::string> &paths, double heldOut,
                    int32_t vocab, int32_t endToken = defaultEndToken) {
  return errorThrownBy(
      [&] { (void)openDocuments(paths, heldOut, vocab, endToken); });
}

TEST(Documents, Faults) {
  TemporaryFile tokens, letter, other;
  tokens.write(tokenFile({1, 2, 3}));
  letter.write("a");
  other.write("b");
  EXPECT_EQ(errorOf({tokens.path}, 0, 100),
            "documents of token files end with token 50256, which is outside "
            "the model's vocabulary of 100: give another --end-token");
  EXPECT_EQ(errorOf({tokens.path}, 0, 100, 0), "");
  EXPECT_EQ(errorOf({"images.safetensors"}, 0, 256),
            "data 'images.safetensors' has samples of streams, no documents: "
            "give text or llm.c tokens (.bin)");
  EXPECT_EQ(errorOf({letter.path}, 0, 256),
            "the data has only 1 tokens, 1 of them for training; a sample "
            "needs 2: give more data or another --held-out");
  EXPECT_EQ(errorOf({letter.path, other.path}, 0, 256),
            "no file of the data has two tokens for training, a token and the "
            "one to predict: give more data or another --held-out");
}

TEST(Documents, TheEndTokenIsPartOfTheIdentity) {
  TemporaryFile file;
  file.write(tokenFile({1, 2, 3}));
  EXPECT_NE(openDocuments({file.path}, 0, 100, 1)->identity().hash,
            openDocuments({file.path}, 0, 100, 2)->identity().hash);
}

} // namespace
