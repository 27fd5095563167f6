//===- ClusterReader.cpp - rondo-cluster to devices and links -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ClusterNics.h"

#include "llvm/ADT/STLExtras.h"

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

constexpr int64_t maxFigure = maxClusterFigure;
constexpr int64_t maxBytes = int64_t(1) << 62;

class ClusterReader {
public:
  explicit ClusterReader(StringRef text) : text(text) {}

  std::optional<TextFault> read();
  Cluster cluster;

private:
  std::string at(Value value, const std::string &where) const {
    return value.placeIn(text) + ": " + where;
  }
  /// With the place of the object.
  std::optional<TextFault>
  readFields(Fields &fields, Value value, const std::string &where,
             llvm::ArrayRef<StringRef> required,
             llvm::ArrayRef<StringRef> optional = {}) const {
    auto fault = fields.read(value, where, required, optional);
    if (fault)
      fault->message = at(value, fault->message);
    return fault;
  }
  std::optional<TextFault> readLink(Value value, const std::string &where,
                                    Link &link) const;
  std::optional<TextFault> readNode(Value value, const std::string &where);
  std::optional<TextFault> readDevices(Value value, const std::string &where,
                                       std::vector<ClusterDevice> &devices);
  std::optional<TextFault> readMatrix(Value value, const std::string &where,
                                      int64_t least,
                                      std::vector<int64_t> &figures) const;
  std::optional<TextFault> readMatrices(Value value);
  std::optional<TextFault> checkLinks(const Value *between,
                                      const Value *matrix);
  /// `list` has the nodes.
  std::optional<TextFault> checkNames(Value list) const;

  struct Node {
    /// In the text.
    Value value;
    std::string where;
    int32_t numDevices = 0;
    std::optional<Link> link;
  };

  StringRef text;
  std::vector<Node> nodes;
  /// By device.
  std::vector<int32_t> nodeOf;
};

std::optional<TextFault> ClusterReader::readLink(Value value,
                                                 const std::string &where,
                                                 Link &link) const {
  Fields fields;
  if (auto fault =
          readFields(fields, value, where, {"latency_ns", "bytes_per_us"}))
    return fault;
  const Value &latency = fields.get("latency_ns"),
              &rate = fields.get("bytes_per_us");
  if (auto fault = readInteger(latency, at(latency, where + ".latency_ns"), 0,
                               maxFigure, link.latencyNs))
    return fault;
  return readInteger(rate, at(rate, where + ".bytes_per_us"), 1, maxFigure,
                     link.bytesPerUs);
}

std::optional<TextFault>
ClusterReader::readDevices(Value value, const std::string &where,
                           std::vector<ClusterDevice> &devices) {
  Fields fields;
  if (auto fault = readFields(
          fields, value, where, {"name"},
          {"count", "memory_bytes", "flops_per_us", "peak_flops_per_us"}))
    return fault;
  ClusterDevice device;
  const Value &name = fields.get("name");
  if (!name.string() || name.string()->empty())
    return at(name, where + ".name is " + name.excerpt()) +
           ", not a string with a letter";
  int64_t count = 1;
  if (const Value *given = fields.find("count"))
    if (auto fault = readInteger(*given, at(*given, where + ".count"), 1,
                                 maxClusterDevices, count))
      return fault;
  if (const Value *given = fields.find("memory_bytes"))
    if (auto fault = readInteger(*given, at(*given, where + ".memory_bytes"), 1,
                                 maxBytes, device.memoryBytes))
      return fault;
  if (const Value *given = fields.find("flops_per_us"))
    if (auto fault = readInteger(*given, at(*given, where + ".flops_per_us"), 1,
                                 maxFigure, device.flopsPerUs))
      return fault;
  if (const Value *given = fields.find("peak_flops_per_us"))
    if (auto fault =
            readInteger(*given, at(*given, where + ".peak_flops_per_us"),
                        std::max<int64_t>(1, device.flopsPerUs), maxFigure,
                        device.peakFlopsPerUs))
      return fault;
  for (int64_t k = 0; k < count; ++k) {
    device.name =
        *name.string() + (count > 1 ? std::to_string(k) : std::string());
    devices.push_back(device);
  }
  return {};
}

std::optional<TextFault> ClusterReader::readNode(Value value,
                                                 const std::string &where) {
  Fields fields;
  if (auto fault = readFields(fields, value, where, {"devices"},
                              {"name", "count", "link", "nics"}))
    return fault;
  std::string prefix = "n" + std::to_string(nodes.size());
  if (const Value *name = fields.find("name")) {
    if (!name->string() || name->string()->empty())
      return at(*name, where + ".name is " + name->excerpt()) +
             ", not a string with a letter";
    prefix = *name->string();
  }
  int64_t count = 1;
  if (const Value *given = fields.find("count"))
    if (auto fault = readInteger(*given, at(*given, where + ".count"), 1,
                                 maxClusterDevices, count))
      return fault;
  Node node{value, where, 0, std::nullopt};
  if (const Value *link = fields.find("link"))
    if (auto fault = readLink(*link, where + ".link", node.link.emplace()))
      return fault;
  const Value &list = fields.get("devices");
  if (!list.isArray())
    return at(list, where + ".devices is " + list.excerpt()) + ", not a list";
  std::vector<ClusterDevice> devices;
  Elements walk(list);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k)
    if (auto fault = readDevices(
            *element, where + ".devices[" + std::to_string(k) + "]", devices))
      return fault;
  if (devices.empty())
    return at(list, where + ".devices") + " is empty";
  std::vector<ClusterNic> nics;
  if (const Value *given = fields.find("nics"); given && !given->isNull())
    if (auto fault = readNics(text, *given, where + ".nics", devices, nics))
      return fault;
  node.numDevices = static_cast<int32_t>(devices.size());
  const int64_t total =
      int64_t(cluster.devices.size()) + count * node.numDevices;
  if (total > maxClusterDevices)
    return at(value, where) + " makes a cluster of " + std::to_string(total) +
           " devices; the most are " + std::to_string(maxClusterDevices);
  for (int64_t k = 0; k < count; ++k) {
    const std::string own =
        prefix + (count > 1 ? "_" + std::to_string(k) : std::string()) + "_";
    for (ClusterNic nic : nics) {
      nic.name = own + nic.name;
      if (nics.size() > 1)
        nic.server = static_cast<int32_t>(nodes.size());
      for (int32_t &device : nic.devices)
        device += static_cast<int32_t>(cluster.devices.size());
      cluster.nics.push_back(std::move(nic));
    }
    for (ClusterDevice device : devices) {
      device.name = own + device.name;
      nodeOf.push_back(static_cast<int32_t>(nodes.size()));
      cluster.devices.push_back(std::move(device));
    }
    nodes.push_back(node);
  }
  return {};
}

std::optional<TextFault>
ClusterReader::readMatrix(Value value, const std::string &where, int64_t least,
                          std::vector<int64_t> &figures) const {
  const size_t count = cluster.devices.size();
  const std::string rule =
      "; a matrix has a row, and in it a column, for each of the " +
      std::to_string(count) + " devices";
  if (!value.isArray())
    return at(value, where + " is " + value.excerpt()) + ", not a list" + rule;
  Elements rows(value);
  size_t r = 0;
  for (; std::optional<Value> row = rows.next(); ++r) {
    const std::string whereRow = where + "[" + std::to_string(r) + "]";
    if (r == count)
      return at(*row, whereRow) + " is a row too many" + rule;
    if (!row->isArray())
      return at(*row, whereRow + " is " + row->excerpt()) + ", not a list" +
             rule;
    Elements cells(*row);
    size_t c = 0;
    for (; std::optional<Value> cell = cells.next(); ++c) {
      const std::string whereCell = whereRow + "[" + std::to_string(c) + "]";
      if (c == count)
        return at(*cell, whereCell) + " is a column too many" + rule;
      // Nothing is sent from a device to itself.
      if (auto fault =
              readInteger(*cell, at(*cell, whereCell), c == r ? 0 : least,
                          maxFigure, figures.emplace_back()))
        return fault;
    }
    if (c != count)
      return at(*row, whereRow) + " has " + std::to_string(c) + " columns" +
             rule;
  }
  if (r != count)
    return at(value, where) + " has " + std::to_string(r) + " rows" + rule;
  return {};
}

std::optional<TextFault> ClusterReader::readMatrices(Value value) {
  Fields fields;
  if (auto fault =
          readFields(fields, value, "matrix", {"latency_ns", "bytes_per_us"}))
    return fault;
  std::vector<int64_t> latencies, rates;
  if (auto fault = readMatrix(fields.get("latency_ns"), "matrix.latency_ns", 0,
                              latencies))
    return fault;
  if (auto fault = readMatrix(fields.get("bytes_per_us"), "matrix.bytes_per_us",
                              1, rates))
    return fault;
  const size_t count = cluster.devices.size();
  cluster.setLinks([&](int32_t from, int32_t to) {
    const size_t cell = from * count + to;
    return Link{latencies[cell], rates[cell]};
  });
  return {};
}

std::optional<TextFault> ClusterReader::checkLinks(const Value *between,
                                                   const Value *matrix) {
  if (matrix && between)
    return at(*between, "link") + " is given together with \"matrix\", which "
                                  "has every pair; leave one out";
  for (const Node &node : nodes) {
    if (matrix && node.link)
      return at(node.value, node.where) +
             ".link is given together with \"matrix\", "
             "which has every pair; leave one "
             "out";
    if (!matrix && !node.link && node.numDevices > 1)
      return at(node.value, "missing key \"link\" in ") + node.where +
             ", which has " + std::to_string(node.numDevices) +
             " devices: latency_ns and bytes_per_us between them, or a "
             "\"matrix\" of the cluster";
  }
  if (!matrix && !between && nodes.size() > 1)
    return at(Value(text), "missing key \"link\": latency_ns and bytes_per_us "
                           "between the ") +
           std::to_string(nodes.size()) + " nodes, or a \"matrix\"";
  return {};
}

std::optional<TextFault> ClusterReader::checkNames(Value list) const {
  std::set<StringRef> names;
  for (const auto &[device, node] : llvm::zip_equal(cluster.devices, nodeOf))
    if (!names.insert(device.name).second)
      return at(nodes[node].value, "two devices are named ") +
             quoted(device.name) +
             "; give the nodes or the devices other names";
  for (const ClusterNic &nic : cluster.nics)
    if (!names.insert(nic.name).second)
      return at(list, "a NIC and a device, or two NICs, are named ") +
             quoted(nic.name) + "; give the NICs other names";
  return {};
}

std::optional<TextFault> ClusterReader::read() {
  if (auto fault = checkSyntax(text))
    return fault;
  Fields fields;
  if (auto fault = readFields(fields, Value(text), "the cluster",
                              {"format", "nodes"}, {"name", "link", "matrix"}))
    return fault;
  if (fields.get("format").string() != "rondo-cluster/1")
    return at(fields.get("format"),
              "format is " + fields.get("format").excerpt()) +
           ", not \"rondo-cluster/1\"";
  if (const Value *name = fields.find("name")) {
    if (!name->string() || name->string()->empty())
      return at(*name, "name is " + name->excerpt()) +
             ", not a string with a letter";
    cluster.name = *name->string();
  }
  const Value &list = fields.get("nodes");
  if (!list.isArray())
    return at(list, "nodes is " + list.excerpt()) + ", not a list";
  Elements walk(list);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k)
    if (auto fault = readNode(*element, "nodes[" + std::to_string(k) + "]"))
      return fault;
  if (nodes.empty())
    return at(list, "nodes") + " is empty";
  const Value *between = fields.find("link"), *matrix = fields.find("matrix");
  if (auto fault = checkNames(list))
    return fault;
  if (auto fault = checkLinks(between, matrix))
    return fault;
  if (matrix)
    return readMatrices(*matrix);
  Link network;
  if (between)
    if (auto fault = readLink(*between, "link", network))
      return fault;
  cluster.setLinks([&](int32_t from, int32_t to) {
    return nodeOf[from] == nodeOf[to] ? *nodes[nodeOf[from]].link : network;
  });
  return {};
}

} // namespace

llvm::Expected<Cluster> readCluster(StringRef text) {
  ClusterReader reader(text);
  if (std::optional<TextFault> fault = reader.read())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   fault->message);
  return std::move(reader.cluster);
}

} // namespace rondo::json
