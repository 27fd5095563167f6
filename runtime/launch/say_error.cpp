//===- say_error.cpp - Reports errors to the user -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/say_error.h"

#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace rondo::runtime;

void rondo::runtime::sayError(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  const char *path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!path)
    return;
  try {
    JsonWriter json;
    json.object().key("message").object().member("message", message);
    json.key("extraInfo").object();
    json.member("timestamp", std::to_string(std::time(nullptr)));
    json.end().end().end();
    // torchrun fails if it finds a partly written file.
    writeTextFile(path, path, json.text() + "\n");
  } catch (const std::exception &) {
    // The message is on standard error.
  }
}

void rondo::runtime::sayNote(const std::string &message) {
  std::fprintf(stderr, "note: %s\n", message.c_str());
}
