//===- secret.cpp - What the processes of a run have in common ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/secret.h"

#include "runtime/base/error.h"
#include "runtime/launch/socket.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

/// A recorded handshake allows to try short secrets.
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
  // Throws if this runtime was built without secrets.
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

#ifdef RONDO_WITHOUT_SECRETS

[[noreturn]] static void failWithoutSodium() {
  throw Error("this program was built without libsodium, which a shared secret "
              "needs: install libsodium-dev and build it again, or unset "
              "RONDO_SECRET and leave out --secret-file",
              Exit::Usage);
}

bool rondo::runtime::hasSecrets() { return false; }
Nonce rondo::runtime::freshNonce() { failWithoutSodium(); }
Proof rondo::runtime::proofOf(const std::string &, const std::string &) {
  failWithoutSodium();
}
bool rondo::runtime::areEqual(const Proof &, const Proof &) {
  failWithoutSodium();
}

#else

#include <sodium.h>
#include <sys/random.h>

#include <tuple>

static_assert(std::tuple_size<Proof>::value == crypto_auth_hmacsha256_BYTES,
              "a proof is one HMAC-SHA256");

bool rondo::runtime::hasSecrets() { return true; }

Nonce rondo::runtime::freshNonce() {
  Nonce nonce;
  // The kernel's generator, which needs no start of another one. So few bytes
  // come at once.
  if (getrandom(nonce.data(), nonce.size(), 0) !=
      static_cast<ssize_t>(nonce.size()))
    throw Error("the system has no random numbers", Exit::RunFailure);
  return nonce;
}

Proof rondo::runtime::proofOf(const std::string &secret,
                              const std::string &text) {
  // Once per process, before any other function of libsodium.
  static const int status = sodium_init();
  if (status < 0)
    throw Error("libsodium cannot be initialized", Exit::RunFailure);
  auto bytes = [](const std::string &from) {
    return reinterpret_cast<const unsigned char *>(from.data());
  };
  // These take a secret of any length. They always return 0.
  Proof proof;
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes(secret), secret.size());
  crypto_auth_hmacsha256_update(&state, bytes(text), text.size());
  crypto_auth_hmacsha256_final(&state, proof.data());
  return proof;
}

bool rondo::runtime::areEqual(const Proof &proof, const Proof &other) {
  return sodium_memcmp(proof.data(), other.data(), proof.size()) == 0;
}

#endif
