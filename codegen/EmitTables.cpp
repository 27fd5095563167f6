//===- EmitTables.cpp - The constant tables of an executable --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitTables.h"

#include "codegen/OverlapTable.h"
#include "codegen/PlaceTable.h"
#include "codegen/TableText.h"
#include "kinds/Shares.h"
#include "runtime/model/documents.h"
#include "runtime/model/layer_sizes.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/order/Residency.h"
#include "schedule/program/ProgramLaneWaits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace rondo;
using namespace rondo::codegen;
using llvm::StringRef;

static_assert(bufferAlignment == runtime::bufferAlignment,
              "plans align slots as the runtime's bodies need them");

std::string rondo::codegen::versionCheck() {
  const std::string version = std::to_string(RONDO_TABLES_VERSION);
  return "\n#if RONDO_TABLES_VERSION != " + version +
         "\n#error \"another version of rondo wrote this program (tables of "
         "version " +
         version +
         "): write it again with the rondo that this runtime belongs to\"\n"
         "#else\n";
}

std::string rondo::codegen::stageTable(llvm::ArrayRef<StageText> stages) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool areSharded = llvm::any_of(
      stages, [](const StageText &stage) { return stage.momentShards > 1; });
  os << "// name, first layer, layers"
     << (areSharded ? ", shards of moments" : "")
     << "\nconstexpr StageDesc stages[] = {\n";
  for (const StageText &s : stages) {
    os << "    {" << quoted(s.name) << ", " << s.firstLayer << ", "
       << s.numLayers;
    if (areSharded)
      os << ", " << s.momentShards;
    os << "},\n";
  }
  os << "};\n";
  return text;
}

std::string rondo::codegen::replicaTable(const Replicas &replicas) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool areSharded = replicas.areSharded();
  os << "// stage, replica, rank" << (areSharded ? ", shard of how many" : "")
     << "\nconstexpr ReplicaDesc replicas[] = {\n";
  for (const Replica &replica : replicas) {
    os << "    {" << replica.stage << ", " << replica.index << ", "
       << replica.rank;
    if (areSharded)
      os << ", " << replica.shard << ", " << replica.shards;
    os << "},\n";
  }
  os << "};\n";
  return text;
}

std::string rondo::codegen::shareTable(const SizesText &sizes, int32_t number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// By replica: first sample, samples; turn, of how many; then bytes "
        "of:\n//";
  for (int k = 0; k < numBufferKinds; ++k)
    os << " " << bufferTable[k].keyword;
  os << "\nconstexpr ShareDesc " << tableName("shares", number) << "[] = {\n";
  for (auto [replica, buffers] :
       llvm::zip_equal(sizes.replicas, sizes.buffers)) {
    os << "    {" << replica.firstSample << ", " << replica.samples << ", "
       << replica.turn << ", " << replica.turns << ",\n     {";
    llvm::interleaveComma(buffers, os);
    os << "}},\n";
  }
  os << "};\n";
  return text;
}

namespace {
/// The bytes of an edge, and where they begin at its ends.
struct Part {
  int64_t bytes = 0, sentOffset = 0, receivedOffset = 0;
};
} // namespace

/// Samples that two replicas both have, of an output of `bytes`.
static Part commonPart(const Replica &from, const Replica &to, int64_t bytes,
                       int32_t samples) {
  const int32_t first = std::max(from.firstSample, to.firstSample);
  auto until = [&](int32_t sample) { return partOf(bytes, sample, samples); };
  return {until(first + commonSamples(from, to)) - until(first),
          until(first) - until(from.firstSample),
          until(first) - until(to.firstSample)};
}

std::string rondo::codegen::edgeTable(const Problem &problem,
                                      llvm::ArrayRef<StageText> stages,
                                      const SizesText &sizes, int32_t number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (problem.edges.empty())
    return text;
  const BufferNumbers numbers(problem);
  os << "// from, to, message, bytes, place that it leaves and enters, where "
        "in each\n"
        "constexpr EdgeDesc "
     << tableName("edges", number) << "[] = {\n";
  for (auto [e, edge] : llvm::enumerate(problem.edges)) {
    const int32_t sent = numbers.sent(e), received = numbers.received(e);
    const Replica &from = sizes.replicas[edge.from],
                  &to = sizes.replicas[edge.to];
    // All of a buffer, with what rounds up its size.
    Part part{bytesOf(problem, numbers[sent], sizes.buffers)};
    if (!problem.isWhole(edge)) {
      const bool isForward = edge.message() != MessageKind::Gradient;
      const StageText &producer = stages[isForward ? from.stage : to.stage];
      const int32_t last = producer.firstLayer + producer.numLayers - 1;
      part = commonPart(from, to, runtime::outputBytes(sizes.layers[last]),
                        std::max(sizes.samples, 1));
    }
    os << "    {" << edge.from << ", " << edge.to
       << ", Message::" << traitsOf(edge.message()).name << ", " << part.bytes
       << ", " << sent << ", " << received << ", " << part.sentOffset << ", "
       << part.receivedOffset << "},\n";
  }
  os << "};\n";
  return text;
}

std::string rondo::codegen::unevenTable(const UnevenText &uneven, bool hasEdges,
                                        int32_t number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const std::string sizes = tableName("sizes", number),
                    sizeOf = tableName("size_of", number),
                    starts = tableName("starts", number) + "_",
                    documents = tableName("documents", number);
  os << "// Layers, shares and edges of micro-batches of each size\n"
        "constexpr MicrobatchDesc "
     << sizes << "[] = {\n";
  for (int32_t tables : uneven.tables)
    os << "    {" << tableName("layers", tables) << ", "
       << tableName("shares", tables) << ", "
       << (hasEdges ? tableName("edges", tables) : "nullptr") << "},\n";
  os << "};\n// The size of each micro-batch\n";
  writeArray(os, "int32_t", sizeOf, uneven.sizeOf);
  for (auto [i, lengths] : llvm::enumerate(uneven.documents)) {
    std::vector<int64_t> begins(1, 0);
    for (int64_t length : lengths)
      begins.push_back(begins.back() + length);
    writeArray(os, "int32_t", starts + std::to_string(i), begins);
  }
  if (!uneven.documents.empty()) {
    os << "// Documents of each micro-batch, their starts, and its part of the "
          "loss\n"
          "constexpr DocumentsDesc "
       << documents << "[] = {\n";
    int64_t all = 0;
    for (const std::vector<int64_t> &lengths : uneven.documents)
      all = std::accumulate(lengths.begin(), lengths.end(), all);
    for (auto [i, lengths] : llvm::enumerate(uneven.documents))
      os << "    {" << lengths.size() << ", " << starts << i << ", "
         << realText(runtime::rowShare(
                std::accumulate(lengths.begin(), lengths.end(), int64_t(0)),
                all))
         << "},\n";
    os << "};\n";
  }
  if (uneven.limits)
    os << batchLimitsTable(*uneven.limits);
  os << "constexpr UnevenDesc " << tableName("uneven", number) << " = {"
     << uneven.tables.size() << ", " << sizes << ", " << sizeOf << ", "
     << (uneven.documents.empty() ? "nullptr" : documents) << ", checkUneven"
     << (uneven.limits ? ", &limits" : "") << "};\n";
  return text;
}

static bool hasStaging(const Program &program) {
  return llvm::any_of(program.staging, [](int32_t pool) { return pool >= 0; });
}

/// Indexed by rank; empty if no rank has more queues than may be in flight.
static std::vector<int32_t> residencyOf(const ProgramText &program,
                                        const Problem &problem) {
  return limitResidency(program.program->order, problem.edges,
                        program.rankOfReplica, program.program->resident);
}

static void writeCollectives(llvm::raw_ostream &os, const Program &program) {
  if (program.collectives.empty())
    return;
  for (auto [k, collective] : llvm::enumerate(program.collectives))
    writeArray(os, "int32_t", "collective_" + std::to_string(k),
               collective.replicas);
  os << "constexpr CollectiveDesc collectives[] = {\n";
  for (auto [k, collective] : llvm::enumerate(program.collectives))
    os << "    {CollectiveKind::" << traitsOf(collective.kind).name << ", "
       << quoted(collective.tensor) << ", " << collective.replicas.size()
       << ", collective_" << k << ", " << collective.ns
       << (collective.numElements > 0 || collective.delay > 0
               ? ", " + std::to_string(collective.firstElement) + ", " +
                     std::to_string(collective.numElements)
               : std::string())
       << (collective.delay > 0 ? ", " + std::to_string(collective.delay) : "")
       << "},\n";
  os << "};\n";
}

static void writeWork(llvm::raw_ostream &os, const Problem &problem) {
  os << "// Predicted ns by replica, of";
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.hasCost())
      os << " " << traits.keyword;
  os << "\n";
  std::vector<int64_t> ns;
  for (const Cost &cost : problem.costs)
    ns.push_back(cost.ns);
  writeArray(os, "int64_t", "work_ns", ns);
}

/// `rondo::ActionKind::InputGrad, 2, 3`
static std::string copyText(Action action) {
  return "rondo::ActionKind::" +
         llvm::convertToCamelFromSnakeCase(action.traits().keyword,
                                           /*capitalizeFirst=*/true) +
         ", " + std::to_string(action.subject) + ", " +
         std::to_string(action.index);
}

/// The kind, the replica and the micro-batch of a copy.
using CopyKey = std::tuple<ActionKind, uint64_t, uint64_t>;
static CopyKey keyOf(Action copy) {
  return {copy.kind(), uint64_t(copy.subject), uint64_t(copy.index)};
}

/// `, 3`: the place of each copy among those of its shared host link in its
/// direction. Those of other links are not listed.
static std::map<CopyKey, std::string> turnsOf(const Schedule &order,
                                              const Problem &problem) {
  std::map<CopyKey, std::string> turns;
  for (const auto &[link, copies] : order.copyOrders) {
    int32_t next[2] = {0, 0};
    for (Action copy : copies) {
      const bool isIn = copy.kind() == ActionKind::Load &&
                        !problem.hostMemory.shared[link].isHalf;
      turns[keyOf(copy)] = ", " + std::to_string(next[isIn]++);
    }
  }
  return turns;
}

/// The copies of each rank, and what its lanes wait for.
static void writeCopies(llvm::raw_ostream &os, const Program &program,
                        const Problem &problem) {
  const Schedule &order = program.order;
  if (!order.hasCopies())
    return;
  const std::map<CopyKey, std::string> turns = turnsOf(order, problem);
  const LaneWaits waits = laneWaitsOf(problem, program);
  std::string ranks;
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    std::string copies, awaited;
    size_t numCopies = 0, numWaits = 0;
    for (int64_t i = order.rankBegin(r); i < order.rankBegin(r + 1); ++i) {
      const Action action = order.all()[i];
      if (action.traits().isCopy()) {
        ++numCopies;
        const auto turn = turns.find(keyOf(action));
        copies += "    {" + copyText(action) +
                  (turn == turns.end() ? "" : turn->second) + "},\n";
      }
      for (int64_t w = waits.begin[i]; w < waits.begin[i + 1]; ++w) {
        ++numWaits;
        awaited += "    {" + copyText(action) + ", " +
                   copyText(order.all()[waits.awaited[w]]) + "},\n";
      }
    }
    auto list = [&](const char *type, const std::string &name, size_t count,
                    const std::string &rows) -> std::string {
      if (count == 0)
        return "0, nullptr";
      os << "constexpr " << type << " " << name << "_" << r << "[] = {\n"
         << rows << "};\n";
      return std::to_string(count) + ", " + name + "_" + std::to_string(r);
    };
    ranks += "    {" + list("CopyDesc", "copies", numCopies, copies) + ", ";
    ranks += list("LaneWaitDesc", "lane_waits", numWaits, awaited) +
             (problem.hostMemory.isHalf(r) ? ", true" : ", false") + "},\n";
  }
  os << "// By rank: copies, then what waits for which action on another lane\n"
        "constexpr RankCopiesDesc copies[] = {\n"
     << ranks << "};\n";
}

std::string rondo::codegen::programTables(
    const ProgramText &program, const Problem &problem,
    llvm::ArrayRef<SharedFunction> functions, const ForEach &forEach) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << placeTable(program, problem, forEach);
  writeCollectives(os, *program.program);
  if (program.kind == runtime::ProgramKind::Pipeline)
    writeCopies(os, *program.program, problem);
  if (hasStaging(*program.program)) {
    os << "// By rank: the pool where its collectives receive what they add.\n";
    writeArray(os, "int32_t", "staging", program.program->staging);
  }
  const std::vector<int32_t> resident = residencyOf(program, problem);
  if (!resident.empty()) {
    os << "// By rank: sends, receives and collectives in flight at once; 0: "
          "all.\n";
    writeArray(os, "int32_t", "resident", resident);
  }
  writeArray(os, "int32_t", "rank_of_replica", program.rankOfReplica);
  if (!program.sumOrder.empty())
    writeArray(os, "int32_t", "sum_order", program.sumOrder);
  if (!program.peakMemoryBytes.empty())
    writeArray(os, "int64_t", "peak_memory_bytes", program.peakMemoryBytes);
  if (program.kind == runtime::ProgramKind::Pipeline)
    writeWork(os, problem);
  if (program.overlap)
    os << overlapTable(*program.overlap);

  std::map<int32_t, const SharedFunction *> functionOf;
  for (const SharedFunction &function : functions)
    for (int32_t rank : function.ranks)
      functionOf[rank] = &function;
  os << "constexpr RankDesc ranks[] = {\n";
  for (auto [rank, function] : functionOf) {
    os << "    {" << function->name << ", ";
    if (function->parameters.empty())
      os << "nullptr";
    else
      os << function->name << "_row_" << rank;
    os << "},\n";
  }
  os << "};\n";
  return text;
}

static llvm::StringRef programKindName(runtime::ProgramKind kind) {
  switch (kind) {
  case runtime::ProgramKind::Sequential:
    return "ProgramKind::Sequential";
  case runtime::ProgramKind::Pipeline:
    return "ProgramKind::Pipeline";
  case runtime::ProgramKind::Evaluation:
    return "ProgramKind::Evaluation";
  }
  return "";
}

/// The links that carry messages; how many there are.
static size_t writeLinks(llvm::raw_ostream &os, const Problem &problem) {
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const Edge &edge : problem.edges)
    if (problem.rankOf(edge.from) != problem.rankOf(edge.to))
      pairs.insert({problem.rankOf(edge.from), problem.rankOf(edge.to)});
  if (pairs.empty())
    return 0;
  os << "// from, to, latency in ns, bytes per us\n"
        "constexpr LinkDesc links[] = {\n";
  for (auto [from, to] : pairs) {
    const Link &link = problem.linkBetween(from, to);
    os << "    {" << from << ", " << to << ", " << link.latencyNs << ", "
       << link.bytesPerUs << "},\n";
  }
  os << "};\n";
  return pairs.size();
}

/// Fields that few programs set.
static std::string tailOf(const ProgramText &program, const Problem &problem,
                          const std::string &in) {
  const std::string fields[] = {
      program.overlap ? "&" + in + "overlap" : "",
      !residencyOf(program, problem).empty() ? in + "resident" : "",
      program.program->order.hasCopies() ? in + "copies" : "",
      program.uneven >= 0 ? "&" + tableName("uneven", program.uneven) : "",
      !program.sumOrder.empty() ? in + "sum_order" : ""};
  std::string tail, pending;
  for (const std::string &field : fields) {
    pending += ", " + (field.empty() ? std::string("nullptr") : field);
    if (!field.empty())
      tail += std::exchange(pending, {});
  }
  return tail;
}

/// The hosts' arenas and links; the fields of the executable that name them.
static std::string writeHosts(llvm::raw_ostream &os,
                              llvm::ArrayRef<ProgramText> programs,
                              const Problem &problem) {
  const std::vector<int64_t> &bytes = programs.front().program->hostArenaBytes;
  if (bytes.empty())
    return "";
  writeArray(os, "int64_t", "host_arena_bytes", bytes);
  os << "// By rank: latency in ns, bytes per us; shared link, and whether it "
        "carries\n// one copy in all\n"
        "constexpr HostLinkDesc host_links[] = {\n";
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    const HostLink *own = problem.hostMemory.link(r);
    const int32_t shared = problem.hostMemory.sharedLink(r);
    HostLink link = own ? *own : HostLink();
    if (shared >= 0)
      if (const int64_t rate = problem.hostMemory.shared[shared].bytesPerUs;
          rate > 0 && (link.bytesPerUs == 0 || rate < link.bytesPerUs))
        link.bytesPerUs = rate;
    os << "    {" << link.latencyNs << ", " << link.bytesPerUs << ", " << shared
       << ", "
       << (shared >= 0 && problem.hostMemory.shared[shared].isHalf ? "true"
                                                                   : "false")
       << "},\n";
  }
  os << "};\n";
  return ", host_arena_bytes, host_links";
}

/// `nullptr, &adaptiveRuns`; empty ones at the end are left out.
static std::string namesOf(const std::vector<std::string> &objects) {
  std::string text, pending;
  for (const std::string &object : objects) {
    if (object.empty()) {
      pending += "nullptr, ";
      continue;
    }
    text += (text.empty() ? "" : ", ") + pending + "&" + object;
    pending.clear();
  }
  return text;
}

std::string rondo::codegen::executableText(const ExecutableText &executable,
                                           llvm::ArrayRef<ProgramText> programs,
                                           const Problem &problem) {
  const size_t numEdges = problem.edges.size();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// number, name, kind; micro-batches, samples of each, whether they\n"
        "// are added in index order; layers, shares, edges; ranks;\n"
        "// replicas' ranks; pools; places; collectives; predicted ns of an "
        "iteration, of\n"
        "// all ranks' work; peak bytes by rank; where collectives receive; "
        "work\n"
        "constexpr ProgramDesc programs[] = {\n";
  for (auto [id, program] : llvm::enumerate(programs)) {
    std::string in = program.space + "::";
    size_t collectives = program.program->collectives.size();
    os << "    {" << id << ", " << quoted(program.name) << ", "
       << programKindName(program.kind) << ", " << program.microbatches << ", "
       << program.samples << ", "
       << (program.accumulatesInIndexOrder ? "true" : "false") << ",\n     "
       << tableName("layers", program.sizes) << ", "
       << tableName("shares", program.sizes) << ", "
       << (numEdges > 0 ? tableName("edges", program.sizes) : "nullptr") << ", "
       << program.program->order.numRanks() << ", " << in << "ranks, " << in
       << "rank_of_replica,\n     " << program.program->pools.size() << ", "
       << in << "pools, " << program.program->places.size() << ", " << in
       << "places, " << collectives << ", "
       << (collectives ? in + "collectives" : "nullptr") << ",\n     "
       << program.predictedNs << ", " << program.predictedWorkNs << ", "
       << (program.peakMemoryBytes.empty() ? "nullptr"
                                           : in + "peak_memory_bytes")
       << ", " << (hasStaging(*program.program) ? in + "staging" : "nullptr")
       << ", "
       << (program.kind == runtime::ProgramKind::Pipeline ? in + "work_ns"
                                                          : "nullptr")
       << tailOf(program, problem, in) << "},\n";
  }
  os << "};\n";
  const std::vector<int64_t> &arenaBytes = programs.front().program->arenaBytes;
  writeArray(os, "int64_t", "arena_bytes", arenaBytes);
  const size_t numLinks = writeLinks(os, problem);
  const std::string hosts = writeHosts(os, programs, problem);
  os << "constexpr Executable executable = {" << quoted(executable.name) << ", "
     << executable.numLayers << ", layers, " << executable.numStages
     << ", stages, " << problem.replicas.size() << ", replicas, " << numEdges
     << ", " << (numEdges > 0 ? "edges" : "nullptr") << ", "
     << arenaBytes.size() << ", arena_bytes, " << programs.size()
     << ", programs,\n    "
     << "&" << executable.backend << ", " << numLinks << ", "
     << (numLinks > 0 ? "links" : "nullptr") << ", " << executable.moments
     << ", {" << namesOf(executable.extras) << "}" << hosts << "};\n\n"
     << "int main(int argc, char **argv) {\n"
        "  return run_executable(executable, argc, argv);\n}\n\n"
        "#endif // RONDO_TABLES_VERSION\n";
  return text;
}
