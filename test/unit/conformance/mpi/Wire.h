//===- Wire.h - Calls of a transport as frames ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_MPI_WIRE_H
#define RONDO_TEST_UNIT_CONFORMANCE_MPI_WIRE_H

#include "Relay.h"

#include "runtime/base/error.h"

#include <cstring>
#include <type_traits>

namespace rondo::runtime::test {

/// Request of a frame.
enum class What : uint32_t {
  Make,
  Destroy,
  Iterate,
  /// The actions of the iteration have ended, or thrown.
  ActionsEnd,
  ActionsBreak,
  Send,
  Receive,
  WaitSent,
  WaitReceived,
  StartSumParts,
  StartAddAll,
  StartGather,
  StartScatter,
  WaitCollective,
  Links,
  /// The process stops serving.
  Leave,
  // On the line for questions:
  Abort,
  Waiting,
};

/// Result of a call.
enum class How : uint32_t { Fine, Error, Aborted, PeerFailed };

/// The arguments of a call that has them.
struct Call {
  int32_t place = 0;
  Transport::Ticket ticket = 0;
  MessageName name;
  /// In the shared memory.
  int64_t data = 0;
  int64_t bytes = 0;
};

/// A PartParams whose data are in the shared memory.
struct WirePart {
  int32_t rank;
  int64_t data;
  int64_t count;
  bool contributes;
};

/// TransportOptions without the clock, which each process has for itself.
struct SentOptions {
  int32_t cores;
  bool useGraph;
  double timeoutSeconds;
};

/// StagingParams whose data are in the shared memory.
struct Staging {
  int64_t data;
  int64_t bytes;
};

template <typename T> std::string pack(const T *values, size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::string(reinterpret_cast<const char *>(values), count * sizeof(T));
}
template <typename T> std::string pack(const T &value) {
  return pack(&value, 1);
}
template <typename T> std::vector<T> unpackAll(const std::string &text) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(text.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), text.data(), values.size() * sizeof(T));
  return values;
}
template <typename T> T unpack(const std::string &text) {
  return unpackAll<T>(text).at(0);
}

inline Frame frameOf(What what, const Call &call = {}) {
  return {static_cast<uint32_t>(what), 0, {pack(call)}};
}
inline What whatOf(const Frame &frame) { return static_cast<What>(frame.kind); }

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_MPI_WIRE_H
