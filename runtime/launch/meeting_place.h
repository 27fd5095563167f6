//===- meeting_place.h - Publishes the address of process 0 -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_MEETING_PLACE_H
#define RONDO_RUNTIME_LAUNCH_MEETING_PLACE_H

#include "runtime/launch/socket.h"

#include <optional>
#include <string>

namespace rondo::runtime {

/// Published by process 0 in a file or by a broadcast.
struct MeetingPlace {
  HostPort address;
  /// The secret of the run; empty: there is none, or every process was given
  /// it.
  std::string secret;
};

std::string encode(const MeetingPlace &place);
/// Nothing if the text is not complete.
std::optional<MeetingPlace> decodePlace(const std::string &text);

/// Writes a file that only this user can read, whole or not at all. Throws
/// Error with Exit::Usage.
void writePlace(const std::string &path, const MeetingPlace &place);
/// Nothing if there is no such file yet. Throws Error with Exit::Usage if it is
/// somebody else's.
std::optional<MeetingPlace> readPlace(const std::string &path);

/// The name that this machine gives itself.
std::string thisHost();

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_MEETING_PLACE_H
