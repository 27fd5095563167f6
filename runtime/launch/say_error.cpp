//===- say_error.cpp - Reports errors to the user -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/say_error.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

/// As a JSON string.
static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "\"";
}

void rondo::runtime::sayError(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  const char *path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!path)
    return;
  // torchrun fails if it finds a partly written file.
  const std::string temporary = std::string(path) + ".tmp";
  std::ofstream file(temporary);
  file << "{\"message\": {\"message\": " << quoted(message)
       << ", \"extraInfo\": {\"timestamp\": \"" << std::time(nullptr)
       << "\"}}}\n";
  file.close();
  if (!file || std::rename(temporary.c_str(), path) != 0)
    std::remove(temporary.c_str());
}

void rondo::runtime::sayNote(const std::string &message) {
  std::fprintf(stderr, "note: %s\n", message.c_str());
}
