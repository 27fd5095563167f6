//===- token_files.cpp - Files of tokens ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/data/token_files.h"

#include "kinds/Counts.h"
#include "kinds/LfsPointer.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using rondo::countOf;
using namespace rondo::runtime;

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
      file(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
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

TokenFile::~TokenFile() { close(file); }

void TokenFile::fail(const std::string &what) const {
  throw Error("data '" + path + "'" + what);
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
  if (readAt(file, header, sizeof header, 0) != sizeof header ||
      (header[0] != magic16 && header[0] != magic32))
    return;
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

std::vector<std::string>
rondo::runtime::listDataFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths)
    listFiles(path, files);
  return files;
}

TokenFiles::TokenFiles(const std::vector<std::string> &paths, double heldOut,
                       int32_t vocab, const ReadAt &readAt) {
  int64_t total = 0;
  for (const std::string &name : listDataFiles(paths)) {
    files.push_back(std::make_unique<TokenFile>(name, vocab, readAt));
    begins.push_back(total);
    total += files.back()->size();
  }
  begins.push_back(total);
  hasHeldOut = heldOut > 0;
  trainedTokens =
      total - static_cast<int64_t>(static_cast<double>(total) * heldOut);
  identify();
}

void TokenFiles::require(int64_t least, const char *what) const {
  auto require = [&](int64_t tokens, const char *part) {
    if (tokens < least)
      throw Error("the data has only " + std::to_string(size()) + " tokens, " +
                  std::to_string(tokens) + " of them for " + part + "; " +
                  what + " needs " + std::to_string(least) +
                  ": give more data or another --held-out");
  };
  require(trained(), "training");
  if (hasHeldOut)
    require(size() - trained(), "evaluation");
}

std::string TokenFiles::describe() const {
  return countOf(size(), "token") + " in " + countOf(numFiles(), "file") +
         ", " + std::to_string(size() - trained()) + " held out";
}

/// A corpus may take longer to read than processes wait for each other.
void TokenFiles::identify() {
  for (const std::unique_ptr<TokenFile> &file : files) {
    ownIdentity.hash =
        mix(ownIdentity.hash + static_cast<uint64_t>(file->size()) + 1);
    ownIdentity.modifiedNs =
        std::max(ownIdentity.modifiedNs, file->modifiedNs());
  }
  const int64_t total = size();
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
    read(begin, length, tokens.data());
    // FNV-1a over tokens.
    for (int32_t token : tokens)
      ownIdentity.hash =
          (ownIdentity.hash ^ static_cast<uint32_t>(token)) * 0x100000001b3;
  }
}

int64_t TokenFiles::fileAt(int64_t position) const {
  return std::upper_bound(begins.begin(), begins.end(), position) -
         begins.begin() - 1;
}

void TokenFiles::read(int64_t begin, int64_t length, int32_t *out) const {
  int64_t f = fileAt(begin);
  for (int64_t done = 0; done < length; ++f) {
    const int64_t first = begin + done - begins[f];
    const int64_t number = std::min(length - done, files[f]->size() - first);
    files[f]->read(first, number, out + done);
    done += number;
  }
}
