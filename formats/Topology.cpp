//===- Topology.cpp - What nvidia-smi topo -m prints ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Topology.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace rondo::formats {

ArrayRef<PathKind> pathKinds() {
  constexpr const char *pcie =
      "PCIe 4.0 x16 in one direction: 16 lanes of 16 GT/s, 128 of 130 bits";
  // Latencies are assumptions of the usual order of magnitude.
  static const PathKind kinds[] = {
      {"NV",
       "NVLinks, as many as the number says",
       {5000, 25000},
       "25 GB/s a link in one direction: NVLink 2 to 4 (V100, A100, H100)"},
      {"PIX", "at most one PCIe bridge", {8000, 31508}, pcie},
      {"PXB", "several PCIe bridges", {8000, 31508}, pcie},
      {"PHB", "a PCIe host bridge", {10000, 31508}, pcie},
      {"NODE", "host bridges of one NUMA node", {10000, 31508}, pcie},
      {"SYS", "the link between NUMA nodes", {12000, 31508}, pcie},
  };
  return kinds;
}

namespace {

/// `GPU3`, `NIC0`, `mlx5_2`; headings such as `CPU Affinity` follow them.
bool isDevice(StringRef name) {
  return name.consume_front("GPU") && !name.empty() &&
         llvm::all_of(name, llvm::isDigit);
}
bool isCard(StringRef name) {
  if (name.starts_with("mlx"))
    return true;
  return name.consume_front("NIC") && !name.empty() &&
         llvm::all_of(name, llvm::isDigit);
}

llvm::Error fault(int64_t line, const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "line " + Twine(line) + ": " + message);
}

/// A line without the escapes that underline the heading on a terminal.
std::string plain(StringRef line) {
  std::string text;
  while (!line.empty()) {
    if (line.consume_front("\x1b[")) {
      line = line.drop_while([](char c) { return !llvm::isAlpha(c); });
      line = line.drop_front(line.empty() ? 0 : 1);
      continue;
    }
    text += line.front();
    line = line.drop_front();
  }
  return text;
}

SmallVector<StringRef> wordsOf(StringRef line) {
  SmallVector<StringRef> words;
  llvm::SplitString(line, words, " \t\r");
  return words;
}

/// nullopt if it is no kind of path.
std::optional<Path> pathOf(StringRef cell) {
  for (auto [k, kind] : llvm::enumerate(pathKinds())) {
    if (k > 0 && cell == kind.name)
      return Path{static_cast<unsigned>(k), 1};
    StringRef digits = cell;
    int64_t links;
    if (k == 0 && digits.consume_front(kind.name) &&
        !digits.getAsInteger(10, links) && links >= 1 && links <= 1024)
      return Path{0, links};
  }
  return std::nullopt;
}

std::string knownPaths() {
  std::string names = "X";
  for (const PathKind &kind : pathKinds())
    names += std::string(", ") + kind.name +
             (StringRef(kind.name) == "NV" ? "1, NV2 and so on" : "");
  return names;
}

class TopologyReader {
public:
  llvm::Error read(StringRef text);
  Topology topology;

private:
  llvm::Error readRow(ArrayRef<StringRef> words);
  llvm::Error checkSymmetry() const;

  int64_t line = 0;
  /// Devices and cards in the order of the heading.
  std::vector<std::string> columns;
  /// By device.
  std::vector<int64_t> lines;
};

llvm::Error TopologyReader::readRow(ArrayRef<StringRef> words) {
  const size_t row = lines.size();
  const std::vector<std::string> &devices = topology.devices;
  if (row == devices.size() || words[0] != devices[row])
    return fault(line, "row " + words[0] + " stands where " +
                           (row == devices.size() ? StringRef("the legend")
                                                  : StringRef(devices[row])) +
                           " is expected: rows and columns have one order");
  if (words.size() < columns.size() + 1)
    return fault(line, "row " + words[0] + " has " + Twine(words.size() - 1) +
                           " cells, fewer than the " + Twine(columns.size()) +
                           " devices and cards of the heading");
  std::vector<Path> paths;
  for (auto [column, cell] :
       llvm::zip(columns, words.drop_front().take_front(columns.size()))) {
    const bool isSelf = column == words[0];
    const std::optional<Path> path = pathOf(cell);
    if (isSelf != (cell == "X") || (!path && cell != "X"))
      return fault(line, "row " + words[0] + " has '" + cell + "' in column " +
                             column + "; known are " + knownPaths() +
                             ", and X only of a device to " + "itself");
    if (isDevice(column))
      paths.push_back(path.value_or(Path()));
  }
  topology.paths.push_back(std::move(paths));
  lines.push_back(line);
  return llvm::Error::success();
}

llvm::Error TopologyReader::checkSymmetry() const {
  const auto nameOf = [](Path path) {
    return pathKinds()[path.kind].name +
           (path.kind == 0 ? std::to_string(path.links) : std::string());
  };
  const size_t count = topology.devices.size();
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b) {
      const Path there = topology.paths[a][b], back = topology.paths[b][a];
      if (there.kind != back.kind || there.links != back.links)
        return fault(lines[a], "row " + topology.devices[a] + " has " +
                                   nameOf(there) + " in column " +
                                   topology.devices[b] + ", but row " +
                                   topology.devices[b] + " in line " +
                                   Twine(lines[b]) + " has " + nameOf(back) +
                                   " in column " + topology.devices[a] +
                                   ": a path is the same both ways");
    }
  return llvm::Error::success();
}

llvm::Error TopologyReader::read(StringRef text) {
  SmallVector<StringRef> all;
  text.split(all, '\n');
  for (StringRef each : all) {
    ++line;
    const std::string shown = plain(each);
    const SmallVector<StringRef> words = wordsOf(shown);
    if (words.empty())
      continue;
    if (words[0] == "Legend:")
      break;
    if (columns.empty()) {
      for (StringRef word : words) {
        if (!isDevice(word) && !isCard(word))
          break;
        columns.push_back(word.str());
        (isDevice(word) ? topology.devices : topology.cards)
            .push_back(word.str());
      }
      if (topology.devices.empty())
        return fault(line, "a heading with GPU0 is expected, as `nvidia-smi "
                           "topo -m` prints it");
    } else if (isDevice(words[0])) {
      if (llvm::Error error = readRow(words))
        return error;
    } else if (!isCard(words[0])) {
      return fault(line, "'" + words[0] +
                             "' begins neither a row of a GPU or a network "
                             "card nor the legend");
    }
  }
  if (columns.empty())
    return fault(line, "the file is empty; a heading with GPU0 is expected, as "
                       "`nvidia-smi topo -m` prints it");
  if (lines.size() != topology.devices.size())
    return fault(line, "the row of " + topology.devices[lines.size()] +
                           " is missing; the heading has " +
                           Twine(topology.devices.size()) + " GPUs");
  return checkSymmetry();
}

} // namespace

llvm::Expected<Topology> readTopology(StringRef text) {
  TopologyReader reader;
  if (llvm::Error error = reader.read(text))
    return std::move(error);
  return std::move(reader.topology);
}

} // namespace rondo::formats
