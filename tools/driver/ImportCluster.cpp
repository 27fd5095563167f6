//===- ImportCluster.cpp - rondo import cluster ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ClusterPresets.h"
#include "formats/Topology.h"
#include "formats/json/Documents.h"
#include "formats/ops/Imports.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

#define OPTIONS "tools/driver/ImportCluster.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Kinds of files that `rondo import cluster` reads.
constexpr formats::FileKind kindsOfClusters[] = {formats::FileKind::Cluster,
                                                 formats::FileKind::Topology};

/// A cluster, and what its file says about the figures.
struct Source {
  json::Cluster cluster;
  std::vector<std::string> comments;

  void say(const Twine &comment) { comments.push_back(comment.str()); }
};

std::string shortNumber(double number) {
  std::string text;
  raw_string_ostream(text) << format("%g", number);
  return text;
}

/// Reads `share`, or reports; returns the exit code, like all below.
int readEfficiency(const Arguments &arguments, double &share) {
  share = formats::defaultEfficiency;
  const std::string text = arguments.text("efficiency");
  if (!text.empty() &&
      (StringRef(text).getAsDouble(share) || !(share >= 0.001 && share <= 1)))
    return reportUsage("--efficiency is '" + text +
                       "'; it must be from 0.001 to 1, such as 0.4");
  return Success;
}

/// Takes `KIND=N,...` into the figures by kind.
int readKinds(const Arguments &arguments, StringRef option, int64_t least,
              MutableArrayRef<formats::PathKind> kinds, int64_t Link::*figure) {
  SmallVector<StringRef> pairs;
  const std::string text = arguments.text(option);
  if (!text.empty())
    StringRef(text).split(pairs, ',');
  for (StringRef pair : pairs) {
    const auto [name, digits] = pair.split('=');
    auto *kind = find_if(kinds, [name = name](const formats::PathKind &known) {
      return name == known.name;
    });
    if (kind == kinds.end()) {
      std::string known;
      for (const formats::PathKind &one : kinds)
        known += (known.empty() ? "" : ", ") + std::string(one.name);
      return reportUsage("--" + option + " has '" + pair + "'; kinds are " +
                         known + ", as in NV=25000");
    }
    int64_t number = 0;
    if (digits.getAsInteger(10, number) || number < least ||
        number > json::maxClusterFigure)
      return reportUsage("--" + option + " has '" + pair + "'; " + name +
                         " takes a whole number from " + Twine(least) + " to " +
                         Twine(json::maxClusterFigure));
    kind->link.*figure = number;
    if (figure == &Link::bytesPerUs) {
      kind->source = "--rates";
      kind->links = 1;
    }
  }
  return Success;
}

/// Sets the figures of a data sheet.
int describe(const Arguments &arguments, const formats::DevicePreset &preset,
             json::ClusterDevice &device, Source &source) {
  double efficiency = 0;
  if (int code = readEfficiency(arguments, efficiency))
    return code;
  device.memoryBytes = preset.memoryBytes;
  device.flopsPerUs = std::llround(efficiency * double(preset.peakFlopsPerUs));
  device.peakFlopsPerUs = preset.peakFlopsPerUs;
  source.say(Twine("memory_bytes and peak: ") + preset.source);
  source.say("flops_per_us: " + shortNumber(efficiency) + " of the peak, " +
             Twine(preset.peakFlopsPerUs) +
             "; layers achieve a share of it (--efficiency)");
  if (!arguments.has("host-links"))
    return Success;
  const formats::HostLinkPreset host = preset.hostLink();
  device.hostLink = host.link;
  source.say(Twine("host_link, one direction: ") + host.source +
             "; its latency is an assumption");
  return Success;
}

/// Adds `count` devices for each of the nodes.
int addDevices(const Arguments &arguments, StringRef prefix, int64_t count,
               json::ClusterDevice device, Source &source) {
  const int64_t nodes = arguments.number("nodes", 1);
  if (nodes > json::maxClusterDevices / count)
    return reportUsage(
        "--nodes is " + Twine(nodes) + ", of " + countOf(count, "device") +
        " each; a cluster has at most " + Twine(json::maxClusterDevices));
  for (int64_t n = 0; n < nodes; ++n)
    for (int64_t k = 0; k < count; ++k) {
      device.name = ((nodes > 1 ? "n" + Twine(n) + "_" : Twine()) + prefix +
                     "_" + Twine(k))
                        .str();
      source.cluster.devices.push_back(device);
    }
  return Success;
}

/// Adds the NICs of nodes of `count` devices each, where they share
/// any.
int addNics(const Arguments &arguments, int64_t count, int64_t usual,
            const char *origin, const Link &network, Source &source) {
  const int64_t nodes = arguments.number("nodes", 1),
                nics = arguments.number("nics", usual);
  if (nodes == 1 && arguments.has("nics"))
    return reportUsage(
        "--nics connects nodes, but there is one: give --nodes N");
  if (nodes == 1 || nics == 0)
    return Success;
  if (count % nics != 0)
    return reportUsage("--nics is " + Twine(nics) + ", but a node has " +
                       countOf(count, "device") +
                       ": each NIC takes an equal part of them");
  source.say("NICs of a node: " + (arguments.has("nics")
                                       ? Twine(nics) + " (--nics)"
                                       : Twine(origin)));
  const int64_t each = count / nics;
  for (int64_t n = 0; n < nodes; ++n)
    for (int64_t k = 0; k < nics; ++k) {
      json::ClusterNic nic;
      nic.name = ("n" + Twine(n) + "_nic_" + Twine(k)).str();
      nic.bytesPerUs = network.bytesPerUs;
      if (nics > 1)
        nic.server = static_cast<int32_t>(n);
      for (int64_t d = 0; d < each; ++d)
        nic.devices.push_back(static_cast<int32_t>(n * count + k * each + d));
      source.cluster.nics.push_back(std::move(nic));
    }
  return Success;
}

/// Changes the link between nodes to what the options say.
int readNetwork(const Arguments &arguments, const char *origin, Link &network,
                Source &source) {
  const int64_t nodes = arguments.number("nodes", 1);
  network.bytesPerUs = arguments.number("network", network.bytesPerUs);
  network.latencyNs = arguments.number("network-latency", network.latencyNs);
  for (auto [option, figure] : {std::pair("network", network.bytesPerUs),
                                {"network-latency", network.latencyNs}}) {
    if (nodes == 1 && arguments.has(option))
      return reportUsage(Twine("--") + option +
                         " connects nodes, but there is one: give --nodes N");
    if (figure > json::maxClusterFigure)
      return reportUsage(Twine("--") + option + " is " + Twine(figure) +
                         "; the most is " + Twine(json::maxClusterFigure));
  }
  if (nodes > 1 && network.bytesPerUs == 0)
    return reportUsage("--nodes is " + Twine(nodes) +
                       ", and what connects them is not known: give --network "
                       "N, the bytes per microsecond between devices of two "
                       "nodes");
  if (nodes > 1)
    source.say(Twine("link between nodes, one direction: ") +
               (arguments.has("network") ? "--network" : origin));
  source.say("latency_ns: assumptions; `./train --links` measures both "
             "figures of a link");
  return Success;
}

int readPreset(const Arguments &arguments, Source &source) {
  const formats::NodePreset &node =
      *formats::findNodePreset(arguments.text("preset"));
  source.say(countOf(arguments.number("nodes", 1), "node") + " of preset " +
             node.name + "; GB and TFLOP/s are 10^9 and 10^12");
  json::ClusterDevice device;
  if (int code = describe(arguments, *formats::findDevicePreset(node.device),
                          device, source))
    return code;
  if (int code =
          addDevices(arguments, node.device, node.numDevices, device, source))
    return code;
  source.say(Twine("link within a node, one direction: ") + node.linkSource());
  Link network = node.network;
  if (int code = readNetwork(arguments, node.networkSource, network, source))
    return code;
  if (int code = addNics(arguments, node.numDevices, node.numNics,
                         node.nicSource, network, source))
    return code;
  const Link link = node.link();
  source.cluster.setLinks([&](int32_t from, int32_t to) {
    return from / node.numDevices == to / node.numDevices ? link : network;
  });
  return Success;
}

/// Whether two different devices have a path of this kind.
bool uses(const formats::Topology &topology, unsigned kind) {
  const size_t count = topology.devices.size();
  for (size_t from = 0; from < count; ++from)
    for (size_t to = 0; to < count; ++to)
      if (from != to && topology.paths[from][to].kind == kind)
        return true;
  return false;
}

/// Checks that the device, if it is known, has the NVLinks of the topology.
int checkNvLinks(const formats::Topology &topology,
                 const formats::DevicePreset *device, const std::string &path) {
  const size_t count = topology.devices.size();
  for (size_t from = 0; device && from < count; ++from)
    for (size_t to = 0; to < count; ++to) {
      const formats::Path way = topology.paths[from][to];
      const int64_t own = device->nvLinks.count;
      if (from == to || way.kind != 0 || way.links <= own)
        continue;
      return reportFault(
          path, "line " + Twine(topology.lines[from]) + ": row " +
                    topology.devices[from] + " has " + nameOf(way) +
                    " in column " + topology.devices[to] + ", but --device " +
                    device->name + " has " +
                    (own == 0 ? Twine("no NVLinks")
                              : Twine(own) + " NVLinks at most") +
                    ": give another --device, or the bytes per microsecond "
                    "of a link as --rates NV=N");
    }
  return Success;
}

/// Lets the devices behind one PCIe switch share a link to the host.
void addHostLinks(const Arguments &arguments, const formats::Topology &topology,
                  Source &source) {
  const std::vector<std::vector<int32_t>> switches =
      formats::switchesOf(topology);
  const int64_t nodes = arguments.number("nodes", 1);
  for (int64_t n = 0; n < nodes; ++n)
    for (const std::vector<int32_t> &behind : switches) {
      json::ClusterHostLink &link = source.cluster.hostLinks.emplace_back();
      for (int32_t device : behind)
        link.devices.push_back(
            static_cast<int32_t>(n * topology.devices.size()) + device);
    }
  if (!switches.empty())
    source.say("host links: devices with paths PIX or PXB are behind one PCIe "
               "switch and share its link, of the rate of one device");
}

int readTopology(const Arguments &arguments, StringRef text,
                 const std::string &path, Source &source) {
  const formats::DevicePreset *preset =
      formats::findDevicePreset(arguments.text("device"));
  std::vector<formats::PathKind> kinds = formats::pathKindsOf(preset);
  if (int code = readKinds(arguments, "rates", 1, kinds, &Link::bytesPerUs))
    return code;
  if (int code = readKinds(arguments, "latencies", 0, kinds, &Link::latencyNs))
    return code;
  Result<formats::Topology> topology = formats::readTopology(text);
  if (!topology)
    return reportUnread(path, text, kindsOfClusters,
                        describe(topology.fault()));
  const bool hasNvRate = StringRef(kinds.front().source) == "--rates";
  if (int code = hasNvRate ? Success : checkNvLinks(*topology, preset, path))
    return code;
  const int64_t count = topology->devices.size();
  source.say(countOf(arguments.number("nodes", 1), "node") +
             " by nvidia-smi topo -m, of " + countOf(count, "GPU"));
  json::ClusterDevice device;
  std::string prefix = "gpu";
  if (preset) {
    prefix = preset->name;
    if (int code = describe(arguments, *preset, device, source))
      return code;
  } else if (arguments.has("efficiency")) {
    return reportUsage("--efficiency is a share of a data sheet's peak: give "
                       "--device too");
  } else if (arguments.has("host-links")) {
    return reportUsage("--host-links are those of a data sheet: give --device "
                       "too");
  } else {
    source.say("devices: a topology states neither memory nor speed; --device "
               "adds those of a data sheet");
  }
  if (int code = addDevices(arguments, prefix, count, device, source))
    return code;
  for (auto [k, kind] : enumerate(kinds))
    if (uses(*topology, k))
      source.say(Twine(kind.name) + ", " + kind.meaning + ": " + kind.source);
  if (!preset && !hasNvRate && uses(*topology, 0))
    reportNote(
        "without --device, an NVLink is assumed to pass " +
        Twine(kinds.front().link.bytesPerUs) +
        " bytes/us in one direction, as in V100, A100 and H100; --device "
        "or --rates NV=N states another rate");
  if (!topology->nics.empty())
    source.say("NICs, which carry nothing between the devices of a "
               "node: " +
               join(topology->nics, ", "));
  if (arguments.has("host-links"))
    addHostLinks(arguments, *topology, source);
  Link network{20000, 0};
  if (int code = readNetwork(arguments, "", network, source))
    return code;
  if (int code = addNics(arguments, count, 0, "", network, source))
    return code;
  source.cluster.setLinks([&](int32_t from, int32_t to) {
    if (from / count != to / count)
      return network;
    Link link = linkOf(topology->paths[from % count][to % count], kinds);
    link.bytesPerUs = std::min(link.bytesPerUs, json::maxClusterFigure);
    return link;
  });
  return Success;
}

int readSource(const Arguments &arguments, const std::string &path,
               Source &source) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  const StringRef text =
      json::splitDocuments("", buffer->getBuffer()).front().text;
  if (!text.ltrim().starts_with("{"))
    return readTopology(arguments, text, path, source);
  for (StringRef option :
       {"device", "nodes", "efficiency", "rates", "latencies", "network",
        "network-latency", "nics", "host-links"})
    if (arguments.has(option))
      return reportUsage("--" + option + " is not for " + path +
                         ": a rondo-cluster states all figures itself");
  Result<json::Cluster> cluster = json::readCluster(text);
  if (!cluster)
    return reportUnread(path, text, kindsOfClusters, describe(cluster.fault()));
  source.cluster = std::move(*cluster);
  return Success;
}

int run(const Arguments &arguments) {
  const std::string path = arguments.file();
  const std::string output = arguments.text("output", "-");
  const bool hasPreset = arguments.has("preset");
  if (path.empty() != hasPreset)
    return reportUsage(hasPreset
                           ? "import cluster takes a file or --preset, not both"
                           : "import cluster needs a file: a rondo-cluster or "
                             "the output of nvidia-smi topo -m; or --preset");
  if (hasPreset)
    for (StringRef option : {"device", "rates", "latencies"})
      if (arguments.has(option))
        return reportUsage("--" + option +
                           " is for a topology, not for --preset");
  if (int code =
          checkOutputs(inputFiles(arguments, {}), {{"--output", output}}))
    return code;
  Source source;
  if (int code = hasPreset ? readPreset(arguments, source)
                           : readSource(arguments, path, source))
    return code;
  json::Cluster &cluster = source.cluster;
  cluster.name = arguments.text("name", cluster.name);
  Session session("");
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importCluster(cluster, session.context());
  if (!module)
    return Failure;
  if (int code = writeOps(output, *module, [&](raw_ostream &os) {
        for (const std::string &comment : source.comments)
          os << "// " << comment << "\n";
      }))
    return code;
  reportWritten(output, "pipe.cluster @" + Twine(cluster.name) + ", " +
                            countOf(cluster.devices.size(), "device"));
  return Success;
}

void printPresets(raw_ostream &os) {
  for (const formats::NodePreset &preset : formats::nodePresets())
    os << "  " << left_justify(preset.name, 24) << preset.numDevices << " "
       << preset.device << ", " << preset.link().bytesPerUs
       << " bytes/us between two of them\n";
}

} // namespace

const Command &importClusterCommand() {
  static const Command command{
      150,
      "import cluster",
      "make a pipe.cluster of a description or nvidia-smi's topology",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]", "--preset NAME [-o FILE] [OPTIONS]"},
      {"rondo import cluster --preset 8xh100 --nodes 2 -o cluster.mlir",
       "nvidia-smi topo -m | rondo import cluster - --device h100",
       "rondo import cluster lab.json -o cluster.mlir"},
      "presets",
      printPresets,
      run};
  return command;
}

} // namespace rondo::driver
