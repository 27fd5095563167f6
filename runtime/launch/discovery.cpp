//===- discovery.cpp - Finds out what started this process ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per source, in the order they are tried.
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/discovery.h"

#include "runtime/base/error.h"
#include "runtime/launch/socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <unistd.h>

using namespace rondo::runtime;

namespace {

/// Ports that rank 0 tries if the port was derived instead of given.
constexpr int derivedPorts = 8;

class Discovery {
public:
  Discovery(const LaunchFlags &flags, const Environment &environment)
      : flags(flags), environment(environment) {}

  Launch run() {
    Launch launch;
    if (!byFlags(launch) && !byTorchrun(launch) && !bySlurm(launch) &&
        !byOpenMpi(launch) && !byPmi(launch)) {
      if (!flags.rendezvous.empty())
        usage("--rdzv is for several processes: give --rank and --world-size "
              "too, or start them with mpirun, torchrun or srun");
      if (flags.localRank >= 0)
        usage("--local-rank is for several processes: give --rank and "
              "--world-size too, or start them with mpirun, torchrun or srun");
      return launch;
    }
    if (flags.localRank >= 0)
      launch.localRank = flags.localRank;
    check(launch);
    if (!flags.rendezvous.empty())
      launch.rendezvous = given();
    if (launch.rendezvous && launch.localSize == launch.size)
      launch.rendezvous->isLocal = true;
    return launch;
  }

private:
  [[noreturn]] static void usage(const std::string &message) {
    throw Error(message, Exit::Usage);
  }

  std::string text(const char *name) const {
    const char *value = environment(name);
    return value ? value : "";
  }
  bool has(const char *name) const { return environment(name) != nullptr; }

  /// -1 if the variable is not set.
  int32_t number(const char *name) const {
    const char *value = environment(name);
    if (!value)
      return -1;
    char *end = nullptr;
    errno = 0;
    long long result = std::strtoll(value, &end, 10);
    if (*value == '\0' || *end != '\0' || errno == ERANGE || result < 0 ||
        result > INT32_MAX)
      usage(std::string(name) + "='" + value +
            "' in the environment is not a whole number of at least 0");
    return static_cast<int32_t>(result);
  }

  int32_t required(const char *name, const char *source) const {
    if (!has(name))
      usage(std::string(source) + " started this process, but " + name +
            " is not set");
    return number(name);
  }

  static void check(Launch &launch) {
    const std::string who = launch.source;
    if (launch.size < 1)
      usage(who + " gives a world of 0 ranks");
    if (launch.rank >= launch.size)
      usage(who + " gives rank " + std::to_string(launch.rank) + " of " +
            std::to_string(launch.size) + ": ranks count from 0");
    if (launch.localSize < 0 || launch.localSize > launch.size)
      launch.localSize = 0;
  }

  Rendezvous given() const {
    Rendezvous where;
    const std::string prefix = "file://";
    if (flags.rendezvous.compare(0, prefix.size(), prefix) == 0) {
      where.file = flags.rendezvous.substr(prefix.size());
      if (where.file.empty() || where.file[0] != '/')
        usage("--rdzv needs file:// and an absolute path, not '" +
              flags.rendezvous + "'");
      return where;
    }
    HostPort address = parseHostPort("--rdzv", flags.rendezvous);
    where.host = address.host;
    where.port = address.port;
    where.isLocal = isLoopback(address.host);
    return where;
  }

  /// For processes on one machine that share a name no other run has.
  Rendezvous inTemporaryFolder(const std::string &job) const {
    Rendezvous where;
    std::string folder = text("TMPDIR");
    where.file = (folder.empty() ? "/tmp" : folder) + "/rondo-" +
                 std::to_string(getuid()) + "-" + job;
    return where;
  }

  bool byFlags(Launch &launch) const {
    if (flags.rank < 0 && flags.worldSize < 0)
      return false;
    if (flags.rank < 0 || flags.worldSize < 0)
      usage(flags.rank < 0 ? "--world-size needs --rank"
                           : "--rank needs --world-size");
    if (flags.rendezvous.empty() && flags.worldSize > 1)
      usage("--rank and --world-size need --rdzv HOST:PORT or "
            "--rdzv file:///PATH, the same for all ranks");
    launch.source = "the command line";
    launch.rank = flags.rank;
    launch.size = flags.worldSize;
    launch.localRank = flags.localRank;
    return true;
  }

  /// torchrun's agent may hold MASTER_PORT itself, so Rondo uses a later port.
  bool byTorchrun(Launch &launch) const {
    if (!has("TORCHELASTIC_RUN_ID") && !(has("RANK") && has("WORLD_SIZE")))
      return false;
    launch.source = "torchrun";
    launch.rank = required("RANK", "torchrun");
    launch.size = required("WORLD_SIZE", "torchrun");
    launch.localRank = number("LOCAL_RANK");
    launch.localSize = number("LOCAL_WORLD_SIZE");
    // Unnamed runs all have the same name, but no two on one machine share a
    // MASTER_PORT. The number of restarts is left out: each agent counts its
    // own, and the counts differ once an agent has only noticed another's
    // restart.
    launch.job = text("TORCHELASTIC_RUN_ID") + "." + text("MASTER_PORT");
    if (!flags.rendezvous.empty() || launch.size == 1)
      return true;
    Rendezvous where;
    where.host = text("MASTER_ADDR");
    if (where.host.empty())
      usage("torchrun started this process, but MASTER_ADDR is not set");
    int32_t port = required("MASTER_PORT", "torchrun");
    if (port < 1 || port + derivedPorts > 65535)
      usage("MASTER_PORT=" + std::to_string(port) +
            " in the environment leaves no port after it for Rondo: add --rdzv "
            "HOST:PORT");
    where.port = port + 1;
    where.numPorts = derivedPorts;
    where.isLocal = isLoopback(where.host);
    launch.rendezvous = where;
    return true;
  }

  /// mpirun inside a Slurm job leaves its own daemons' variables, and a batch
  /// script leaves the script's: only srun sets the step's host list.
  bool bySlurm(Launch &launch) const {
    if (!has("SLURM_PROCID") || !has("SLURM_STEP_NODELIST") ||
        has("OMPI_COMM_WORLD_RANK"))
      return false;
    launch.source = "Slurm";
    launch.rank = number("SLURM_PROCID");
    launch.size = has("SLURM_STEP_NUM_TASKS")
                      ? number("SLURM_STEP_NUM_TASKS")
                      : required("SLURM_NTASKS", "Slurm");
    launch.localRank = number("SLURM_LOCALID");
    launch.job = text("SLURM_JOB_ID") + "." + text("SLURM_STEP_ID");
    std::vector<std::string> hosts =
        expandHostList(text("SLURM_STEP_NODELIST"));
    if (hosts.size() == 1)
      launch.localSize = launch.size;
    // The list is sorted, so no variable names the host of rank 0.
    else if (text("SLURM_DISTRIBUTION").compare(0, 9, "arbitrary") == 0)
      return true;
    Rendezvous where;
    where.host = hosts.front();
    // FNV-1a, mapped to ports that systems leave to programs.
    uint32_t hash = 0x811c9dc5;
    for (char c : launch.job)
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
    where.port = 20000 + static_cast<int>(hash % 1000) * derivedPorts;
    where.numPorts = derivedPorts;
    launch.rendezvous = where;
    return true;
  }

  bool byOpenMpi(Launch &launch) const {
    if (!has("OMPI_COMM_WORLD_RANK"))
      return false;
    launch.source = "Open MPI";
    launch.rank = number("OMPI_COMM_WORLD_RANK");
    launch.size = required("OMPI_COMM_WORLD_SIZE", "Open MPI");
    launch.localRank = number("OMPI_COMM_WORLD_LOCAL_RANK");
    launch.localSize = number("OMPI_COMM_WORLD_LOCAL_SIZE");
    launch.job = text("PMIX_NAMESPACE");
    if (launch.job.empty())
      launch.job = text("OMPI_MCA_ess_base_jobid");
    if (!launch.job.empty() && launch.localSize == launch.size)
      launch.rendezvous = inTemporaryFolder(launch.job);
    return true;
  }

  bool byPmi(Launch &launch) const {
    if (!has("PMI_RANK") && !has("PMIX_RANK"))
      return false;
    launch.source = has("PMI_RANK") ? "MPICH" : "PMIx";
    launch.rank = number(has("PMI_RANK") ? "PMI_RANK" : "PMIX_RANK");
    launch.size = required("PMI_SIZE", launch.source.c_str());
    launch.localRank = number("MPI_LOCALRANKID");
    launch.localSize = number("MPI_LOCALNRANKS");
    launch.job = text("PMIX_NAMESPACE");
    return true;
  }

  const LaunchFlags &flags;
  const Environment &environment;
};

} // namespace

Launch rondo::runtime::discoverLaunch(const LaunchFlags &flags,
                                      const Environment &environment) {
  return Discovery(flags, environment).run();
}

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
