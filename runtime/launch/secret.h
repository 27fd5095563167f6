//===- secret.h - What the processes of a run have in common ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses libsodium. A runtime that is built without it has no secrets.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_LAUNCH_SECRET_H
#define RONDO_RUNTIME_LAUNCH_SECRET_H

#include "runtime/launch/discovery.h"

#include <array>
#include <cstdint>
#include <string>

namespace rondo::runtime {

/// An unpredictable number that is used once.
using Nonce = std::array<unsigned char, 32>;
/// HMAC-SHA256 of a secret and a text.
using Proof = std::array<unsigned char, 32>;

/// Whether this runtime was built with libsodium. Without it the functions
/// below throw Error with Exit::Usage.
bool hasSecrets();

Nonce freshNonce();
Proof proofOf(const std::string &secret, const std::string &text);
/// In constant time.
bool areEqual(const Proof &proof, const Proof &other);

/// The secret in `file` or, if that is empty, in the environment's
/// RONDO_SECRET; empty: there is none. Throws Error with Exit::Usage if it is
/// shorter than 16 bytes, if others can read the file or have written it, or if
/// this runtime has no secrets.
std::string secretFrom(const std::string &file,
                       const Environment &environment = std::getenv);

/// A new one of 64 hexadecimal digits.
std::string makeSecret();

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SECRET_H
