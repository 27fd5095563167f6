//===- ClusterReader.cpp - rondo-cluster to devices and links -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Cluster.h"

#include "formats/json/Rows.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>
#include <set>

using llvm::StringRef;

namespace rondo::json {

void Cluster::setLinks(
    llvm::function_ref<Link(int32_t from, int32_t to)> linkOf) {
  using Figures = std::pair<int64_t, int64_t>;
  const int32_t count = static_cast<int32_t>(devices.size());
  std::map<Figures, int64_t> uses;
  for (int32_t from = 0; from < count; ++from)
    for (int32_t to = 0; to < count; ++to)
      if (from != to) {
        const Link link = linkOf(from, to);
        ++uses[{link.latencyNs, link.bytesPerUs}];
      }
  Figures usual(0, 0);
  int64_t most = 0;
  for (const auto &[figures, number] : uses)
    if (number > most) {
      usual = figures;
      most = number;
    }
  link = {usual.first, usual.second};
  links.clear();
  for (int32_t from = 0; from < count; ++from)
    for (int32_t to = 0; to < count; ++to)
      if (from != to) {
        const Link own = linkOf(from, to);
        if (Figures(own.latencyNs, own.bytesPerUs) != usual)
          links[{from, to}] = own;
      }
}

namespace {

struct DeviceText : ClusterDevice {
  int64_t count = 1;
};

/// Devices are numbers in the node's list.
struct NicText : ClusterNic {
  std::optional<Value> value;
  /// Its devices; not stated: all.
  std::optional<Value> names;
};

struct NodeText {
  std::optional<Value> value;
  std::string name;
  int64_t count = 1;
  std::optional<Link> link;
  std::vector<DeviceText> devices;
  std::vector<NicText> nics;
  /// `count` of each of `devices`.
  std::vector<ClusterDevice> all;
};

struct MatrixText {
  std::optional<Value> latencies, rates;
};

struct ClusterText {
  std::string name = "cluster";
  std::vector<NodeText> nodes;
  std::optional<Link> link;
  std::optional<Value> linkValue, nodesValue;
  std::optional<MatrixText> matrix;
};

using Check = std::optional<TextFault>;

Check readPeak(const Place &place, Value value, DeviceText &device) {
  return readNumber(place, value,
                    {std::max<int64_t>(1, device.flopsPerUs), maxClusterFigure},
                    device.peakFlopsPerUs);
}

/// The devices of a NIC by their names.
Check readNames(const Place &place, const std::vector<ClusterDevice> &devices,
                NicText &nic) {
  if (!nic.names) {
    nic.devices.resize(devices.size());
    std::iota(nic.devices.begin(), nic.devices.end(), 0);
    return {};
  }
  if (!nic.names->isArray())
    return place.wrong(*nic.names, "a list");
  Elements walk(*nic.names);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k) {
    const std::optional<std::string> name = element->string();
    const auto found = llvm::find_if(devices, [&](const ClusterDevice &device) {
      return name == device.name;
    });
    if (found == devices.end())
      return place[k].fault(*element,
                            " is " + element->excerpt() +
                                ", no device of the node; the first is " +
                                quoted(devices.front().name));
    const auto number = static_cast<int32_t>(found - devices.begin());
    if (llvm::is_contained(nic.devices, number))
      return place[k].fault(*element, " is " + quoted(*name) +
                                          " again; a NIC has each device once");
    nic.devices.push_back(number);
  }
  if (nic.devices.empty())
    return place.fault(*nic.names,
                       " is empty; leave it out for all devices of the node");
  return {};
}

/// Repeats the devices of a node and finds those of its NICs, each of which is
/// on one at most.
Check checkNode(const Place &place, Value value, NodeText &node) {
  node.value = value;
  for (const DeviceText &device : node.devices)
    for (int64_t k = 0; k < device.count; ++k) {
      node.all.push_back(device);
      if (device.count > 1)
        node.all.back().name += std::to_string(k);
    }
  for (size_t k = 0; k < node.nics.size(); ++k) {
    NicText &nic = node.nics[k];
    if (auto fault = readNames(place["nics"][k]["devices"], node.all, nic))
      return fault;
    for (size_t before = 0; before < k; ++before)
      for (const int32_t number : nic.devices)
        if (llvm::is_contained(node.nics[before].devices, number))
          return place["nics"][k].fault(
              *nic.value, " has device " + quoted(node.all[number].name) +
                              ", which is on NIC " +
                              quoted(node.nics[before].name) +
                              " already; a device is on at most one NIC");
  }
  return {};
}

Check keepNic(const Place &, Value value, NicText &nic) {
  nic.value = value;
  return {};
}

#include "formats/json/ClusterKeys.def"

/// Adds the devices and NICs of all nodes.
class Builder {
public:
  Builder(const Place &place, const ClusterText &text, Cluster &cluster)
      : place(place), text(text), cluster(cluster) {}

  Check build(Value document);

private:
  Check addNode(size_t index);
  Check checkNames() const;
  Check checkLinks(Value document) const;
  Check readMatrix(const Place &place, Value value, int64_t least,
                   std::vector<int64_t> &figures) const;

  const Place &place;
  const ClusterText &text;
  Cluster &cluster;
  /// [device]: its entry of `text.nodes`, and its node, which entries repeat.
  std::vector<size_t> entryOf;
  std::vector<int32_t> nodeOf;
  int32_t numNodes = 0;
};

Check Builder::addNode(size_t index) {
  const NodeText &node = text.nodes[index];
  const int64_t total = int64_t(cluster.devices.size()) +
                        node.count * static_cast<int64_t>(node.all.size());
  if (total > maxClusterDevices)
    return place["nodes"][index].fault(
        *node.value, " makes a cluster of " + std::to_string(total) +
                         " devices; the most are " +
                         std::to_string(maxClusterDevices));
  const std::string prefix =
      node.name.empty() ? "n" + std::to_string(numNodes) : node.name;
  for (int64_t k = 0; k < node.count; ++k, ++numNodes) {
    const std::string own =
        prefix + (node.count > 1 ? "_" + std::to_string(k) : "") + "_";
    for (ClusterNic nic : node.nics) {
      nic.name = own + nic.name;
      if (node.nics.size() > 1)
        nic.server = numNodes;
      for (int32_t &device : nic.devices)
        device += static_cast<int32_t>(cluster.devices.size());
      cluster.nics.push_back(std::move(nic));
    }
    for (ClusterDevice device : node.all) {
      device.name = own + device.name;
      entryOf.push_back(index);
      nodeOf.push_back(numNodes);
      cluster.devices.push_back(std::move(device));
    }
  }
  return {};
}

/// The rows and columns of `value`, a matrix of figures of `least` or more.
Check Builder::readMatrix(const Place &place, Value value, int64_t least,
                          std::vector<int64_t> &figures) const {
  const size_t count = cluster.devices.size();
  const std::string rule =
      "; a matrix has a row, and in it a column, for each of the " +
      std::to_string(count) + " devices";
  if (!value.isArray())
    return place.wrong(value, "a list" + rule);
  Elements rows(value);
  size_t r = 0;
  for (; std::optional<Value> row = rows.next(); ++r) {
    const Place here = place[r];
    if (r == count)
      return here.fault(*row, " is a row too many" + rule);
    if (!row->isArray())
      return here.wrong(*row, "a list" + rule);
    Elements cells(*row);
    size_t c = 0;
    for (; std::optional<Value> cell = cells.next(); ++c) {
      if (c == count)
        return here[c].fault(*cell, " is a column too many" + rule);
      // Nothing is sent from a device to itself.
      if (auto fault =
              readNumber(here[c], *cell, {c == r ? 0 : least, maxClusterFigure},
                         figures.emplace_back()))
        return fault;
    }
    if (c != count)
      return here.fault(*row, " has " + std::to_string(c) + " columns" + rule);
  }
  if (r != count)
    return place.fault(value, " has " + std::to_string(r) + " rows" + rule);
  return {};
}

Check Builder::checkLinks(Value document) const {
  const char *advice = " is given together with \"matrix\", which has every "
                       "pair; leave one out";
  if (text.matrix && text.linkValue)
    return place["link"].fault(*text.linkValue, advice);
  for (size_t index = 0; index < text.nodes.size(); ++index) {
    const NodeText &node = text.nodes[index];
    if (text.matrix && node.link)
      return place["nodes"][index].fault(*node.value,
                                         std::string(".link") + advice);
    if (!text.matrix && !node.link && node.all.size() > 1)
      return TextFault(place.mark(*node.value) + "missing key \"link\" in " +
                       place["nodes"][index].path() + ", which has " +
                       std::to_string(node.all.size()) +
                       " devices: latency_ns and bytes_per_us between them, "
                       "or a \"matrix\" of the cluster");
  }
  if (!text.matrix && !text.link && numNodes > 1)
    return TextFault(place.mark(document) +
                     "missing key \"link\": latency_ns and bytes_per_us "
                     "between the " +
                     std::to_string(numNodes) + " nodes, or a \"matrix\"");
  return {};
}

Check Builder::checkNames() const {
  std::set<StringRef> names;
  for (const auto &[device, entry] : llvm::zip_equal(cluster.devices, entryOf))
    if (!names.insert(device.name).second)
      return TextFault(place.mark(*text.nodes[entry].value) +
                       "two devices are named " + quoted(device.name) +
                       "; give the nodes or the devices other names");
  for (const ClusterNic &nic : cluster.nics)
    if (!names.insert(nic.name).second)
      return TextFault(place.mark(*text.nodesValue) +
                       "a NIC and a device, or two NICs, are named " +
                       quoted(nic.name) + "; give the NICs other names");
  return {};
}

Check Builder::build(Value document) {
  cluster.name = text.name;
  for (size_t index = 0; index < text.nodes.size(); ++index)
    if (auto fault = addNode(index))
      return fault;
  if (auto fault = checkNames())
    return fault;
  if (auto fault = checkLinks(document))
    return fault;
  if (!text.matrix) {
    cluster.setLinks([&](int32_t from, int32_t to) {
      return nodeOf[from] == nodeOf[to] ? *text.nodes[entryOf[from]].link
                                        : *text.link;
    });
    return {};
  }
  std::vector<int64_t> latencies, rates;
  if (auto fault = readMatrix(place["matrix"]["latency_ns"],
                              *text.matrix->latencies, 0, latencies))
    return fault;
  if (auto fault = readMatrix(place["matrix"]["bytes_per_us"],
                              *text.matrix->rates, 1, rates))
    return fault;
  cluster.setLinks([&](int32_t from, int32_t to) {
    const size_t cell = from * cluster.devices.size() + to;
    return Link{latencies[cell], rates[cell]};
  });
  return {};
}

} // namespace

const TableBase &clusterTable() { return clusterText(); }

Result<Cluster> readCluster(StringRef text) {
  Context context;
  context.text = text;
  const Place place(context, "the cluster");
  ClusterText read;
  Cluster cluster;
  std::optional<TextFault> fault = checkSyntax(text);
  if (!fault)
    fault = clusterText().read(place, Value(text), read);
  if (!fault)
    fault = Builder(place, read, cluster).build(Value(text));
  if (fault)
    return *fault;
  return std::move(cluster);
}

} // namespace rondo::json
