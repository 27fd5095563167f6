//===- data.cpp - Tokens to train on --------------------------------------===//

#include "runtime/trainer/data.h"

#include "runtime/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

Data::~Data() = default;

/// splitmix64 (Steele, Lea and Flood 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Evenly spread over [0, end).
static int64_t pick(uint64_t seed, int64_t iteration, int64_t sample,
                    int64_t end) {
  uint64_t random = mix(mix(mix(seed) + static_cast<uint64_t>(iteration)) +
                        static_cast<uint64_t>(sample));
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>((Wide(random) * static_cast<uint64_t>(end)) >>
                              64);
}

namespace {

/// A file of tokens, mapped into memory.
class TokenFile {
public:
  explicit TokenFile(const std::string &path);
  ~TokenFile() {
    if (map)
      munmap(map, bytes);
  }
  TokenFile(const TokenFile &) = delete;
  TokenFile &operator=(const TokenFile &) = delete;

  int64_t size() const { return count; }
  uint32_t operator[](int64_t i) const {
    if (width == 1)
      return static_cast<uint8_t>(tokens[i]);
    uint32_t token = 0;
    std::memcpy(&token, tokens + i * width, width);
    return token;
  }

private:
  void readHeader(const std::string &path);

  void *map = nullptr;
  size_t bytes = 0;
  const char *tokens = nullptr;
  size_t width = 1;
  int64_t count = 0;
};

class FileData : public Data {
public:
  FileData(const std::vector<std::string> &paths, double heldOut, int32_t vocab,
           int64_t sequence);

  void trainingSample(uint64_t seed, int64_t iteration, int64_t sample,
                      int64_t length, int32_t *tokens) const override {
    copy(pick(seed, iteration, sample, trained - length + 1), length, tokens);
  }
  void heldOutSample(int64_t sample, int64_t samples, int64_t length,
                     int32_t *tokens) const override {
    int64_t room = total - trained - length;
    copy(trained + (samples > 1 ? room * sample / (samples - 1) : 0), length,
         tokens);
  }
  bool hasHeldOut() const override { return trained < total; }
  uint64_t hash() const override { return contentHash; }
  std::string describe() const override {
    return std::to_string(total) + " tokens in " +
           std::to_string(files.size()) +
           (files.size() == 1 ? " file, " : " files, ") +
           std::to_string(total - trained) + " held out";
  }

private:
  void copy(int64_t begin, int64_t length, int32_t *out) const;

  std::vector<std::unique_ptr<TokenFile>> files;
  /// Where each file begins, and the end.
  std::vector<int64_t> begins;
  int64_t total = 0, trained = 0;
  uint64_t contentHash = 0;
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
  uint64_t hash() const override { return 0; }
  std::string describe() const override { return "generated tokens"; }

private:
  const int32_t vocab;
};

} // namespace

TokenFile::TokenFile(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0) {
    int error = errno;
    if (file >= 0)
      close(file);
    throw Error("cannot read data '" + path + "': " + std::strerror(error));
  }
  bytes = static_cast<size_t>(status.st_size);
  if (bytes == 0 || !S_ISREG(status.st_mode)) {
    close(file);
    throw Error("data '" + path + "' is empty or no file");
  }
  map = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (map == MAP_FAILED) {
    map = nullptr;
    throw Error("cannot map data '" + path + "': " + std::strerror(errno));
  }
  tokens = static_cast<const char *>(map);
  count = static_cast<int64_t>(bytes);
  try {
    readHeader(path);
  } catch (...) {
    munmap(map, bytes);
    throw;
  }
}

/// Looks for the header of llm.c: 256 int32, of which three are magic, version
/// and number of tokens.
void TokenFile::readHeader(const std::string &path) {
  constexpr size_t headerBytes = 256 * 4;
  int32_t header[3] = {};
  if (bytes < sizeof header)
    return;
  std::memcpy(header, tokens, sizeof header);
  constexpr int32_t magic16 = 20240520, magic32 = 20240801;
  if (header[0] != magic16 && header[0] != magic32)
    return;
  int32_t version = header[0] == magic16 ? 1 : 7;
  if (header[1] != version)
    throw Error("data '" + path + "' is a token file of version " +
                std::to_string(header[1]) + ", version " +
                std::to_string(version) + " is known");
  width = header[0] == magic16 ? 2 : 4;
  count = header[2];
  size_t present = bytes > headerBytes ? (bytes - headerBytes) / width : 0;
  if (count < 0 || present < static_cast<size_t>(count))
    throw Error("data '" + path + "' is truncated: its header promises " +
                std::to_string(count) + " tokens, it has " +
                std::to_string(present));
  tokens += headerBytes;
}

/// Appends `path`, or the files in it where it is a folder.
static void listFiles(const std::string &path,
                      std::vector<std::string> &files) {
  DIR *folder = opendir(path.c_str());
  if (!folder) {
    files.push_back(path);
    return;
  }
  std::vector<std::string> found;
  while (const dirent *entry = readdir(folder)) {
    std::string file = path + "/" + entry->d_name;
    struct stat status{};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      found.push_back(file);
  }
  closedir(folder);
  if (found.empty())
    throw Error("data folder '" + path + "' has no files");
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

FileData::FileData(const std::vector<std::string> &paths, double heldOut,
                   int32_t vocab, int64_t sequence) {
  std::vector<std::string> names;
  for (const std::string &path : paths)
    listFiles(path, names);
  for (const std::string &name : names) {
    files.push_back(std::make_unique<TokenFile>(name));
    const TokenFile &file = *files.back();
    for (int64_t i = 0; i < file.size(); ++i) {
      uint32_t token = file[i];
      if (token >= static_cast<uint32_t>(vocab))
        throw Error("data '" + name + "': token " + std::to_string(token) +
                    " at position " + std::to_string(i) +
                    " is outside the model's vocabulary of " +
                    std::to_string(vocab));
      // FNV-1a over tokens.
      contentHash = (contentHash ^ token) * 0x100000001b3;
    }
    contentHash = mix(contentHash + 1);
    begins.push_back(total);
    total += file.size();
  }
  begins.push_back(total);
  int64_t window = sequence + 1;
  trained = total - static_cast<int64_t>(static_cast<double>(total) * heldOut);
  auto require = [&](int64_t tokens, const char *part) {
    if (tokens < window)
      throw Error("the data have " + std::to_string(total) + " tokens, " +
                  std::to_string(tokens) + " of them in the " + part +
                  " part; a sample needs " + std::to_string(window) +
                  ": give more data or another --held-out");
  };
  require(trained, "training");
  if (heldOut > 0)
    require(total - trained, "held-out");
}

void FileData::copy(int64_t begin, int64_t length, int32_t *out) const {
  size_t f = std::upper_bound(begins.begin(), begins.end(), begin) -
             begins.begin() - 1;
  for (int64_t i = 0; i < length; ++i) {
    while (begin + i >= begins[f + 1])
      ++f;
    out[i] = static_cast<int32_t>((*files[f])[begin + i - begins[f]]);
  }
}

std::unique_ptr<Data>
rondo::runtime::openData(const std::vector<std::string> &paths, double heldOut,
                         int32_t vocab, int64_t sequence) {
  return std::make_unique<FileData>(paths, heldOut, vocab, sequence);
}

std::unique_ptr<Data> rondo::runtime::generateData(int32_t vocab) {
  return std::make_unique<GeneratedData>(vocab);
}
