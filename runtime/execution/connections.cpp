//===- connections.cpp - The connections of an executable's ranks ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/connections.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo::runtime;

static bool isSame(const CollectiveParams &a, const CollectiveParams &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PartParams &x, const PartParams &y) {
                      return x.rank == y.rank && x.data == y.data &&
                             x.count == y.count &&
                             x.contributes == y.contributes;
                    });
}

Connections::Connections(State &state, const ProgramOptions &options)
    : options(options), replica(state), fault(options.fault) {
  const Executable &exe = state.executable();
  const World &world = state.world();
  TransportParams params;
  params.link = options.link;
  params.linkTrace = options.linkTrace;
  params.checks = options.checksMessages;
  params.edges = edgeNamesOf(exe);
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    wirings.emplace_back();
    params.ranksOfProgram.push_back(0);
    params.residentOfProgram.emplace_back();
    if (const int32_t *resident = exe.programs[p].resident)
      params.residentOfProgram.back().assign(
          resident, resident + exe.programs[p].numRanks);
    // The reference runs all stages in one process.
    if (world.isAlone() || exe.programs[p].numRanks == world.processes)
      add(exe.programs[p], params);
  }
  rings.resize(params.ranks);
  std::vector<Device *> devices;
  for (int32_t r = 0; r < params.ranks; ++r)
    devices.push_back(world.holds(r) ? &state.device(r) : nullptr);
  allChannels = params.channels;
  all = backendOf(exe).makeTransport(params, devices, options.transport, world);
}

void Connections::add(const ProgramDesc &program, TransportParams &params) {
  Wiring &wiring = wirings[program.id];
  wiring = wire(replica, program);
  params.ranksOfProgram[program.id] = program.numRanks;
  params.ranks = std::max(params.ranks, program.numRanks);
  for (const ChannelParams &channel : wiring.channels) {
    auto same = std::find_if(params.channels.begin(), params.channels.end(),
                             [&](const ChannelParams &other) {
                               return other.from == channel.from &&
                                      other.to == channel.to;
                             });
    wiring.channelNumbers.push_back(
        static_cast<int32_t>(same - params.channels.begin()));
    if (same == params.channels.end()) {
      params.channels.push_back(channel);
      continue;
    }
    same->messages = std::max(same->messages, channel.messages);
    same->isEndless |= channel.isEndless;
  }
  params.staging.resize(params.ranks);
  for (int32_t r = 0; r < program.numRanks; ++r) {
    const StagingParams own = wiring.staging[r];
    StagingParams &known = params.staging[r];
    if (own.bytes > 0 && known.bytes > 0 && own.data != known.data)
      throw Error("the staging of rank " + std::to_string(r) +
                  " lies at another place in program '" + program.name +
                  "' than in the programs before it");
    if (own.bytes > known.bytes)
      known = own;
  }
  for (size_t c = 0; c < wiring.collectives.size(); ++c) {
    const CollectiveParams &parts = wiring.collectives[c];
    size_t same = 0;
    while (same < params.collectives.size() &&
           !(allMoves[same] == wiring.moves[c] &&
             isSame(parts, params.collectives[same])))
      ++same;
    wiring.collectiveNumbers.push_back(static_cast<int32_t>(same));
    if (same < params.collectives.size()) {
      // Parts of other processes have no address here, so collectives that
      // other processes distinguish may look equal.
      if (!wiring.areTotals[c])
        params.areTotals[same] = false;
      continue;
    }
    params.collectives.push_back(parts);
    params.areTotals.push_back(wiring.areTotals[c]);
    allMoves.push_back(wiring.moves[c]);
  }
}

const Wiring &Connections::wiringFor(const ProgramDesc &program) const {
  const int32_t processes = replica.world().processes;
  if (!replica.world().isAlone() && program.numRanks != processes)
    throw Error("program '" + std::string(program.name) + "' has " +
                std::to_string(program.numRanks) + " ranks, but there are " +
                std::to_string(processes) + " processes");
  return wirings[program.id];
}
