//===- meeting_place.cpp - Publishes the address of process 0 -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/meeting_place.h"

#include "runtime/base/error.h"
#include "runtime/base/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

std::string rondo::runtime::encode(const MeetingPlace &place) {
  return place.address.host + " " + std::to_string(place.address.port) + " " +
         (place.secret.empty() ? "-" : place.secret) + "\n";
}

std::optional<MeetingPlace>
rondo::runtime::decodePlace(const std::string &text) {
  MeetingPlace place;
  std::istringstream words(text);
  if (!(words >> place.address.host >> place.address.port >> place.secret))
    return std::nullopt;
  if (place.secret == "-")
    place.secret.clear();
  return place;
}

void rondo::runtime::writePlace(const std::string &path,
                                const MeetingPlace &place) {
  try {
    writeTextFile(path, "its address in '" + path + "'", encode(place),
                  Readers::Owner);
  } catch (const Error &error) {
    throw Error(std::string("rank 0 ") + error.what(), Exit::Usage);
  }
}

std::optional<MeetingPlace> rondo::runtime::readPlace(const std::string &path) {
  const Socket file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT)
    return std::nullopt;
  struct stat status{};
  if (!file || fstat(file.descriptor(), &status) != 0)
    throw Error("cannot read rank 0's address in '" + path +
                    "': " + std::strerror(errno),
                Exit::Usage);
  // It would lead this process to another run.
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
    throw Error("'" + path + "', where rank 0 writes its address, " +
                    (S_ISREG(status.st_mode)
                         ? "belongs to user " + std::to_string(status.st_uid)
                         : std::string("is not a file")) +
                    "; choose another place with --rdzv",
                Exit::Usage);
  char text[512];
  const ssize_t count = read(file.descriptor(), text, sizeof text);
  return decodePlace(std::string(text, count > 0 ? count : 0));
}

std::string rondo::runtime::thisHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}
