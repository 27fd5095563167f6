//===- last_words.cpp - What ranks did when a run failed ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/last_words.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace rondo::runtime;

/// `gpipe-20261125T073725-9f3c0a81`.
static std::string newName(const Executable &exe) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32], number[16];
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%S", &utc);
  std::snprintf(number, sizeof number, "%08x", std::random_device()());
  return std::string(exe.name) + "-" + time + "-" + number;
}

LastWords::LastWords(const std::string &folder, const Executable &executable,
                     const World &world)
    : folder(folder), exe(executable), world(world) {
  struct stat status{};
  auto fail = [&](const char *why) {
    throw OwnError("cannot write into --failure-dir '" + folder + "': " + why);
  };
  if (stat(folder.c_str(), &status) != 0)
    fail(std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    fail("it is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    fail(std::strerror(errno));
  name = newName(exe);
  originNs = nowNs();
  if (world.isAlone())
    return;
  std::istringstream first(
      world.store
          ->exchange("the run's name", name + " " + std::to_string(originNs))
          .front());
  first >> name >> originNs;
  offsetNs = world.store->clockOffsetNs();
}

static std::string messageOf(const std::exception_ptr &why, bool &isPeer) {
  try {
    std::rethrow_exception(why);
  } catch (const std::exception &error) {
    return error.what();
  } catch (const PeerFailed &) {
    isPeer = true;
    return "another process failed";
  } catch (...) {
    return "an unknown exception";
  }
}

std::function<void()> LastWords::note(Connections &connections,
                                      const ProgramRun *run, int32_t rank,
                                      const std::exception_ptr &why) {
  if (std::exchange(isNoted, true))
    return [] {};
  bool isPeer = false;
  const std::string text = messageOf(why, isPeer);
  // Between iterations there is one error for all ranks of the process, and
  // while they run it is the watchdog's if none of them has thrown.
  const char *word = isPeer ? "stopped" : run && rank < 0 ? "timeout" : "error";
  std::vector<std::pair<std::string, std::string>> files;
  for (int32_t r = 0; r < exe.numRanks; ++r) {
    if (!world.holds(r))
      continue;
    const bool isOther = rank >= 0 && r != rank;
    const Ending ending{
        isOther ? "stopped" : word,
        isOther ? "rank " + std::to_string(rank) + " failed: " + text : text};
    files.emplace_back(
        folder + "/" + name + ".rank-" + std::to_string(r) + ".json",
        textOf(connections.ring(r), r,
               run && r < run->program().numRanks ? run->waitOf(r) : RankWait(),
               ending));
  }
  return [files] {
    for (const auto &[path, content] : files)
      try {
        // Paths and texts of errors are the user's own.
        writeTextFile(path, "'" + path + "'", content, Readers::Owner);
      } catch (const Error &error) {
        sayNote(error.what());
      }
  };
}

static const char *wordOf(Waiting::For what) {
  switch (what) {
  case Waiting::For::Arrival:
    return "arrival";
  case Waiting::For::Release:
    return "release";
  case Waiting::For::Collective:
    return "collective";
  case Waiting::For::Nothing:
    break;
  }
  return "nothing";
}

/// The members of an entry that name the action.
static void describe(JsonWriter &json, const ActionRing::Entry &entry,
                     const ActionRing::Program &program) {
  const uint64_t kind = entry.what >> 58;
  int64_t iteration = entry.before + 1;
  if (kind >= ActionRing::Begin) {
    const char *word = kind == ActionRing::Begin   ? "begin"
                       : kind == ActionRing::Drain ? "drain"
                                                   : "idle";
    json.member("action", word).member("kind", word);
  } else {
    const auto number = static_cast<int64_t>(entry.what >> 32 & 0xffffff),
               index = static_cast<int64_t>(entry.what & 0xffffffff);
    const rondo::ActionTraits &traits =
        rondo::traitsOf(static_cast<ActionKind>(kind));
    json.member("action", actionName(traits.kind,
                                     static_cast<Message>(entry.what >> 56 & 3),
                                     number, index));
    json.member("kind", traits.keyword);
    json.member(traits.subject == rondo::Subject::Collective ? "collective"
                                                             : "stage",
                number);
    if (traits.index == rondo::IndexMeaning::Microbatch)
      json.member("microbatch", index);
    if (traits.movesState())
      json.member("unit", index);
    if (program.overlaps)
      iteration += traits.index == rondo::IndexMeaning::Step
                       ? index
                       : index / program.microbatches;
  }
  if (program.trains)
    json.member("iteration", iteration);
  else
    json.member("program", program.name);
}

std::string LastWords::textOf(const ActionRing &ring, int32_t rank,
                              const RankWait &wait,
                              const Ending &ending) const {
  const uint64_t nowTicks = Ticks::now();
  const int64_t now = nowNs() + offsetNs - originNs;
  const double nsPerTick = ticks.nsPerTick();
  auto nsOf = [&](uint64_t at) {
    return now -
           static_cast<int64_t>(nsPerTick * static_cast<double>(nowTicks - at));
  };
  const EdgeNames edges = edgeNamesOf(exe);
  const std::vector<ActionRing::Entry> entries = ring.last();
  JsonWriter json;
  json.object().member("format", "rondo-failure/1").member("run", name);
  json.member("program", exe.name);
  json.member("schedule",
              entries.empty() ? "" : ring.programOf(entries.back()).name);
  json.member("rank", rank).member("ranks", exe.numRanks);
  json.member("ended", ending.word).member("error", ending.text);
  json.member("ended_ns", now);
  json.member("actions_begun", static_cast<int64_t>(ring.begun()));
  json.key("actions").array();
  for (const ActionRing::Entry &entry : entries) {
    json.line().object();
    describe(json, entry, ring.programOf(entry));
    json.member("start_ns", nsOf(entry.beginTicks));
    if (!entry.isUnfinished)
      json.member("end_ns", nsOf(entry.endTicks));
    // The last message that it waited for.
    if (entry.edge >= 0 && (entry.readyTicks > 0 || !entry.isUnfinished)) {
      const EdgeDesc &edge = exe.edges[entry.edge];
      json.key("waited_for").object();
      json.member("rank", exe.replicas[edge.from].rank);
      json.member("name",
                  nameOf(edge.message, edges[entry.edge].from,
                         static_cast<int32_t>(entry.what & 0xffffffff)));
      if (entry.readyTicks > 0)
        json.member("ns", nsOf(entry.readyTicks) - nsOf(entry.beginTicks));
      json.end();
    }
    if (entry.isUnfinished) {
      json.member("unfinished", true);
      if (wait.onRank >= 0)
        json.key("waits_for")
            .object()
            .member("rank", wait.onRank)
            .member("what", wordOf(wait.what))
            .member("name", wait.name)
            .end();
    }
    json.end();
  }
  return json.end().end().text() + "\n";
}
