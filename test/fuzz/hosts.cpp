//===- hosts.cpp - Fuzzes what launchers say of hosts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/launch/discovery.h"
#include "runtime/launch/socket.h"
#include "test/fuzz/Target.h"

using namespace rondo::runtime;
using rondo::fuzz::require;

static std::optional<HostPort> addressIn(const std::string &text) {
  try {
    return parseHostPort("--rdzv", text);
  } catch (const Error &) {
    return std::nullopt;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = rondo::fuzz::textOf(data, size);
  try {
    for (const std::string &host : expandHostList(text))
      require(host.find_first_of("[],") == std::string::npos,
              "a host's name has no brackets and no comma");
  } catch (const Error &) {
  }
  if (const std::optional<HostPort> address = addressIn(text)) {
    require(address->port > 0 && address->port < 65536, "a port is one");
    const std::optional<HostPort> again = addressIn(textOf(*address));
    require(again && again->host == address->host &&
                again->port == address->port,
            "an address that is written reads as the same");
  }
  return 0;
}
