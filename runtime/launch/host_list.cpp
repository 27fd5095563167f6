//===- host_list.cpp - Slurm's host lists ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/launch/discovery.h"

#include <algorithm>

using namespace rondo::runtime;

namespace {

/// The most ranks a run may have.
constexpr size_t maxHosts = 1 << 16;
/// The limit for a DNS name.
constexpr size_t longestName = 253;

/// Parses a list from left to right.
class HostList {
public:
  explicit HostList(const std::string &text) : text(text) {}

  std::vector<std::string> read() {
    std::vector<std::string> hosts;
    do {
      std::vector<std::string> more = group();
      if (hosts.size() + more.size() > maxHosts)
        fail();
      hosts.insert(hosts.end(), more.begin(), more.end());
    } while (take(','));
    if (at != text.size())
      fail();
    return hosts;
  }

private:
  [[noreturn]] void fail() const {
    throw Error("'" + text + "' is not a Slurm host list, at position " +
                    std::to_string(at),
                Exit::Usage);
  }

  bool take(char c) {
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  /// `name[1-3,5]part[...]`: all combinations; the last part varies fastest.
  std::vector<std::string> group() {
    std::vector<std::string> hosts = {""};
    size_t begin = at;
    while (at < text.size() && text[at] != ',') {
      if (take('[')) {
        std::vector<std::string> numbers = ranges(), all;
        if (hosts.size() * numbers.size() > maxHosts)
          fail();
        for (const std::string &host : hosts)
          for (const std::string &number : numbers)
            all.push_back(host + number);
        hosts = all;
        continue;
      }
      if (text[at] == ']')
        fail();
      for (std::string &host : hosts)
        host += text[at];
      if (hosts.front().size() > longestName)
        fail();
      ++at;
    }
    if (at == begin)
      fail();
    return hosts;
  }

  std::vector<std::string> ranges() {
    std::vector<std::string> numbers;
    do {
      std::string first = digits();
      std::string last = take('-') ? digits() : first;
      size_t from = std::stoul(first), to = std::stoul(last);
      if (to < from || to - from >= maxHosts - numbers.size())
        fail();
      for (size_t n = from; n <= to; ++n) {
        std::string number = std::to_string(n);
        // Leading zeros preserve the width.
        if (number.size() < first.size())
          number.insert(0, first.size() - number.size(), '0');
        numbers.push_back(number);
      }
    } while (take(','));
    if (!take(']'))
      fail();
    return numbers;
  }

  std::string digits() {
    size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      ++at;
    if (at == begin || at - begin > 9)
      fail();
    return text.substr(begin, at - begin);
  }

  const std::string &text;
  size_t at = 0;
};

} // namespace

std::vector<std::string>
rondo::runtime::expandHostList(const std::string &text) {
  return HostList(text).read();
}
