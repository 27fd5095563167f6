//===- ProblemVersion2.cpp - rondo-problem/2 to Problem -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemParts.h"
#include "formats/json/ShardedStages.h"
#include "formats/json/Version2.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <set>

using llvm::StringRef;

namespace rondo::json {

namespace {

std::optional<TextFault> readDuplex(const Fields &fields,
                                    const std::string &where) {
  return takesWord("full", "half", fields, "duplex", where);
}

/// The cap of a rank and, if stated, the device memory and state that it is
/// computed from.
std::optional<TextFault> readCap(const Fields &fields, const std::string &where,
                                 int64_t &cap,
                                 std::optional<DeviceMemory> &device) {
  cap = noMemoryCap;
  const Value *memory = fields.find("memory_bytes");
  if (memory)
    if (auto fault = readMemory(*memory, where + ".memory_bytes", cap))
      return fault;
  if (auto fault = takesOnly(100, fields, "speed_percent", where + "."))
    return fault;
  const Value *value = fields.find("device");
  if (!value)
    return {};
  Fields parts;
  const std::string inside = where + ".device";
  if (auto fault = parts.read(*value, inside, {"memory_bytes", "state_bytes"}))
    return fault;
  device.emplace();
  if (auto fault = readMemory(parts.get("memory_bytes"),
                              inside + ".memory_bytes", device->deviceBytes))
    return fault;
  if (auto fault =
          readInteger(parts.get("state_bytes"), inside + ".state_bytes", 0,
                      maxFigure, device->stateBytes))
    return fault;
  int64_t left =
      device->deviceBytes == noMemoryCap
          ? noMemoryCap
          : std::max<int64_t>(device->deviceBytes - device->stateBytes, 0);
  if (!memory)
    cap = left;
  else if (cap != left)
    return where + ".memory_bytes is " + memory->excerpt() +
           ", but the state leaves " +
           (left == noMemoryCap ? "no cap" : std::to_string(left)) +
           " of the device";
  return {};
}

std::optional<TextFault> readHost(const Value &value, const std::string &where,
                                  HostCosts &host) {
  Fields fields;
  if (auto fault = fields.read(
          value, where, {}, {"action_ns", "send_ns", "receive_ns", "wait_ns"}))
    return fault;
  for (auto [key, ns] : {std::pair("action_ns", &host.actionNs),
                         {"send_ns", &host.sendNs},
                         {"receive_ns", &host.receiveNs},
                         {"wait_ns", &host.waitNs}})
    if (const Value *figure = fields.find(key))
      if (auto fault =
              readInteger(*figure, where + "." + key, 0, maxFigure, *ns))
        return fault;
  return {};
}

/// `host` is of ranks that state none.
std::optional<TextFault> readRanks(const Value &ranks, const HostCosts &host,
                                   Problem &problem) {
  if (!ranks.isArray())
    return "ranks is not a list";
  bool hasDevices = false, hasHosts = !(host == HostCosts());
  Elements walk(ranks);
  while (std::optional<Value> rank = walk.next()) {
    std::string where = element("ranks", problem.memoryCaps.size());
    Fields fields;
    if (auto fault =
            fields.read(*rank, where, {},
                        {"memory_bytes", "device", "speed_percent", "host"}))
      return fault;
    int64_t cap;
    std::optional<DeviceMemory> device;
    if (auto fault = readCap(fields, where, cap, device))
      return fault;
    problem.hosts.push_back(host);
    if (const Value *own = fields.find("host")) {
      problem.hosts.back() = HostCosts();
      if (auto fault = readHost(*own, where + ".host", problem.hosts.back()))
        return fault;
    }
    hasHosts |= !(problem.hosts.back() == HostCosts());
    hasDevices |= device.has_value();
    problem.memoryCaps.push_back(cap);
    problem.devices.push_back(device.value_or(DeviceMemory{cap, 0}));
  }
  if (!hasHosts)
    problem.hosts.clear();
  if (!hasDevices)
    problem.devices.clear();
  if (problem.memoryCaps.empty())
    return "ranks is empty";
  return {};
}

std::optional<TextFault> readEdge(const Value &value, const std::string &where,
                                  const Problem &problem, Edge &forward,
                                  Edge &gradient, bool &isRecomputed) {
  Fields fields;
  if (auto fault = fields.read(value, where, {"from", "to", "bytes"},
                               {"gradient_bytes", "recomputed"}))
    return fault;
  isRecomputed = false;
  if (const Value *again = fields.find("recomputed")) {
    const std::optional<bool> is = again->boolean();
    if (!is)
      return where + ".recomputed is " + again->excerpt() +
             ", not true or false";
    isRecomputed = *is;
  }
  int64_t ends[2];
  for (int i = 0; i < 2; ++i)
    if (auto fault = readInteger(fields.get(i ? "to" : "from"),
                                 where + (i ? ".to" : ".from"), 0,
                                 problem.numStages() - 1, ends[i]))
      return fault;
  if (ends[0] >= ends[1])
    return where + " goes from stage " + std::to_string(ends[0]) +
           " to stage " + std::to_string(ends[1]) +
           "; an edge goes from an earlier stage to a later one";
  const auto from = static_cast<int32_t>(ends[0]);
  const auto to = static_cast<int32_t>(ends[1]);
  forward = {from, to, ActionKind::Forward, 0};
  if (auto fault = readInteger(fields.get("bytes"), where + ".bytes", 0,
                               maxFigure, forward.bytes))
    return fault;
  gradient = {to, from, ActionKind::InputGrad, forward.bytes};
  const Value *bytes = fields.find("gradient_bytes");
  if (!bytes)
    return {};
  if (bytes->isNull())
    return notTaken(where + ".gradient_bytes null");
  return readInteger(*bytes, where + ".gradient_bytes", 0, maxFigure,
                     gradient.bytes);
}

/// Edges of activations first, then those of gradients, as in makeChain(), and
/// then those of what R makes.
std::optional<TextFault> readEdges(const Value &edges, Problem &problem) {
  if (!edges.isArray())
    return "edges is not a list";
  // Edges between stages, which the replicas divide.
  std::vector<Edge> forwards, gradients, recomputed;
  std::set<std::pair<int32_t, int32_t>> pairs;
  Elements walk(edges);
  for (size_t index = 0; std::optional<Value> value = walk.next(); ++index) {
    const std::string where = element("edges", index);
    Edge forward, gradient;
    bool isRecomputed = false;
    if (auto fault =
            readEdge(*value, where, problem, forward, gradient, isRecomputed))
      return fault;
    if (!pairs.insert({forward.from, forward.to}).second)
      return where + " is the second one from stage " +
             std::to_string(forward.from) + " to stage " +
             std::to_string(forward.to);
    forwards.push_back(forward);
    gradients.push_back(gradient);
    if (!isRecomputed)
      continue;
    const int32_t first = problem.replicas.numberOf(forward.to);
    if (!problem.recomputes(first))
      return where + " is recomputed, but stage " + std::to_string(forward.to) +
             " does not recompute: its costs have no R";
    for (const Replica &replica : problem.replicas.of(forward.to))
      problem.recomputation[first + replica.index] = Recomputation::FromStage;
    forward.producer = ActionKind::Recompute;
    recomputed.push_back(forward);
  }
  for (const std::vector<Edge> &list : {forwards, gradients, recomputed})
    for (const Edge &edge : list)
      problem.addStageEdge(edge.from, edge.to, edge.producer, edge.bytes);
  return {};
}

std::optional<TextFault> readChannels(const Value &value, Problem &problem) {
  Fields fields;
  if (auto fault =
          fields.read(value, "channels", {},
                      {"protocol", "receive_slots", "queues", "resident"}))
    return fault;
  ChannelModel &channels = problem.channels;
  if (const Value *protocol = fields.find("protocol")) {
    std::optional<std::string> name = protocol->string();
    if (name != "rendezvous" && name != "eager")
      return "channels.protocol is " + protocol->excerpt() +
             ", not \"rendezvous\" or \"eager\"";
    channels.protocol =
        name == "eager" ? Protocol::Eager : Protocol::Rendezvous;
  }
  if (const Value *slots = fields.find("receive_slots");
      slots && !slots->isNull()) {
    int64_t number;
    if (auto fault = readInteger(*slots, "channels.receive_slots", 1,
                                 std::numeric_limits<int32_t>::max(), number))
      return fault;
    channels.receiveSlots = static_cast<int32_t>(number);
  }
  if (const Value *queues = fields.find("queues")) {
    std::optional<std::string> name = queues->string();
    if (name != "pair" && name != "rank")
      return "channels.queues is " + queues->excerpt() +
             ", not \"pair\" or \"rank\"";
    channels.queues = name == "rank" ? Queues::PerRank : Queues::PerPair;
  }
  const Value *resident = fields.find("resident");
  return resident && !resident->isNull() ? notTaken("channels.resident")
                                         : std::optional<TextFault>();
}

/// The ranks behind a NIC, each of which is on no other.
std::optional<TextFault> readRanksOf(const Value &list, const std::string &key,
                                     Problem &problem) {
  if (!list.isArray())
    return key + " is " + list.excerpt() + ", not a list";
  Elements walk(list);
  size_t count = 0;
  for (; std::optional<Value> element = walk.next(); ++count) {
    const std::string where = key + "[" + std::to_string(count) + "]";
    int64_t rank;
    if (auto fault = readRank(*element, where, problem, rank))
      return fault;
    int32_t &nic = problem.nics.ofRank[rank];
    if (nic >= 0)
      return where + " is " + std::to_string(rank) + ", which is on nics[" +
             std::to_string(nic) + "] already; a rank is on at most one NIC";
    nic = problem.nics.count();
  }
  if (count == 0)
    return key + " is empty";
  return {};
}

std::optional<TextFault> readNics(const Value &nics, Problem &problem) {
  if (!nics.isArray())
    return "nics is " + nics.excerpt() + ", not a list";
  Elements walk(nics);
  while (std::optional<Value> nic = walk.next()) {
    const std::string where =
        element("nics", static_cast<size_t>(problem.nics.count()));
    Fields fields;
    if (auto fault = fields.read(*nic, where, {"ranks", "bytes_per_us"},
                                 {"server", "duplex"}))
      return fault;
    if (auto fault = readDuplex(fields, where))
      return fault;
    problem.nics.ofRank.resize(problem.memoryCaps.size(), -1);
    if (auto fault =
            readRanksOf(fields.get("ranks"), where + ".ranks", problem))
      return fault;
    int64_t rate;
    if (auto fault = readInteger(fields.get("bytes_per_us"),
                                 where + ".bytes_per_us", 1, maxFigure, rate))
      return fault;
    int64_t server = -1;
    if (const Value *given = fields.find("server"))
      if (auto fault = readInteger(*given, where + ".server", 0,
                                   std::numeric_limits<int32_t>::max(), server))
        return fault;
    problem.nics.bytesPerUs.push_back(rate);
    problem.nics.servers.push_back(static_cast<int32_t>(server));
  }
  return {};
}

} // namespace

std::optional<TextFault> readVersion2(Value object, Problem &problem) {
  Fields fields;
  if (auto fault = fields.read(
          object, "problem",
          {"format", "name", "microbatches", "ranks", "stages", "edges"},
          {"samples", "iterations", "link", "links", "nics", "channels", "host",
           "objective", "provenance"}))
    return fault;
  if (auto fault = readName(fields, problem))
    return fault;
  if (auto fault = readMicrobatches(fields, problem))
    return fault;
  if (const Value *provenance = fields.find("provenance"))
    if (auto fault = readAnyObject(*provenance, "provenance"))
      return fault;
  if (const Value *iterations = fields.find("iterations")) {
    int64_t number;
    if (auto fault = readInteger(
            *iterations, "iterations", 1,
            std::max<int64_t>(1, maxMicrobatches / problem.microbatches),
            number))
      return fault;
    problem.iterations = static_cast<int32_t>(number);
    problem.microbatches *= problem.iterations;
  }
  if (const Value *samples = fields.find("samples")) {
    int64_t number;
    if (auto fault = readInteger(*samples, "samples", 1, maxSamples, number))
      return fault;
    problem.samples = static_cast<int32_t>(number);
    problem.statesSamples = true;
  }
  HostCosts host;
  if (const Value *value = fields.find("host"))
    if (auto fault = readHost(*value, "host", host))
      return fault;
  if (auto fault = readRanks(fields.get("ranks"), host, problem))
    return fault;
  if (auto fault = readStagesVersion2(fields.get("stages"), problem))
    return fault;
  if (auto fault = readEdges(fields.get("edges"), problem))
    return fault;
  if (!problem.hosts.empty() && problem.replicas.areRoundRobin())
    return "host costs and stages that assign micro-batches are not supported "
           "together";
  problem.addHostCosts();
  if (auto fault = readLinks(fields, {"duplex"}, readDuplex, problem))
    return fault;
  if (const Value *nics = fields.find("nics"))
    if (auto fault = readNics(*nics, problem))
      return fault;
  if (auto fault = addShardCosts(problem))
    return fault;
  if (const Value *channels = fields.find("channels"))
    if (auto fault = readChannels(*channels, problem))
      return fault;
  return readObjective(fields, problem);
}

} // namespace rondo::json
