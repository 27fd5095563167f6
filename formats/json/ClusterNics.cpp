//===- ClusterNics.cpp - NICs of a node -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ClusterNics.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using llvm::StringRef;

namespace rondo::json {

namespace {

class NicReader {
public:
  NicReader(StringRef text, const std::vector<ClusterDevice> &devices,
            std::vector<ClusterNic> &nics)
      : text(text), devices(devices), nics(nics) {}

  std::optional<TextFault> read(Value value, const std::string &where);

private:
  std::string at(Value value, const std::string &where) const {
    return value.placeIn(text) + ": " + where;
  }
  std::optional<TextFault> readDevices(Value list, const std::string &where,
                                       std::vector<int32_t> &numbers) const;
  std::optional<TextFault> checkFree(Value value, const std::string &where,
                                     const std::vector<int32_t> &numbers) const;

  StringRef text;
  const std::vector<ClusterDevice> &devices;
  std::vector<ClusterNic> &nics;
};

std::optional<TextFault>
NicReader::readDevices(Value list, const std::string &where,
                       std::vector<int32_t> &numbers) const {
  if (!list.isArray())
    return at(list, where + " is " + list.excerpt()) + ", not a list";
  Elements walk(list);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k) {
    const std::optional<std::string> name = element->string();
    const auto found = llvm::find_if(devices, [&](const ClusterDevice &device) {
      return name == device.name;
    });
    const std::string here = where + "[" + std::to_string(k) + "]";
    if (found == devices.end())
      return at(*element, here + " is " + element->excerpt()) +
             ", no device of the node; the first is " +
             quoted(devices.front().name);
    const auto number = static_cast<int32_t>(found - devices.begin());
    if (llvm::is_contained(numbers, number))
      return at(*element, here) + " is " + quoted(*name) +
             " again; a NIC has each device once";
    numbers.push_back(number);
  }
  if (numbers.empty())
    return at(list, where) + " is empty; leave it out for all devices of the "
                             "node";
  return {};
}

/// None of the devices is on a NIC before.
std::optional<TextFault>
NicReader::checkFree(Value value, const std::string &where,
                     const std::vector<int32_t> &numbers) const {
  for (const ClusterNic &nic : nics)
    for (const int32_t number : numbers)
      if (llvm::is_contained(nic.devices, number))
        return at(value, where) + " has device " +
               quoted(devices[number].name) + ", which is on NIC " +
               quoted(nic.name) + " already; a device is on at most one NIC";
  return {};
}

std::optional<TextFault> NicReader::read(Value value,
                                         const std::string &where) {
  Fields fields;
  if (auto fault =
          fields.read(value, where, {"name", "bytes_per_us"}, {"devices"})) {
    fault->message = at(value, fault->message);
    return fault;
  }
  ClusterNic nic;
  const Value &name = fields.get("name"), &rate = fields.get("bytes_per_us");
  if (!name.string() || name.string()->empty())
    return at(name, where + ".name is " + name.excerpt()) +
           ", not a string with a letter";
  nic.name = *name.string();
  if (auto fault = readInteger(rate, at(rate, where + ".bytes_per_us"), 1,
                               maxClusterFigure, nic.bytesPerUs))
    return fault;
  if (const Value *list = fields.find("devices")) {
    if (auto fault = readDevices(*list, where + ".devices", nic.devices))
      return fault;
  } else {
    nic.devices.resize(devices.size());
    std::iota(nic.devices.begin(), nic.devices.end(), 0);
  }
  if (auto fault = checkFree(value, where, nic.devices))
    return fault;
  nics.push_back(std::move(nic));
  return {};
}

} // namespace

std::optional<TextFault> readNics(StringRef text, Value list,
                                  const std::string &where,
                                  const std::vector<ClusterDevice> &devices,
                                  std::vector<ClusterNic> &nics) {
  if (!list.isArray())
    return list.placeIn(text) + ": " + where + " is " + list.excerpt() +
           ", not a list";
  NicReader reader(text, devices, nics);
  Elements walk(list);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k)
    if (auto fault =
            reader.read(*element, where + "[" + std::to_string(k) + "]"))
      return fault;
  return {};
}

} // namespace rondo::json
