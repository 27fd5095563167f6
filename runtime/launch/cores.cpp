//===- cores.cpp - The cores of a process ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/cores.h"

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>

using namespace rondo::runtime;

int AllowedCores::count() const {
  const int most = std::max(1, static_cast<int>(cores.size()));
  return quota > 0 ? std::clamp(static_cast<int>(quota), 1, most) : most;
}

/// The numbers of a file, as far as it has some.
static std::vector<double> numbersIn(const std::string &path) {
  std::ifstream file(path);
  std::vector<double> numbers;
  for (double number; file >> number;)
    numbers.push_back(number);
  return numbers;
}

/// The quota of one control group, in cores; 0: none.
static double quotaOf(const std::string &folder) {
  // `max` is no number.
  std::vector<double> numbers = numbersIn(folder + "/cpu.max");
  if (numbers.empty()) {
    numbers = numbersIn(folder + "/cpu.cfs_quota_us");
    const std::vector<double> period = numbersIn(folder + "/cpu.cfs_period_us");
    numbers.insert(numbers.end(), period.begin(), period.end());
  }
  // Without a limit the quota of version 1 is -1.
  return numbers.size() == 2 && numbers[0] > 0 && numbers[1] > 0
             ? numbers[0] / numbers[1]
             : 0;
}

void rondo::runtime::readQuota(const std::string &groups,
                               const std::string &root, AllowedCores &allowed) {
  std::istringstream lines(groups);
  // ID:CONTROLLERS:PATH; version 2 has no controllers.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const bool isUnified = controllers == ",,";
    if (!isUnified && controllers.find(",cpu,") == std::string::npos)
      continue;
    const std::string top = isUnified ? root : root + "/cpu";
    // In a container the path may be the machine's, of which it sees only the
    // last group, as the top.
    for (std::string path = line.substr(second + 1);;
         path.resize(path.rfind('/'))) {
      struct stat status{};
      const std::string folder = top + path;
      const double quota = quotaOf(folder);
      if (quota > 0 && (allowed.quota == 0 || quota < allowed.quota) &&
          stat(folder.c_str(), &status) == 0) {
        allowed.quota = quota;
        allowed.quotaGroup = status.st_ino;
      }
      if (path.find('/') == std::string::npos)
        break;
    }
  }
}

AllowedCores rondo::runtime::allowedCores() {
  AllowedCores allowed;
  allowed.machine = clockName();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        allowed.cores.push_back(core);
  const int known = static_cast<int>(std::thread::hardware_concurrency());
  for (int core = 0; allowed.cores.empty() && core < std::max(1, known); ++core)
    allowed.cores.push_back(core);
  if (const char *text = std::getenv("SLURM_CPUS_PER_TASK"))
    allowed.limit = std::max(0, std::atoi(text));
  std::ifstream groups("/proc/self/cgroup");
  std::ostringstream text;
  text << groups.rdbuf();
  readQuota(text.str(), "/sys/fs/cgroup", allowed);
  return allowed;
}

int rondo::runtime::ownCores(const std::vector<AllowedCores> &processes,
                             size_t process) {
  const AllowedCores &mine = processes[process];
  double sum = 0;
  for (int core : mine.cores) {
    auto shares = [&](const AllowedCores &other) {
      return &other == &mine ||
             (other.machine == mine.machine &&
              std::find(other.cores.begin(), other.cores.end(), core) !=
                  other.cores.end());
    };
    sum += 1.0 / static_cast<double>(
                     std::count_if(processes.begin(), processes.end(), shares));
  }
  // Thirds may add up to a little less than 1.
  if (mine.quota > 0) {
    auto isInGroup = [&](const AllowedCores &other) {
      return other.machine == mine.machine &&
             other.quotaGroup == mine.quotaGroup && other.quota > 0;
    };
    sum = std::min(
        sum, mine.quota / static_cast<double>(std::count_if(
                              processes.begin(), processes.end(), isInGroup)));
  }
  const int own = std::max(1, static_cast<int>(sum + 1e-6));
  return mine.limit > 0 ? std::min(own, mine.limit) : own;
}

static std::string encode(const AllowedCores &allowed) {
  std::ostringstream text;
  text.precision(17);
  text << allowed.limit << ' ' << allowed.quota << ' ' << allowed.quotaGroup;
  for (int core : allowed.cores)
    text << ' ' << core;
  text << '\n' << allowed.machine;
  return text.str();
}

static AllowedCores decode(const std::string &text) {
  AllowedCores allowed;
  std::istringstream lines(text);
  std::string numbers;
  std::getline(lines, numbers);
  std::getline(lines, allowed.machine);
  std::istringstream words(numbers);
  words >> allowed.limit >> allowed.quota >> allowed.quotaGroup;
  for (int core; words >> core;)
    allowed.cores.push_back(core);
  return allowed;
}

int rondo::runtime::exchangeOwnCores(const World &world) {
  const AllowedCores mine = allowedCores();
  if (world.isAlone())
    return ownCores({mine}, 0);
  std::vector<AllowedCores> all;
  for (const std::string &text :
       world.store->exchange("the cores", encode(mine)))
    all.push_back(decode(text));
  return ownCores(all, static_cast<size_t>(world.process));
}
