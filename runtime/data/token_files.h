//===- token_files.h - Files of tokens --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DATA_TOKEN_FILES_H
#define RONDO_RUNTIME_DATA_TOKEN_FILES_H

#include "runtime/data/data.h"

namespace rondo::runtime {

/// A file of tokens. It stays open, so that another file that takes its name
/// later is not read. It is not mapped, so that truncating it gives an error
/// instead of a signal.
class TokenFile {
public:
  TokenFile(const std::string &path, int32_t vocab, const ReadAt &readAt);
  ~TokenFile();
  TokenFile(const TokenFile &) = delete;
  TokenFile &operator=(const TokenFile &) = delete;

  int64_t size() const { return count; }
  /// Whether it is text by bytes, not a file of llm.c.
  bool isText() const { return begin == 0; }
  int64_t modifiedNs() const { return modified; }
  /// Reads tokens [first, first + number). Throws Error if one is not in the
  /// vocabulary, or can no longer be read.
  void read(int64_t first, int64_t number, int32_t *tokens) const;

private:
  void refuseTextOfPointer() const;
  void readHeader(int64_t bytes);
  [[noreturn]] void fail(const std::string &what) const;

  const std::string path;
  const uint32_t vocab;
  const ReadAt readAt;
  int file;
  /// Offset of the tokens in the file, and the bytes of one.
  int64_t begin = 0, width = 1;
  int64_t count = 0, modified = 0;
};

/// The tokens of several files, one file after another.
class TokenFiles {
public:
  TokenFiles(const std::vector<std::string> &paths, double heldOut,
             int32_t vocab, const ReadAt &readAt);

  /// Tokens of all files, and how many of them are before the held-out part.
  int64_t size() const { return begins.back(); }
  int64_t trained() const { return trainedTokens; }
  int64_t numFiles() const { return static_cast<int64_t>(files.size()); }
  const TokenFile &file(int64_t f) const { return *files[f]; }
  /// The file that has the token at `position`, and where it begins.
  int64_t fileAt(int64_t position) const;
  int64_t beginOf(int64_t f) const { return begins[f]; }
  /// Throws Error as TokenFile::read() does.
  void read(int64_t begin, int64_t length, int32_t *out) const;
  /// Throws Error if the training part or a held-out part has fewer tokens.
  void require(int64_t tokens, const char *what) const;
  DataIdentity identity() const { return ownIdentity; }
  std::string describe() const;

private:
  void identify();

  std::vector<std::unique_ptr<TokenFile>> files;
  /// First token of each file, then the end of the last.
  std::vector<int64_t> begins;
  int64_t trainedTokens = 0;
  bool hasHeldOut = false;
  DataIdentity ownIdentity;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DATA_TOKEN_FILES_H
