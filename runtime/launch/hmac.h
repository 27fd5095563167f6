//===- hmac.h - Proofs that somebody knows a secret -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses libsodium. A runtime that is built without it has no secrets.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_LAUNCH_HMAC_H
#define RONDO_RUNTIME_LAUNCH_HMAC_H

#include <array>
#include <cstdint>
#include <string>

namespace rondo::runtime {

/// A number that nobody can foresee and that is used once.
using Nonce = std::array<unsigned char, 32>;
/// What HMAC-SHA256 makes of a secret and a text.
using Proof = std::array<unsigned char, 32>;

/// Whether this runtime was built with libsodium. Without it the functions
/// below throw Error with Exit::Usage, which says so.
bool hasSecrets();

Nonce freshNonce();
Proof proofOf(const std::string &secret, const std::string &text);
/// Takes the same time wherever they differ.
bool areEqual(const Proof &proof, const Proof &other);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_HMAC_H
