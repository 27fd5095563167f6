//===- data.cpp - Tokens to train on --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/data/data.h"

#include "kinds/Counts.h"
#include "kinds/LfsPointer.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using rondo::countOf;
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

/// A file of tokens. It stays open, so that another file that takes its name
/// later is not read. It is not mapped, so that truncating it gives an error
/// instead of a signal.
class TokenFile {
public:
  TokenFile(const std::string &path, int32_t vocab, const ReadAt &readAt);
  ~TokenFile() { close(file); }
  TokenFile(const TokenFile &) = delete;
  TokenFile &operator=(const TokenFile &) = delete;

  int64_t size() const { return count; }
  bool isText() const { return begin == 0; }
  int64_t modifiedNs() const { return modified; }
  /// Reads tokens [first, first + number). Throws Error if one is not in the
  /// vocabulary, or can no longer be read.
  void read(int64_t first, int64_t number, int32_t *tokens) const;

private:
  void refuseTextOfPointer() const;
  void readHeader(int64_t bytes);
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("data '" + path + "'" + what);
  }

  const std::string path;
  const uint32_t vocab;
  const ReadAt readAt;
  int file;
  /// Offset of the tokens in the file, and the bytes of one.
  int64_t begin = 0, width = 1;
  int64_t count = 0, modified = 0;
};

class FileData : public Data {
public:
  FileData(const std::vector<std::string> &paths, double heldOut, int32_t vocab,
           int64_t sequence, const ReadAt &readAt);

  void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                      int64_t length, int32_t *tokens) const override {
    copy(pick(seed, iteration, sample, all.trained - length + 1), length,
         tokens);
  }
  void heldOutSample(int64_t sample, int64_t samples, int64_t length,
                     int32_t *tokens) const override {
    int64_t room = total - all.trained - length;
    copy(all.trained + (samples > 1 ? room * sample / (samples - 1) : 0),
         length, tokens);
  }
  bool hasHeldOut() const override { return all.trained < total; }
  DataIdentity identity() const override { return ownIdentity; }
  const Corpus *corpus() const override { return &all; }
  std::string describe() const override {
    return countOf(total, "token") + " in " + countOf(files.size(), "file") +
           ", " + std::to_string(total - all.trained) + " held out";
  }

private:
  void identify();
  void copy(int64_t begin, int64_t length, int32_t *out) const;

  std::vector<std::unique_ptr<TokenFile>> files;
  Corpus all;
  int64_t total = 0;
  DataIdentity ownIdentity;
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

int64_t rondo::runtime::readFileAt(int file, void *data, int64_t bytes,
                                   int64_t offset) {
  int64_t done = 0;
  while (done < bytes) {
    ssize_t count = pread(file, static_cast<char *>(data) + done,
                          static_cast<size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 ? count : done;
    done += count;
  }
  return done;
}

TokenFile::TokenFile(const std::string &path, int32_t vocab,
                     const ReadAt &readAt)
    : path(path), vocab(static_cast<uint32_t>(vocab)), readAt(readAt),
      // O_NONBLOCK: opening a pipe would wait for its writer.
      file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0) {
    int error = errno;
    if (file >= 0)
      close(file);
    throw Error("cannot read data '" + path + "': " + std::strerror(error));
  }
  try {
    if (status.st_size == 0 || !S_ISREG(status.st_mode))
      fail(" is empty or not a file");
    modified = std::max<int64_t>(0, status.st_mtim.tv_sec) * 1'000'000'000 +
               status.st_mtim.tv_nsec;
    refuseTextOfPointer();
    readHeader(status.st_size);
  } catch (...) {
    close(file);
    throw;
  }
}

/// A pointer of Git LFS would be trained on as text.
void TokenFile::refuseTextOfPointer() const {
  char text[rondo::lfsPointerBytes];
  const int64_t bytes = readAt(file, text, sizeof text, 0);
  const std::string why = rondo::whyLfsPointer(
      {text, static_cast<size_t>(std::max<int64_t>(bytes, 0))});
  if (!why.empty())
    fail(": " + why);
}

/// Reads the header of llm.c, if there is one: 256 int32, the first three of
/// which are the magic number, the version and the number of tokens.
void TokenFile::readHeader(int64_t bytes) {
  constexpr int64_t headerBytes = 256 * 4;
  constexpr int32_t magic16 = 20240520, magic32 = 20240801;
  count = bytes;
  int32_t header[3] = {};
  const int64_t found = readAt(file, header, sizeof header, 0);
  if (found < 0)
    fail(std::string(": ") + std::strerror(errno));
  if (found != sizeof header ||
      (header[0] != magic16 && header[0] != magic32)) {
    // Tokens without a header would be trained on as text.
    if (std::filesystem::path(path).extension() == ".bin")
      fail(" has no header of llm.c, which begins with " +
           std::to_string(magic16) + " or " + std::to_string(magic32) +
           ": write one before the tokens, or rename the file if it is text");
    return;
  }
  int32_t version = header[0] == magic16 ? 1 : 7;
  if (header[1] != version)
    fail(" is a token file of version " + std::to_string(header[1]) +
         "; only version " + std::to_string(version) + " is supported");
  width = header[0] == magic16 ? 2 : 4;
  begin = headerBytes;
  count = header[2];
  int64_t present = std::max<int64_t>(0, bytes - headerBytes) / width;
  if (count < 0 || present < count)
    fail(" is truncated: its header promises " + std::to_string(count) +
         " tokens, it has " + std::to_string(present));
}

void TokenFile::read(int64_t first, int64_t number, int32_t *tokens) const {
  std::vector<unsigned char> bytes(number * width);
  const int64_t wanted = number * width;
  const int64_t found =
      readAt(file, bytes.data(), wanted, begin + first * width);
  if (found < 0)
    fail(std::string(": ") + std::strerror(errno));
  if (found < wanted)
    fail(" has been cut short to " + std::to_string(first + found / width) +
         " tokens since it was opened with " + std::to_string(count));
  for (int64_t i = 0; i < number; ++i) {
    uint32_t token = bytes[i];
    if (width > 1) {
      token = 0;
      std::memcpy(&token, bytes.data() + i * width, static_cast<size_t>(width));
    }
    if (token >= vocab)
      fail(": token " + std::to_string(token) + " at position " +
           std::to_string(first + i) +
           " is outside the model's vocabulary of " + std::to_string(vocab));
    tokens[i] = static_cast<int32_t>(token);
  }
}

/// Appends `path`, or its files if it is a folder.
static void listFiles(const std::string &path,
                      std::vector<std::string> &files) {
  std::error_code error;
  std::filesystem::directory_iterator folder(path, error);
  if (error)
    return files.push_back(path);
  const size_t before = files.size();
  for (const std::filesystem::directory_entry &entry : folder)
    if (entry.is_regular_file(error))
      files.push_back(path + "/" + entry.path().filename().string());
  if (files.size() == before)
    throw Error("data folder '" + path + "' has no files");
  std::sort(files.begin() + before, files.end());
}

std::vector<std::string>
rondo::runtime::listDataFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths)
    listFiles(path, files);
  return files;
}

FileData::FileData(const std::vector<std::string> &paths, double heldOut,
                   int32_t vocab, int64_t sequence, const ReadAt &readAt) {
  for (const std::string &name : listDataFiles(paths)) {
    files.push_back(std::make_unique<TokenFile>(name, vocab, readAt));
    all.areTexts.push_back(files.back()->isText());
    all.begins.push_back(total);
    total += files.back()->size();
  }
  all.begins.push_back(total);
  identify();
  int64_t window = sequence + 1;
  all.trained =
      total - static_cast<int64_t>(static_cast<double>(total) * heldOut);
  all.read = [this](int64_t begin, int64_t length, int32_t *out) {
    copy(begin, length, out);
  };
  auto require = [&](int64_t tokens, const char *part) {
    if (tokens < window)
      throw Error("the data has only " + std::to_string(total) + " tokens, " +
                  std::to_string(tokens) + " of them for " + part +
                  "; a sample needs " + std::to_string(window) +
                  ": give more data or another --held-out");
  };
  require(all.trained, "training");
  if (heldOut > 0)
    require(total - all.trained, "evaluation");
}

/// A corpus may take longer to read than processes wait for each other.
void FileData::identify() {
  for (const std::unique_ptr<TokenFile> &file : files) {
    ownIdentity.hash =
        mix(ownIdentity.hash + static_cast<uint64_t>(file->size()) + 1);
    ownIdentity.modifiedNs =
        std::max(ownIdentity.modifiedNs, file->modifiedNs());
  }
  if (total == 0)
    return;
  // Up to a million tokens, the blocks cover all.
  constexpr int64_t maxBlocks = 64, blockTokens = 1 << 14;
  const int64_t length = std::min(blockTokens, total),
                blocks = std::min(maxBlocks, (total + length - 1) / length);
  std::vector<int32_t> tokens(length);
  for (int64_t i = 0; i < blocks; ++i) {
    __extension__ using Wide = __int128;
    const auto begin = static_cast<int64_t>(Wide(total - length) * i /
                                            std::max<int64_t>(1, blocks - 1));
    copy(begin, length, tokens.data());
    // FNV-1a over tokens.
    for (int32_t token : tokens)
      ownIdentity.hash =
          (ownIdentity.hash ^ static_cast<uint32_t>(token)) * 0x100000001b3;
  }
}

void FileData::copy(int64_t begin, int64_t length, int32_t *out) const {
  size_t f = std::upper_bound(all.begins.begin(), all.begins.end(), begin) -
             all.begins.begin() - 1;
  for (int64_t done = 0; done < length; ++f) {
    const int64_t first = begin + done - all.begins[f];
    const int64_t number = std::min(length - done, files[f]->size() - first);
    files[f]->read(first, number, out + done);
    done += number;
  }
}

std::unique_ptr<Data>
rondo::runtime::openData(const std::vector<std::string> &paths, double heldOut,
                         int32_t vocab, int64_t sequence,
                         const ReadAt &readAt) {
  return std::make_unique<FileData>(paths, heldOut, vocab, sequence, readAt);
}

std::unique_ptr<Data> rondo::runtime::generateData(int32_t vocab) {
  return std::make_unique<GeneratedData>(vocab);
}
