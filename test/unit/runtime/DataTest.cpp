//===- DataTest.cpp - Tokens from files -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "runtime/base/error.h"
#include "runtime/data/data.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

template <typename Token>
std::string tokenFile(int32_t magic, int32_t version, int32_t count,
                      const std::vector<Token> &tokens) {
  int32_t header[256] = {magic, version, count};
  std::string bytes(reinterpret_cast<char *>(header), sizeof header);
  bytes.append(reinterpret_cast<const char *>(tokens.data()),
               tokens.size() * sizeof(Token));
  return bytes;
}

std::string errorOf(const std::string &path, double heldOut) {
  try {
    openData({path}, heldOut, 256, 8);
  } catch (const std::exception &error) {
    std::string text = error.what();
    size_t at = text.find(path);
    return at == std::string::npos ? text : text.replace(at, path.size(), "F");
  }
  return "no error";
}

std::string dataError(const std::string &bytes, double heldOut = 0) {
  TemporaryFile file;
  file.write(bytes);
  return errorOf(file.path, heldOut);
}

TEST(Tokens, BothBinaryFormats) {
  std::vector<uint16_t> narrow(40);
  std::vector<uint32_t> wide(40);
  for (int i = 0; i < 40; ++i)
    narrow[i] = wide[i] = static_cast<uint16_t>(5 * i);
  TemporaryFile a, b;
  a.write(tokenFile(20240520, 1, 40, narrow));
  b.write(tokenFile(20240801, 7, 40, wide));
  int32_t fromA[9], fromB[9];
  openData({a.path}, 0, 256, 8)->trainingSample(1, 2, 3, 9, fromA);
  openData({b.path}, 0, 256, 8)->trainingSample(1, 2, 3, 9, fromB);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(fromA[i], fromB[i]);
    EXPECT_EQ(fromA[i], fromA[0] + 5 * i);
  }
}

TEST(Tokens, SeveralFilesAreOneText) {
  TemporaryFile a, b;
  a.write("abcdefghij");
  b.write("klmnopqrst");
  std::unique_ptr<Data> data = openData({a.path, b.path}, 0.5, 256, 4);
  int32_t tokens[5];
  for (int sample = 0; sample < 50; ++sample) {
    data->trainingSample(1, 1, sample, 5, tokens);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(tokens[i], tokens[0] + i);
      EXPECT_LE(tokens[i], 'j');
    }
  }
  data->heldOutSample(0, 2, 5, tokens);
  EXPECT_EQ(tokens[0], 'k');
  data->heldOutSample(1, 2, 5, tokens);
  EXPECT_EQ(tokens[4], 't');
}

// Raw tokens, as other tools write them, are no text.
TEST(Tokens, BinaryFilesWithoutAHeaderAreErrors) {
  TemporaryFolder folder;
  const std::string path = folder.of("train.bin");
  std::ofstream(path) << std::string(100, 'a');
  EXPECT_EQ(errorOf(path, 0),
            "data 'F' has no header of llm.c, which begins with 20240520 or "
            "20240801: write one before the tokens, or rename the file if it "
            "is text");
}

TEST(Tokens, APipeWithoutAWriterIsAnError) {
  TemporaryFolder folder;
  const std::string path = folder.of("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(errorOf(path, 0), "data 'F' is empty or not a file");
}

// The file that was opened is read, whichever file takes its name.
TEST(Tokens, ReplacedFileIsNotRead) {
  TemporaryFile file, other;
  file.write(std::string(100, 'a'));
  std::unique_ptr<Data> data = openData({file.path}, 0, 256, 8);
  other.write(std::string(100, 'b'));
  ASSERT_EQ(std::rename(other.path.c_str(), file.path.c_str()), 0);
  int32_t tokens[9];
  data->trainingSample(1, 1, 0, 9, tokens);
  for (int32_t token : tokens)
    EXPECT_EQ(token, 'a');
}

// The result is neither a signal nor tokens that the embedding lacks.
TEST(Tokens, ChangesWhileTrainingAreErrors) {
  TemporaryFile file;
  auto errorAfter = [&](const std::string &bytes) {
    file.write(std::string(100, 'a'));
    std::unique_ptr<Data> data = openData({file.path}, 0, 200, 98);
    file.write(bytes);
    int32_t tokens[99];
    try {
      data->trainingSample(1, 1, 0, 99, tokens);
    } catch (const Error &error) {
      return std::string(error.what()).substr(7 + file.path.size());
    }
    return std::string("no error");
  };
  EXPECT_EQ(errorAfter(std::string(40, 'a')),
            " has been cut short to 40 tokens since it was opened with 100");
  EXPECT_EQ(errorAfter(std::string(50, 'a') + '\xff' + std::string(49, 'a')),
            ": token 255 at position 50 is outside the model's vocabulary of "
            "200");
  EXPECT_EQ(errorAfter(std::string(100, 'b')), "no error");
}

/// Writes a sparse file of `bytes` zeros.
void makeSparse(const TemporaryFile &file, int64_t bytes) {
  ASSERT_EQ(truncate(file.path.c_str(), bytes), 0);
}

// However large the corpus, a run reads little of it before it begins.
TEST(Tokens, OnlySamplesAreReadAtTheStart) {
  TemporaryFile file;
  makeSparse(file, int64_t(1) << 40);
  int64_t read = 0;
  std::unique_ptr<Data> data =
      openData({file.path}, 0.1, 256, 8,
               [&](int descriptor, void *out, int64_t bytes, int64_t offset) {
                 read += bytes;
                 return readFileAt(descriptor, out, bytes, offset);
               });
  EXPECT_LT(read, 2 << 20);
  EXPECT_NE(data->identity().hash, 0u);
  // The last token is read as well.
  int32_t tokens[9];
  data->heldOutSample(9, 10, 9, tokens);
  EXPECT_EQ(tokens[8], 0);
}

uint64_t hashOf(const std::vector<std::string> &paths) {
  return openData(paths, 0, 256, 8)->identity().hash;
}

TEST(Tokens, IdentityIsOfSizesAndSamples) {
  TemporaryFile a, b, c;
  const int64_t bytes = 10 << 20;
  for (const TemporaryFile *file : {&a, &b})
    makeSparse(*file, bytes);
  EXPECT_EQ(hashOf({a.path}), hashOf({b.path}));
  // The first token, the last one, and one in the middle of a block.
  for (int64_t at : {int64_t(0), bytes - 1, (bytes - (1 << 14)) / 63 + 5}) {
    std::fstream(b.path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(at)
        .put('x');
    EXPECT_NE(hashOf({a.path}), hashOf({b.path})) << at;
    makeSparse(b, 0);
    makeSparse(b, bytes);
  }
  makeSparse(b, bytes + 1);
  EXPECT_NE(hashOf({a.path}), hashOf({b.path}));
  // The same text in other files.
  a.write("abcdefghij");
  b.write("abcde");
  c.write("fghij");
  EXPECT_NE(hashOf({a.path}), hashOf({b.path, c.path}));
}

// A corpus that is no larger than the samples is compared as a whole.
TEST(Tokens, EveryTokenOfASmallCorpusCounts) {
  TemporaryFile file;
  const int64_t bytes = 100'000;
  makeSparse(file, bytes);
  const uint64_t before = hashOf({file.path});
  for (int64_t at = 0; at < bytes; at += 997) {
    std::fstream out(file.path,
                     std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(at).put('x').flush();
    EXPECT_NE(hashOf({file.path}), before) << at;
    out.seekp(at).put('\0').flush();
  }
  EXPECT_EQ(hashOf({file.path}), before);
}

TEST(Tokens, ModificationTimeIsThatOfTheNewestFile) {
  TemporaryFile a, b;
  a.write(std::string(50, 'a'));
  b.write(std::string(50, 'b'));
  const timespec old[2] = {{100, 5}, {100, 5}}, young[2] = {{200, 7}, {200, 7}};
  ASSERT_EQ(utimensat(AT_FDCWD, a.path.c_str(), young, 0), 0);
  ASSERT_EQ(utimensat(AT_FDCWD, b.path.c_str(), old, 0), 0);
  EXPECT_EQ(openData({a.path, b.path}, 0, 256, 8)->identity().modifiedNs,
            200'000'000'007);
}

TEST(Tokens, Faults) {
  EXPECT_EQ(dataError(""), "data 'F' is empty or not a file");
  EXPECT_EQ(dataError("short"),
            "the data has only 5 tokens, 5 of them for training; a sample "
            "needs 9: give more data or another --held-out");
  EXPECT_EQ(dataError(std::string(100, 'x'), 0.05),
            "the data has only 100 tokens, 5 of them for evaluation; a "
            "sample needs 9: give more data or another --held-out");
  EXPECT_EQ(dataError(tokenFile<uint16_t>(20240520, 1, 10, {1, 2, 3})),
            "data 'F' is truncated: its header promises 10 tokens, it has 3");
  EXPECT_EQ(
      dataError(tokenFile<uint16_t>(20240520, 2, 1, {1})),
      "data 'F' is a token file of version 2; only version 1 is supported");
  EXPECT_EQ(dataError(tokenFile<uint16_t>(20240520, 1, 3, {1, 300, 2})),
            "data 'F': token 300 at position 1 is outside the model's "
            "vocabulary of 256");
}

} // namespace
