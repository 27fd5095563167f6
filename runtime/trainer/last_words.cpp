//===- last_words.cpp - What ranks did when a run failed ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/last_words.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/exclusive_file.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/safetensors.h"

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

/// With the rights of its owner alone: paths and texts of errors are his.
static bool writeOwn(const std::string &path, const std::string &text) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  const int descriptor = makeExclusiveFile(temporary);
  if (descriptor < 0)
    return false;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  int error = done == text.size() ? 0 : errno;
  if (close(descriptor) != 0 && error == 0)
    error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error == 0)
    return true;
  std::remove(temporary.c_str());
  errno = error;
  return false;
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
      if (!writeOwn(path, content))
        std::fprintf(stderr, "note: cannot write '%s': %s\n", path.c_str(),
                     std::strerror(errno));
  };
}

namespace {

/// Members of an object, one after another.
class Object {
public:
  Object &text(const char *key, const std::string &value) {
    return raw(key, jsonString(value));
  }
  Object &number(const char *key, int64_t value) {
    return raw(key, std::to_string(value));
  }
  Object &raw(const char *key, const std::string &value) {
    members +=
        (members.empty() ? "\"" : ",\"") + std::string(key) + "\":" + value;
    return *this;
  }
  std::string end() const { return "{" + members + "}"; }

private:
  std::string members;
};

} // namespace

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

/// What an entry is: its name, and what the name is made of.
static Object describe(const ActionRing::Entry &entry,
                       const ActionRing::Program &program) {
  const uint64_t kind = entry.what >> 58;
  Object object;
  int64_t iteration = entry.before + 1;
  if (kind >= ActionRing::Begin) {
    const char *word = kind == ActionRing::Begin   ? "begin"
                       : kind == ActionRing::Drain ? "drain"
                                                   : "idle";
    object.text("action", word).text("kind", word);
  } else {
    const auto number = static_cast<int64_t>(entry.what >> 32 & 0xffffff),
               index = static_cast<int64_t>(entry.what & 0xffffffff);
    const rondo::ActionTraits &traits =
        rondo::traitsOf(static_cast<ActionKind>(kind));
    object.text("action", actionName(traits.kind,
                                     static_cast<Message>(entry.what >> 56 & 3),
                                     number, index));
    object.text("kind", traits.keyword);
    object.number(traits.subject == rondo::Subject::Collective ? "collective"
                                                               : "stage",
                  number);
    if (traits.index == rondo::IndexMeaning::Microbatch)
      object.number("microbatch", index);
    if (traits.movesState())
      object.number("unit", index);
    if (program.overlaps)
      iteration += traits.index == rondo::IndexMeaning::Step
                       ? index
                       : index / program.microbatches;
  }
  if (program.trains)
    object.number("iteration", iteration);
  else
    object.text("program", program.name);
  return object;
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
  Object file;
  file.text("format", "rondo-failure/1").text("run", name);
  file.text("program", exe.name);
  file.text("schedule",
            entries.empty() ? "" : ring.programOf(entries.back()).name);
  file.number("rank", rank).number("ranks", exe.numRanks);
  file.text("ended", ending.word).text("error", ending.text);
  file.number("ended_ns", now);
  file.number("actions_begun", static_cast<int64_t>(ring.begun()));
  std::string actions;
  for (const ActionRing::Entry &entry : entries) {
    Object object = describe(entry, ring.programOf(entry));
    object.number("start_ns", nsOf(entry.beginTicks));
    if (!entry.isUnfinished)
      object.number("end_ns", nsOf(entry.endTicks));
    // Of the message that it waited for last.
    if (entry.edge >= 0 && (entry.readyTicks > 0 || !entry.isUnfinished)) {
      const EdgeDesc &edge = exe.edges[entry.edge];
      Object waited;
      waited.number("rank", exe.replicas[edge.from].rank);
      waited.text("name",
                  nameOf(edge.message, edges[entry.edge].from,
                         static_cast<int32_t>(entry.what & 0xffffffff)));
      if (entry.readyTicks > 0)
        waited.number("ns", nsOf(entry.readyTicks) - nsOf(entry.beginTicks));
      object.raw("waited_for", waited.end());
    }
    if (entry.isUnfinished) {
      object.raw("unfinished", "true");
      if (wait.onRank >= 0)
        object.raw("waits_for", Object()
                                    .number("rank", wait.onRank)
                                    .text("what", wordOf(wait.what))
                                    .text("name", wait.name)
                                    .end());
    }
    actions += (actions.empty() ? "\n " : ",\n ") + object.end();
  }
  file.raw("actions", "[" + actions + "]");
  return file.end() + "\n";
}
