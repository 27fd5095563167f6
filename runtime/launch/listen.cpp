//===- listen.cpp - Where a process can be called -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/listen.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

using namespace rondo::runtime;

namespace {
using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;
} // namespace

static AddressList addressesOf(const std::string &host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo *list = nullptr;
  const bool isKnown =
      getaddrinfo(host.c_str(), nullptr, &hints, &list) == 0 && list;
  return AddressList(isKnown ? list : nullptr, [](addrinfo *all) {
    if (all)
      freeaddrinfo(all);
  });
}

/// Invalid, with errno set, on failure. `bothFamilies` is for IPv6's address of
/// all interfaces.
static Socket listenOn(const sockaddr *given, socklen_t length, int port,
                       bool bothFamilies) {
  sockaddr_storage address{};
  std::copy_n(reinterpret_cast<const char *>(given), length,
              reinterpret_cast<char *>(&address));
  // Both families keep the port in the same place.
  reinterpret_cast<sockaddr_in &>(address).sin_port =
      htons(static_cast<uint16_t>(port));
  Socket result(socket(given->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!result)
    return result;
  // Connections of a finished run must not block the port.
  int on = 1, onlyIpv6 = bothFamilies ? 0 : 1;
  setsockopt(result.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (given->sa_family == AF_INET6 &&
      setsockopt(result.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &onlyIpv6,
                 sizeof onlyIpv6) != 0)
    return Socket();
  if (bind(result.descriptor(), reinterpret_cast<const sockaddr *>(&address),
           length) != 0 ||
      listen(result.descriptor(), 1024) != 0)
    return Socket();
  return result;
}

static Socket listenOnAll(int port) {
  sockaddr_in6 all{};
  all.sin6_family = AF_INET6;
  all.sin6_addr = in6addr_any;
  Socket result = ::listenOn(reinterpret_cast<const sockaddr *>(&all),
                             sizeof all, port, true);
  // A port in use is in use for IPv4 too; a system without IPv6 gives another
  // error.
  if (result || errno == EADDRINUSE || errno == EACCES)
    return result;
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  return ::listenOn(reinterpret_cast<const sockaddr *>(&ipv4), sizeof ipv4,
                    port, false);
}

static Socket listenOnOne(const std::string &address, int port) {
  const AddressList list = addressesOf(address, AI_NUMERICHOST);
  if (!list) {
    errno = EADDRNOTAVAIL;
    return Socket();
  }
  return ::listenOn(list->ai_addr, list->ai_addrlen, port, false);
}

std::vector<Socket>
rondo::runtime::listenAt(const std::vector<std::string> &addresses, int port) {
  std::vector<Socket> result;
  if (addresses.empty()) {
    if (Socket all = listenOnAll(port))
      result.push_back(std::move(all));
    return result;
  }
  // A port that is free at the first address may be taken at another.
  for (int attempts = port == 0 ? 100 : 1; attempts > 0; --attempts) {
    int common = port;
    for (const std::string &address : addresses) {
      Socket one = listenOnOne(address, common);
      if (!one)
        break;
      common = portOf(one);
      result.push_back(std::move(one));
    }
    if (result.size() == addresses.size())
      return result;
    const int error = errno;
    result.clear();
    errno = error;
    if (error != EADDRINUSE)
      break;
  }
  return result;
}

Socket rondo::runtime::listenOn(int port, bool onLoopbackOnly) {
  return onLoopbackOnly ? listenOnOne(loopbackAddress, port)
                        : listenOnAll(port);
}

std::vector<std::string>
rondo::runtime::addressesNamed(const std::string &host) {
  std::vector<std::string> result;
  const AddressList list = addressesOf(host, 0);
  for (const addrinfo *a = list.get(); a; a = a->ai_next) {
    char text[NI_MAXHOST];
    // A name may be loopback on its own machine and another interface on
    // others.
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0 ||
        isLoopback(text) || !listenOnOne(text, 0))
      return {};
    if (std::find(result.begin(), result.end(), text) == result.end())
      result.push_back(text);
  }
  return result;
}
