//===- cores.cpp - The cores of a process ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/cores.h"

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cstdlib>
#include <sched.h>
#include <sstream>
#include <thread>

using namespace rondo::runtime;

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
  int own = std::max(1, static_cast<int>(sum + 1e-6));
  return mine.limit > 0 ? std::min(own, mine.limit) : own;
}

static std::string encode(const AllowedCores &allowed) {
  std::ostringstream text;
  text << allowed.limit;
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
  words >> allowed.limit;
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
