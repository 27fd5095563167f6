//===- world.cpp - The processes of a run and what they are doing ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/world.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/launch/local_store.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unistd.h>

using namespace rondo::runtime;

std::string rondo::runtime::thisHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// Indexed by Phase.
static const char *const names[] = {
    "join",           "data",   "connect", "meet",   "iterate",
    "take transfers", "switch", "save",    "gather", "leave"};

const char *rondo::runtime::nameOf(Phase phase) {
  return names[static_cast<size_t>(phase)];
}

std::optional<Phase> rondo::runtime::phaseNamed(const std::string &name) {
  for (size_t p = 0; p < sizeof names / sizeof *names; ++p)
    if (name == names[p])
      return static_cast<Phase>(p);
  return std::nullopt;
}

void rondo::runtime::enter(const World &world, Phase phase) {
  if (world.store)
    world.store->enter(phase);
}

std::string rondo::runtime::ranksText(const std::vector<int32_t> &ranks) {
  constexpr size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > most)
    text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

void DiskPhase::progress() {
  ++steps;
  if (world.isAlone())
    return;
  constexpr int64_t everyNs = 20'000'000;
  const int64_t now = nowNs();
  if (now - lastNs < everyNs)
    return;
  lastNs = now;
  world.store->check();
  // In the form of a RankStatus.
  world.store->report(std::to_string(steps) + " -1 rank " +
                      std::to_string(world.process) + " " + what);
}

//===----------------------------------------------------------------------===//
// The store of a run of one process.
//===----------------------------------------------------------------------===//

Store::~Store() = default;

std::unique_ptr<Store> rondo::runtime::makeLocalStore() {
  return std::make_unique<LocalStore>();
}

//===----------------------------------------------------------------------===//
// Messages to the user.
//===----------------------------------------------------------------------===//

void rondo::runtime::sayError(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  const char *path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!path)
    return;
  try {
    JsonWriter json;
    json.object().key("message").object().member("message", message);
    json.key("extraInfo").object();
    json.member("timestamp", std::to_string(std::time(nullptr)));
    json.end().end().end();
    // torchrun fails if it finds a partly written file.
    writeTextFile(path, path, json.text() + "\n");
  } catch (const std::exception &) {
    // The message is on standard error.
  }
}

void rondo::runtime::sayNote(const std::string &message) {
  std::fprintf(stderr, "note: %s\n", message.c_str());
}
