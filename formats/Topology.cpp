//===- Topology.cpp - What nvidia-smi topo -m prints ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Topology.h"

#include "formats/TopologyWords.h"
#include "formats/json/Value.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace rondo::formats {

ArrayRef<PathKind> pathKinds() {
  constexpr const char *pcie =
      "PCIe 4.0 x16 in one direction: 16 lanes of 16 GT/s, 128 of 130 bits; "
      "an assumption without --device";
  // Latencies are assumptions of the usual order of magnitude.
  static const PathKind kinds[] = {
      {"NV",
       "NVLinks, as many as the number says",
       {5000, 25000},
       "25 GB/s a link in one direction: NVLink 2 to 4 (V100, A100, H100), an "
       "assumption without --device"},
      {"PIX", "at most one PCIe bridge", {8000, 31508}, pcie},
      {"PXB", "several PCIe bridges", {8000, 31508}, pcie},
      {"PHB", "a PCIe host bridge", {10000, 31508}, pcie},
      {"NODE", "host bridges of one NUMA node", {10000, 31508}, pcie},
      {"SYS", "the link between NUMA nodes", {12000, 31508}, pcie},
  };
  return kinds;
}

std::optional<Path> pathOf(StringRef cell) {
  // Old drivers print SOC for SYS and PSB for PIX.
  cell = cell == "SOC" ? "SYS" : cell == "PSB" ? "PIX" : cell;
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

namespace {

using Word = TopologyWord;
using Words = std::vector<TopologyWord>;

/// `GPU3`.
bool isDevice(StringRef name) {
  return name.consume_front("GPU") && !name.empty() &&
         llvm::all_of(name, llvm::isDigit);
}

/// `NIC0`, or the name that the driver of a NIC gives it: `mlx5_2`,
/// `bnxt_re0`, `rocep33s0f0`.
bool isNic(StringRef name) {
  return !isDevice(name) && name.size() > 1 && llvm::isAlpha(name.front()) &&
         llvm::isDigit(name.back()) && llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '-';
         });
}

std::optional<Fault> fault(int64_t line, const Twine &message) {
  return json::TextFault("line " + Twine(line) + ": " + message);
}

std::optional<Fault> fault(int64_t line, const Word &word,
                           const Twine &message) {
  return json::TextFault("line " + Twine(line) + ", column " +
                         Twine(word.column) + ": " + message);
}

bool isCell(StringRef text) { return text == "X" || pathOf(text); }

std::string knownPaths() {
  std::string names = "X";
  for (const PathKind &kind : pathKinds())
    names += std::string(", ") + kind.name +
             (StringRef(kind.name) == "NV" ? "1, NV2 and so on" : "");
  return names;
}

bool hasCell(ArrayRef<Word> words) {
  return llvm::any_of(words,
                      [](const Word &word) { return isCell(word.text); });
}

class TopologyReader {
public:
  std::optional<Fault> read(StringRef text);
  /// Whether there are a heading and a row.
  bool recognizes(StringRef text);
  Topology topology;

private:
  bool readHeading(ArrayRef<Word> words);
  std::optional<Fault> readLine(ArrayRef<Word> words);
  std::optional<Fault> readRow(ArrayRef<Word> words);
  std::optional<Fault> checkComplete() const;
  std::optional<Fault> checkEnd() const;
  std::optional<Fault> checkSymmetry() const;

  bool isComplete() const {
    return !columns.empty() && topology.lines.size() == topology.devices.size();
  }

  int64_t line = 0;
  /// The first line that says something, for an error about a missing heading.
  int64_t firstLine = 0;
  /// The word that a quotation or a tool that runs commands on nodes puts
  /// before each line, of the last heading.
  std::string prefix;
  /// Devices and NICs in the order of the heading.
  std::vector<std::string> columns;
  bool hasSecondHeading = false, isInLegend = false;
};

/// Takes the columns of a line such as `GPU0 GPU1 NIC0 CPU Affinity`; false if
/// the line is no heading. One word may precede the columns.
bool TopologyReader::readHeading(ArrayRef<Word> words) {
  const bool hasPrefix = words.size() > 1 && !isDevice(words[0].text);
  const ArrayRef<Word> names = words.drop_front(hasPrefix);
  if (!isDevice(names.front().text) || hasCell(names))
    return false;
  size_t count = 0;
  while (count < names.size() &&
         (isDevice(names[count].text) || isNic(names[count].text)))
    ++count;
  if (count < names.size() && names[count].text != "CPU" &&
      names[count].text != "NUMA" && names[count].text != "GPU")
    return false;
  prefix = hasPrefix ? words.front().text : std::string();
  if (!columns.empty()) {
    hasSecondHeading = true;
    return true;
  }
  for (const Word &name : names.take_front(count)) {
    columns.push_back(name.text);
    (isDevice(name.text) ? topology.devices : topology.nics)
        .push_back(name.text);
  }
  return true;
}

std::optional<Fault> TopologyReader::readRow(ArrayRef<Word> words) {
  const size_t row = topology.lines.size();
  const std::vector<std::string> &devices = topology.devices;
  const std::string &name = words[0].text;
  if (row == devices.size() || name != devices[row])
    return fault(line, words[0],
                 "row " + name + " stands where " +
                     (row == devices.size() ? StringRef("the legend")
                                            : StringRef(devices[row])) +
                     " is expected: rows and columns have one order");
  if (words.size() < columns.size() + 1)
    return fault(line, words[0],
                 "row " + name + " has " + countOf(words.size() - 1, "cell") +
                     ", but the heading has " +
                     countOf(columns.size(), "column") +
                     "; join the lines if a terminal wrapped them");
  std::vector<Path> paths;
  for (auto [column, cell] :
       llvm::zip(columns, words.drop_front().take_front(columns.size()))) {
    const bool isSelf = column == name;
    const std::optional<Path> path = pathOf(cell.text);
    if (isFused(cell.text))
      return fault(line, cell,
                   "row " + name + " has '" + cell.text + "' in column " +
                       column + ": two cells without a blank between them");
    if (isSelf != (cell.text == "X") || (!path && cell.text != "X"))
      return fault(line, cell,
                   "row " + name + " has '" + cell.text + "' in column " +
                       column + "; known are " + knownPaths() +
                       ", and X only of a device to itself");
    if (isDevice(column))
      paths.push_back(path.value_or(Path()));
  }
  topology.paths.push_back(std::move(paths));
  topology.lines.push_back(line);
  return std::nullopt;
}

std::optional<Fault> TopologyReader::checkSymmetry() const {
  const size_t count = topology.devices.size();
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b) {
      const Path there = topology.paths[a][b], back = topology.paths[b][a];
      if (there.kind != back.kind || there.links != back.links)
        return fault(topology.lines[a],
                     "row " + topology.devices[a] + " has " + nameOf(there) +
                         " in column " + topology.devices[b] + ", but row " +
                         topology.devices[b] + " in line " +
                         Twine(topology.lines[b]) + " has " + nameOf(back) +
                         " in column " + topology.devices[a] +
                         ": a path is the same both ways");
    }
  return std::nullopt;
}

/// A line that is not blank. What precedes the heading, such as a prompt, and
/// what follows the last row without a cell is no part of the table.
std::optional<Fault> TopologyReader::readLine(ArrayRef<Word> words) {
  if (readHeading(words))
    return std::nullopt;
  if (!prefix.empty() && words.front().text == prefix)
    words = words.drop_front();
  if (words.empty())
    return std::nullopt;
  const Word &first = words.front();
  const bool isRow = isDevice(first.text) && hasCell(words.drop_front());
  if (columns.empty() && isRow)
    return fault(line, first,
                 "row " + first.text +
                     " has no heading above it; a heading with GPU0 is "
                     "expected, as `nvidia-smi topo -m` prints it");
  if (hasSecondHeading) {
    // Other tables have such a heading too, of `nvidia-smi topo -p2p` for one.
    if (isRow && llvm::any_of(words, [](const Word &word) {
          return pathOf(word.text).has_value();
        }))
      return fault(line, first,
                   "a second topology begins above this row; a file has that "
                   "of one node, and --nodes N repeats it");
    return std::nullopt;
  }
  if (columns.empty() || isInLegend)
    return std::nullopt;
  isInLegend = StringRef(first.text).starts_with("Legend");
  if (isInLegend)
    return checkComplete();
  if (isDevice(first.text))
    return readRow(words);
  const bool isNicRow = llvm::is_contained(columns, first.text);
  const bool isRule = llvm::all_of(words, [](const Word &word) {
    return StringRef(word.text).find_first_not_of("-=+:`~") == StringRef::npos;
  });
  if (isNicRow || isRule || (isComplete() && !hasCell(words)))
    return std::nullopt;
  if (isFused(first.text))
    return fault(line, first,
                 "'" + first.text + "' are cells without a blank between them");
  return fault(line, first,
               "'" + first.text +
                   "' begins neither a row of a GPU or a NIC nor the "
                   "legend");
}

/// Called at the end of the rows.
std::optional<Fault> TopologyReader::checkComplete() const {
  if (isComplete())
    return std::nullopt;
  return fault(line, "the row of " + topology.devices[topology.lines.size()] +
                         " is missing; the heading has " +
                         countOf(topology.devices.size(), "GPU"));
}

/// After the last line.
std::optional<Fault> TopologyReader::checkEnd() const {
  const std::string expected = "a heading with GPU0 is expected, as "
                               "`nvidia-smi topo -m` prints it";
  if (firstLine == 0)
    return fault(line, "the file is empty; " + expected);
  if (columns.empty())
    return fault(firstLine, expected);
  if (std::optional<Fault> fault = checkComplete())
    return fault;
  return checkSymmetry();
}

std::optional<Fault> TopologyReader::read(StringRef text) {
  if (text.contains('\0'))
    return fault(1, "the file has bytes of 0, as UTF-16 does; a topology is "
                    "text in UTF-8");
  SmallVector<StringRef> all;
  text.split(all, '\n');
  for (StringRef each : all) {
    ++line;
    const Words words = wordsOf(each);
    if (words.empty())
      continue;
    if (firstLine == 0)
      firstLine = line;
    if (std::optional<Fault> fault = readLine(words))
      return fault;
  }
  return checkEnd();
}

bool TopologyReader::recognizes(StringRef text) {
  SmallVector<StringRef> all;
  text.split(all, '\n');
  for (StringRef each : all) {
    // No device is missing in a line of a table.
    if (!each.contains("GPU"))
      continue;
    Words words = wordsOf(each);
    if (words.empty() || readHeading(words) || columns.empty())
      continue;
    if (words.front().text == prefix)
      words.erase(words.begin());
    if (words.size() > 1 && isDevice(words[0].text) &&
        hasCell(ArrayRef(words).drop_front()))
      return true;
  }
  return false;
}

} // namespace

bool isTopology(StringRef text) { return TopologyReader().recognizes(text); }

std::string nameOf(Path path) {
  return pathKinds()[path.kind].name +
         (path.kind == 0 ? std::to_string(path.links) : std::string());
}

Link linkOf(Path path, ArrayRef<PathKind> kinds) {
  const PathKind &kind = kinds[path.kind];
  Link link = kind.link;
  // No rate is above 2^40 and no number of links above 1024.
  link.bytesPerUs = link.bytesPerUs * path.links / kind.links;
  return link;
}

std::vector<std::vector<int32_t>> switchesOf(const Topology &topology) {
  const auto count = static_cast<int32_t>(topology.devices.size());
  auto isBelow = [&](int32_t from, int32_t to) {
    const StringRef kind = pathKinds()[topology.paths[from][to].kind].name;
    return kind == "PIX" || kind == "PXB";
  };
  std::vector<std::vector<int32_t>> groups;
  std::vector<bool> isKnown(count);
  for (int32_t first = 0; first < count; ++first) {
    if (isKnown[first])
      continue;
    isKnown[first] = true;
    std::vector<int32_t> group = {first};
    for (size_t k = 0; k < group.size(); ++k)
      for (int32_t other = 0; other < count; ++other)
        if (!isKnown[other] && isBelow(group[k], other)) {
          isKnown[other] = true;
          group.push_back(other);
        }
    if (group.size() > 1) {
      llvm::sort(group);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

Result<Topology> readTopology(StringRef text) {
  TopologyReader reader;
  if (std::optional<Fault> fault = reader.read(text))
    return *fault;
  return std::move(reader.topology);
}

} // namespace rondo::formats
