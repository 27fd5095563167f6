//===- ClusterCards.cpp - Network cards of a node -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ClusterCards.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using llvm::StringRef;

namespace rondo::json {

namespace {

class CardReader {
public:
  CardReader(StringRef text, const std::vector<ClusterDevice> &devices,
             std::vector<ClusterCard> &cards)
      : text(text), devices(devices), cards(cards) {}

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
  std::vector<ClusterCard> &cards;
};

std::optional<TextFault>
CardReader::readDevices(Value list, const std::string &where,
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
             " again; a card has each device once";
    numbers.push_back(number);
  }
  if (numbers.empty())
    return at(list, where) + " is empty; leave it out for all devices of the "
                             "node";
  return {};
}

/// None of the devices is on a card before.
std::optional<TextFault>
CardReader::checkFree(Value value, const std::string &where,
                      const std::vector<int32_t> &numbers) const {
  for (const ClusterCard &card : cards)
    for (const int32_t number : numbers)
      if (llvm::is_contained(card.devices, number))
        return at(value, where) + " has device " +
               quoted(devices[number].name) + ", which is on card " +
               quoted(card.name) + " already; a device is on at most one card";
  return {};
}

std::optional<TextFault> CardReader::read(Value value,
                                          const std::string &where) {
  Fields fields;
  if (auto fault =
          fields.read(value, where, {"name", "bytes_per_us"}, {"devices"})) {
    fault->message = at(value, fault->message);
    return fault;
  }
  ClusterCard card;
  const Value &name = fields.get("name"), &rate = fields.get("bytes_per_us");
  if (!name.string() || name.string()->empty())
    return at(name, where + ".name is " + name.excerpt()) +
           ", not a string with a letter";
  card.name = *name.string();
  if (auto fault = readInteger(rate, at(rate, where + ".bytes_per_us"), 1,
                               mostClusterFigure, card.bytesPerUs))
    return fault;
  if (const Value *list = fields.find("devices")) {
    if (auto fault = readDevices(*list, where + ".devices", card.devices))
      return fault;
  } else {
    card.devices.resize(devices.size());
    std::iota(card.devices.begin(), card.devices.end(), 0);
  }
  if (auto fault = checkFree(value, where, card.devices))
    return fault;
  cards.push_back(std::move(card));
  return {};
}

} // namespace

std::optional<TextFault> readCards(StringRef text, Value list,
                                   const std::string &where,
                                   const std::vector<ClusterDevice> &devices,
                                   std::vector<ClusterCard> &cards) {
  if (!list.isArray())
    return list.placeIn(text) + ": " + where + " is " + list.excerpt() +
           ", not a list";
  CardReader reader(text, devices, cards);
  Elements walk(list);
  for (size_t k = 0; std::optional<Value> element = walk.next(); ++k)
    if (auto fault =
            reader.read(*element, where + "[" + std::to_string(k) + "]"))
      return fault;
  return {};
}

} // namespace rondo::json
