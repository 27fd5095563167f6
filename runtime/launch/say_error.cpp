//===- say_error.cpp - Reports errors to the user -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/say_error.h"

#include "runtime/base/exclusive_file.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <unistd.h>

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
  std::ostringstream text;
  text << "{\"message\": {\"message\": " << quoted(message)
       << ", \"extraInfo\": {\"timestamp\": \"" << std::time(nullptr)
       << "\"}}}\n";
  const int descriptor = makeExclusiveFile(temporary);
  if (descriptor < 0)
    return;
  const std::string bytes = text.str();
  const bool isWritten = write(descriptor, bytes.data(), bytes.size()) ==
                             static_cast<ssize_t>(bytes.size()) &&
                         shareAsUsual(descriptor);
  if (close(descriptor) != 0 || !isWritten ||
      std::rename(temporary.c_str(), path) != 0)
    std::remove(temporary.c_str());
}

void rondo::runtime::sayNote(const std::string &message) {
  std::fprintf(stderr, "note: %s\n", message.c_str());
}
