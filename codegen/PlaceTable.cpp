//===- PlaceTable.cpp - Where the buffers of a program lie ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/PlaceTable.h"

#include "codegen/TableText.h"
#include "lowering/SlotParts.h"
#include "schedule/model/BufferNumbers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::codegen;

namespace {

using List = std::vector<int32_t>;

/// Arrays that several lists read: each has one, which it begins.
class Arrays {
public:
  void add(const List &list) { numbers.try_emplace(list, -1); }
  /// Call it after the last add().
  void write(llvm::raw_ostream &os);
  std::string nameOf(const List &list) const { return name(numbers.at(list)); }

private:
  static std::string name(int number) {
    return "slots_" + std::to_string(number);
  }
  std::map<List, int> numbers;
};

void Arrays::write(llvm::raw_ostream &os) {
  // In this order a list comes directly before one that begins with it, if any
  // does.
  const List *next = nullptr;
  int number = -1;
  for (auto it = numbers.rbegin(); it != numbers.rend(); ++it) {
    const List &list = it->first;
    if (!next || list.size() > next->size() ||
        !std::equal(list.begin(), list.end(), next->begin()))
      writeArray(os, "uint16_t", name(++number), list);
    it->second = number;
    next = &list;
  }
}

/// Maximum number of instances of a buffer: micro-batches, or gathers and units
/// of a sharded stage, which may be more.
int64_t maxNumbers(const Program &program, const Problem &problem) {
  std::vector<int64_t> unshards(problem.numReplicas()),
      units(problem.numReplicas());
  int64_t most = problem.microbatches;
  for (Action action : program.order.all())
    if (action.kind() == ActionKind::Unshard)
      most = std::max(most, ++unshards[action.subject]);
    else if (action.kind() == ActionKind::ReduceGrad)
      most = std::max(most, ++units[action.subject]);
  return most;
}

} // namespace

std::string rondo::codegen::placeTable(const ProgramText &text,
                                       const Problem &problem,
                                       const ForEach &forEach) {
  const Program &program = *text.program;
  const int64_t numbers = maxNumbers(program, problem);
  // Parts with the same slots share a list.
  llvm::MapVector<llvm::ArrayRef<int32_t>, std::vector<SlotPart>> partsOf;
  std::map<List, size_t> spans;
  for (const Place &place : program.places)
    if (place.pool >= 0) {
      partsOf.try_emplace(place.slotOf);
      if (!place.spans.empty())
        spans.try_emplace(place.spans, spans.size());
    }
  forEach(partsOf.size(), [&](size_t i) {
    auto &[slots, parts] = partsOf.begin()[i];
    // If iterations overlap, a run has any number of micro-batches.
    parts = text.overlap ? std::vector<SlotPart>{{0, slots.vec()}}
                         : slotParts(slots.vec(), numbers);
  });
  Arrays arrays;
  for (const auto &[slots, parts] : partsOf)
    for (const SlotPart &part : parts)
      arrays.add(part.repeated);

  std::string result;
  llvm::raw_string_ostream os(result);
  os << "// Slots that a buffer takes, micro-batch after micro-batch.\n";
  arrays.write(os);
  for (const auto &[list, number] : spans)
    writeArray(os, "int32_t", "spans_" + std::to_string(number), list);
  // Places with the same later parts share a list of them.
  std::map<std::string, size_t> laterParts;
  auto laterOf = [&](const std::vector<SlotPart> &parts) {
    std::string list;
    for (const SlotPart &part : llvm::drop_begin(parts))
      list += (list.empty() ? "{" : ", {") + std::to_string(part.begin) + ", " +
              std::to_string(part.repeated.size()) + ", " +
              arrays.nameOf(part.repeated) + "}";
    return list;
  };
  for (const auto &[slots, parts] : partsOf) {
    if (parts.size() < 2)
      continue;
    auto [it, isNew] =
        laterParts.try_emplace(laterOf(parts), laterParts.size());
    if (isNew)
      os << "constexpr SlotPartDesc later_" << it->second << "[] = {"
         << it->first << "};\n";
  }
  os << "// rank, offset, bytes of a slot, slots\n"
        "constexpr PoolDesc pools[] = {\n";
  for (const Pool &pool : program.pools)
    os << "    {" << pool.rank << ", " << pool.offset << ", " << pool.slotBytes
       << ", " << pool.slots << (pool.isOnHost ? ", true" : "") << "},\n";
  os << "};\n// pool, period, slots; parts from a later micro-batch on: how "
        "many, which;\n// by replica and buffer\n"
        "constexpr PlaceDesc places[] = {";
  const BufferNumbers buffers(problem);
  bool isNewLine = false;
  for (auto [k, place] : llvm::enumerate(program.places)) {
    if (!isNewLine)
      os << "\n    ";
    isNewLine = place.pool < 0;
    if (place.pool < 0) {
      os << "{}, ";
      continue;
    }
    const std::vector<SlotPart> &parts = partsOf[place.slotOf];
    const List &slotOf = parts.front().repeated;
    os << "{" << place.pool << ", " << slotOf.size() << ", "
       << arrays.nameOf(slotOf);
    if (parts.size() > 1)
      os << ", " << parts.size() - 1 << ", later_"
         << laterParts[laterOf(parts)];
    if (!place.spans.empty())
      os << (parts.size() > 1 ? "" : ", 0, nullptr") << ", spans_"
         << spans.at(place.spans);
    const BufferNumbers::Buffer &buffer = buffers[k];
    os << "}, // replica " << buffer.replica << " "
       << traitsOf(buffer.kind).keyword;
    if (buffer.isOneOfSeveral)
      os << " of edge " << buffer.edge;
  }
  os << "\n};\n";
  return result;
}
