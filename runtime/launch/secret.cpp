//===- secret.cpp - What the processes of a run have in common ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/secret.h"

#include "runtime/base/error.h"
#include "runtime/launch/hmac.h"
#include "runtime/launch/socket.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

/// Somebody who has recorded how two processes greet can try short ones.
static constexpr size_t fewestBytes = 16, maxBytes = 4096;

/// A file may be another one on another machine.
[[noreturn]] static void usage(const std::string &message) {
  throw OwnError(message, Exit::Usage);
}

static std::string readSecretFile(const std::string &path) {
  const std::string name = "--secret-file '" + path + "'";
  // A pipe that nobody writes would wait for ever.
  const Socket file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.descriptor(), &status) != 0)
    usage("cannot read " + name + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    usage(name + " is not a file");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    usage(name + " belongs to user " + std::to_string(status.st_uid) +
          ", who knows what is in it; make a file of your own");
  if (status.st_mode & 077) {
    char mode[16];
    std::snprintf(mode, sizeof mode, "%04o",
                  static_cast<unsigned>(status.st_mode & 07777));
    usage(name + " is open to others, its mode is " + mode +
          ": chmod 600 it, and change the secret if others have been there");
  }
  std::string text(maxBytes + 1, '\0');
  const ssize_t count = read(file.descriptor(), text.data(), text.size());
  if (count < 0)
    usage("cannot read " + name + ": " + std::strerror(errno));
  text.resize(static_cast<size_t>(count));
  if (text.size() > maxBytes)
    usage(name + " has more than " + std::to_string(maxBytes) + " bytes");
  // An editor ends the last line.
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  return text;
}

std::string rondo::runtime::secretFrom(const std::string &file,
                                       const Environment &environment) {
  const char *value = environment("RONDO_SECRET");
  if (file.empty() && !value)
    return std::string();
  const std::string secret = file.empty() ? value : readSecretFile(file);
  const std::string name = file.empty() ? "RONDO_SECRET in the environment"
                                        : "--secret-file '" + file + "'";
  if (secret.size() < fewestBytes)
    throw Error(name + " has " + std::to_string(secret.size()) +
                    " bytes, but a secret has at least " +
                    std::to_string(fewestBytes) +
                    "; 'openssl rand -hex 32' makes one",
                Exit::Usage);
  // Says so if this runtime has no secrets.
  (void)proofOf(secret, "");
  return secret;
}

std::string rondo::runtime::makeSecret() {
  std::string text;
  for (unsigned char byte : freshNonce())
    for (int digit : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[digit];
  return text;
}
