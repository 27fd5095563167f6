//===- hmac.cpp - Proofs that somebody knows a secret ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/hmac.h"

#include "runtime/base/error.h"

#ifdef RONDO_WITHOUT_SECRETS

using namespace rondo::runtime;

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

using namespace rondo::runtime;

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
