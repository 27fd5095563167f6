//===- session.cpp - This process's part in a run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/session.h"

#include "kinds/Counts.h"
#include "runtime/backend/backend.h"
#include "runtime/base/clock.h"
#include "runtime/launch/world.h"

#include <cstdio>
#include <cstdlib>

using rondo::countOf;
using namespace rondo::runtime;

/// Equal in processes that can work together.
static std::string nameOfProgram(const Executable &exe) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3;
  };
  for (int32_t r = 0; r < exe.numRanks; ++r)
    add(exe.arenaBytes[r]);
  for (int32_t s = 0; s < exe.numStages; ++s)
    add(exe.stages[s].numLayers);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    add(exe.replicas[h].stage);
    add(exe.replicas[h].rank);
    for (int64_t bytes : exe.programs[0].shares[h].bytes)
      add(bytes);
  }
  for (int32_t e = 0; e < exe.numEdges; ++e) {
    add(exe.edges[e].from);
    add(exe.edges[e].to);
  }
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    add(exe.programs[p].microbatches);
    add(exe.programs[p].samples);
    add(exe.programs[p].predictedNs);
    const OverlapDesc *overlap = exe.programs[p].overlap;
    add(overlap ? overlap->numDelays : 0);
    for (int32_t h = 0; overlap && h < exe.numReplicas; ++h)
      for (int32_t m = 0; m < overlap->numDelays; ++m) {
        add(overlap->versions[h].forward[m]);
        add(overlap->versions[h].backward[m]);
        add(overlap->versions[h].recompute[m]);
      }
    for (int32_t h = 0; h < exe.numReplicas; ++h) {
      add(exe.programs[p].shares[h].samples);
      add(exe.programs[p].shares[h].turns);
    }
  }
  return std::string(exe.name) + "." + std::to_string(hash);
}

/// The place of this process, which is the only one if the program's ranks are
/// threads.
static Launch launchOf(const Executable &exe, const LaunchFlags &flags) {
  if (const ProcessSupport *support = backendOf(exe).processes)
    return support->discover(flags, std::getenv);
  if (flags.rank >= 0 || flags.worldSize >= 0 || !flags.rendezvous.empty())
    throw Error("the ranks of '" + std::string(exe.name) +
                    "' are threads of one process: start it once, without "
                    "--rank, --world-size and --rdzv",
                Exit::Usage);
  return {};
}

bool rondo::runtime::isFirstProcess(const Executable &executable) {
  try {
    return launchOf(executable, {}).rank == 0;
  } catch (const Error &) {
    return true;
  }
}

/// Throws if the program cannot run in this number of processes.
static void checkSize(const Executable &exe, const Launch &launch) {
  if (launch.size == exe.numRanks)
    return;
  if (launch.rank != 0)
    throw PeerFailed{Exit::Usage};
  throw Error("'" + std::string(exe.name) + "' has " +
                  countOf(exe.numRanks, "rank") + ", but " + launch.source +
                  " started " + std::to_string(launch.size) +
                  " processes: start " + std::to_string(exe.numRanks) +
                  ", or 1 that runs all ranks as threads",
              Exit::Usage);
}

/// Ends the process with an error if a call of MPI, which waits for the other
/// processes and cannot be interrupted, does not return.
static DeadlineGuard guardOf(const Launch &launch, const char *what,
                             double seconds) {
  return DeadlineGuard(seconds, [=] {
    sayError("rank " + std::to_string(launch.rank) + " waits in " + what +
             ", which did not return within " + secondsText(seconds));
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(Exit::RunFailure));
  });
}

Session::Session(const Executable &executable, const LaunchFlags &flags,
                 double joinSeconds, double timeoutSeconds, const Fault &fault)
    : launch(launchOf(executable, flags)),
      support(backendOf(executable).processes), timeoutSeconds(timeoutSeconds) {
  if (launch.size == 1) {
    store = makeLocalStore();
    place.store = store.get();
    return;
  }
  checkSize(executable, launch);
  if (support->start) {
    const DeadlineGuard guard =
        guardOf(launch, "'join' for MPI_Init of all ranks", joinSeconds);
    support->start(launch);
  }
  StoreParams params;
  params.process = launch.rank;
  params.processes = launch.size;
  params.job = launch.job;
  params.program = nameOfProgram(executable);
  params.secret = support->secret(flags.secretFile, std::getenv);
  params.joinSeconds = joinSeconds;
  params.timeoutSeconds = timeoutSeconds;
  Rendezvous where;
  if (launch.rendezvous)
    where = *launch.rendezvous;
  if (support->broadcast && flags.rendezvous.empty()) {
    where = Rendezvous();
    where.isLocal = launch.localSize == launch.size;
    where.broadcast = support->broadcast;
  } else if (!launch.rendezvous) {
    if (launch.rank != 0)
      throw PeerFailed{Exit::Usage};
    throw Error(launch.source +
                    " gives its processes no common address: add --rdzv "
                    "HOST:PORT or --rdzv file:///PATH",
                Exit::Usage);
  }
  if (fault.phase && fault.rank == launch.rank)
    params.entered = [fault](Phase phase) { strikeAt(fault, phase); };
  {
    // Process 0's address comes by a broadcast, which waits for it.
    const DeadlineGuard guard =
        guardOf(launch, "'join' for MPI_Bcast of rank 0",
                where.broadcast ? joinSeconds + silenceSeconds : 0);
    store = support->join(params, where);
  }
  place.process = launch.rank;
  place.processes = launch.size;
  place.localProcess = launch.localRank;
  place.localProcesses = launch.localSize > 0 ? launch.localSize : launch.size;
  place.startedBy = launch.source;
  place.store = store.get();
}

int Session::leave(int status) {
  enter(place, Phase::Leave);
  status =
      std::atoi(store
                    ->exchange("the end of the run", std::to_string(status),
                               Store::Patience::WhileAlive)
                    .front()
                    .c_str());
  if (!place.isAlone() && support->stop) {
    const DeadlineGuard guard = guardOf(
        launch, "'leave' for MPI_Finalize of all ranks", timeoutSeconds);
    support->stop();
  }
  store->leave();
  return status;
}
