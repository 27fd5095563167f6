//===- hmac.cpp - Proofs that somebody knows a secret ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/hmac.h"

#include "runtime/base/error.h"

#ifdef RONDO_WITHOUT_SECRETS

using namespace rondo::runtime;

[[noreturn]] static void failWithoutLibcrypto() {
  throw Error("this program was built without libcrypto, which a shared secret "
              "needs: install libssl-dev and build it again, or unset "
              "RONDO_SECRET and leave out --secret-file",
              Exit::Usage);
}

bool rondo::runtime::hasSecrets() { return false; }
Nonce rondo::runtime::freshNonce() { failWithoutLibcrypto(); }
Proof rondo::runtime::proofOf(const std::string &, const std::string &) {
  failWithoutLibcrypto();
}
bool rondo::runtime::areEqual(const Proof &, const Proof &) {
  failWithoutLibcrypto();
}

#else

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

using namespace rondo::runtime;

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
  // Once for the process; no configuration of the system changes HMAC-SHA256.
  // Without the other tables, which it does not need, this takes a quarter of
  // the time.
  static const int isReady = OPENSSL_init_crypto(
      OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
          OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
      nullptr);
  Proof proof;
  unsigned size = 0;
  if (!isReady ||
      !HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
            reinterpret_cast<const unsigned char *>(text.data()), text.size(),
            proof.data(), &size) ||
      size != proof.size())
    throw Error("libcrypto computes no HMAC-SHA256", Exit::RunFailure);
  return proof;
}

bool rondo::runtime::areEqual(const Proof &proof, const Proof &other) {
  return CRYPTO_memcmp(proof.data(), other.data(), proof.size()) == 0;
}

#endif
