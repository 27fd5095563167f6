//===- BatchesTest.cpp - A schedule for each batch of documents -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BatchFixture.h"

#include "runtime/adaptive/program_values.h"
#include "runtime/base/error.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST(BatchPlanner, FindsTheOrderOfSumsWithoutClocks) {
  const BatchExecutable executable;
  const PlannedBatch planned =
      batchSearch.makePlanner(executable.exe())->early(someBatch);
  EXPECT_EQ(planned.source, PlannedBatch::Source::Early);
  // The rows are numbered in the order of their sums.
  std::vector<int32_t> all(numMicrobatches);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(
      std::is_permutation(all.begin(), all.end(), planned.order.begin()));
  for (int32_t i = 0; i < numMicrobatches; ++i)
    EXPECT_EQ(planned.batch.rows[i], someBatch.rows[planned.order[i]]);
  // A short row first fills the pipeline sooner.
  EXPECT_NE(planned.order, all);
  const auto again =
      batchSearch.makePlanner(executable.exe())->early(someBatch);
  EXPECT_EQ(again.order, planned.order);
  EXPECT_EQ(encode(*again.program), encode(*planned.program));
}

/// One micro-batch after another, which needs the least memory.
Lists oneByOne() {
  Lists lists(2);
  for (int64_t i = 0; i < numMicrobatches; ++i) {
    using A = Act;
    lists[0].insert(lists[0].end(), {{A::F, 0, i},
                                     {A::Send, 0, i, Message::Activation},
                                     {A::Recv, 1, i, Message::Gradient},
                                     {A::B, 0, i}});
    lists[1].insert(lists[1].end(), {{A::Recv, 0, i, Message::Activation},
                                     {A::F, 1, i},
                                     {A::B, 1, i},
                                     {A::Send, 1, i, Message::Gradient}});
  }
  for (int64_t rank : {0, 1})
    for (Act::Kind kind : {Act::AllReduce, Act::Step})
      lists[rank].push_back({kind, kind == Act::Step ? rank : 0, 0});
  return lists;
}

/// The tables of a batch on GPUs, whose rows hold a multiple of eight tokens.
struct PaddedTables {
  explicit PaddedTables(const BatchExecutable &executable)
      : desc(executable.exe().programs[0]),
        values(valuesOf(executable.exe(), desc)),
        layers(desc.layers, desc.layers + executable.exe().numLayers) {
    for (LayerDesc &layer : layers)
      layer.target = Target::Cuda;
    like = desc;
    like.layers = layers.data();
  }

  const ProgramDesc &desc;
  const ProgramValues values;
  std::vector<LayerDesc> layers;
  ProgramDesc like{};
};

TEST(BatchTables, RowsOnGpusArePadded) {
  const BatchExecutable executable;
  const PaddedTables of(executable);
  const BatchTables tables(executable.exe(), of.like, of.values.problem,
                           {{8, 8, 8}, {1}, {2, 3}, {8, 8, 1}});
  ProgramDesc program = of.like;
  tables.setTo(program);
  const std::vector<int64_t> tokens = {24, 8, 8, 24}, padding = {0, 7, 3, 7};
  double shares = 0;
  for (int32_t i = 0; i < numMicrobatches; ++i) {
    const DocumentsDesc &row = *documentsOf(program, i);
    EXPECT_EQ(tables.size(i).tokens, tokens[i]);
    EXPECT_EQ(row.padding, padding[i]);
    EXPECT_EQ(row.starts[row.count], tokens[i]);
    // A head divides by all tokens of its row.
    EXPECT_EQ(row.lossShare, double(tokens[i]) / (24 + 1 + 5 + 17));
    shares +=
        row.lossShare * double(tokens[i] - padding[i]) / double(tokens[i]);
  }
  EXPECT_NEAR(shares, 1, 1e-15);
  EXPECT_EQ(tables.size(1).pairs, 1 + 7 * 7);
  EXPECT_EQ(program.uneven->numSizes, 2);
}

TEST(BatchTables, ProductsHaveFewNumbersOfRows) {
  for (int64_t most : {64, 100, 512, 4096, 8192, 50000}) {
    const int64_t grid = rowGrid(Target::Cuda, most);
    EXPECT_EQ(grid % 8, 0);
    EXPECT_LE((most + grid - 1) / grid, 64) << most;
    EXPECT_EQ(paddedRow(most, grid, most), most);
    EXPECT_EQ(paddedRow(1, grid, most), grid);
    EXPECT_EQ(rowGrid(Target::Cpu, most), 1);
  }
}

/// Devices repeat a recording if only starts of documents differ.
TEST(FoundPrograms, OneRecordingServesRowsOfOneSize) {
  const BatchExecutable executable;
  const Executable &exe = executable.exe();
  const ProgramDesc &like = exe.programs[1];
  const ProgramValues values = valuesOf(exe, like);
  auto recording = [&](DocumentLengths lengths, rondo::Program program) {
    return FoundProgram(
               like, "found", std::move(program), values.problem,
               BatchProgram{std::make_shared<const BatchTables>(
                                exe, like, values.problem, std::move(lengths)),
                            1})
        .desc()
        .recording;
  };
  const int64_t one = recording({{8, 1}, {8}, {8}, {8}}, values.program);
  EXPECT_NE(one, 0);
  EXPECT_EQ(like.recording, 0);
  EXPECT_EQ(recording({{3, 6}, {8}, {8}, {8}}, values.program), one);
  EXPECT_NE(recording({{3, 5}, {8}, {8}, {8}}, values.program), one);
  EXPECT_NE(recording({{3, 3, 3}, {8}, {8}, {8}}, values.program), one);
  rondo::Program moved = values.program;
  ++moved.pools.back().offset;
  EXPECT_NE(recording({{8, 1}, {8}, {8}, {8}}, moved), one);
}

TEST(BatchPlanner, FurtherSearchesKeepTheOrderOfSums) {
  const BatchExecutable executable(/*slots=*/0, oneByOne());
  const Executable &exe = executable.exe();
  const std::unique_ptr<BatchPlanner> planner = batchSearch.makePlanner(exe);
  PlannedBatch planned = planner->early(someBatch);
  EXPECT_EQ(planned.source, PlannedBatch::Source::Early);
  // The compiled order takes longer.
  const ProgramDesc &like = planned.program->desc();
  const ProgramDesc &compiled = exe.programs[like.id];
  const ProgramValues values = valuesOf(exe, compiled);
  const int64_t earlyNs = planned.program->batch().predictedNs;
  planned.program = std::make_shared<const FoundProgram>(
      compiled, "one_by_one", values.program, values.problem,
      BatchProgram{planned.program->batch().tables, 2 * earlyNs});
  const std::atomic<bool> interrupt{false};
  const auto better = planner->improve(planned, 2000, 3, interrupt);
  ASSERT_NE(better, nullptr);
  EXPECT_LE(better->batch().predictedNs, earlyNs);
  std::vector<int64_t> last(exe.numReplicas, -1);
  for (rondo::Action action : better->program().order.all())
    if (action.isTask() && (action.traits().makes & weightGradDone)) {
      EXPECT_GT(int64_t(action.index), last[action.subject]);
      last[action.subject] = int64_t(action.index);
    }
}

TEST(BatchPlanner, RefusesBatchesAboveTheLimits) {
  const BatchExecutable executable;
  const std::unique_ptr<BatchPlanner> planner =
      batchSearch.makePlanner(executable.exe());
  auto refusal = [&](const Rows &lengths) {
    try {
      (void)planner->early(batchOf(lengths));
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal({{8}, {8}, {8}}),
            "a batch has 3 micro-batches, its program is compiled for 4");
  EXPECT_EQ(refusal({{8}, {9}, {8}, {8}}),
            "a batch has a document of 9 tokens in micro-batch 1, its program "
            "takes 1 to 8");
  EXPECT_EQ(refusal({{8}, {8}, {8, 8, 8, 1}, {8}}),
            "a batch has 25 tokens in micro-batch 2, its program takes 1 to "
            "24");
  EXPECT_EQ(refusal({{8}, {8}, {8}, {}}),
            "a batch has 0 tokens in micro-batch 3, its program takes 1 to 24");
}

/// The most micro-batches of which a rank holds activations at once.
int32_t mostInFlight(const FoundProgram &program) {
  const Schedule &order = program.program().order;
  int32_t most = 0;
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    int32_t inFlight = 0;
    for (rondo::Action action : order.rank(r)) {
      if (!action.isTask())
        continue;
      inFlight += action.kind() == ActionKind::Forward;
      most = std::max(most, inFlight);
      inFlight -= (action.traits().makes & weightGradDone) != 0;
    }
  }
  return most;
}

TEST(BatchPlanner, BatchesRunWithinTheMemoryOfOneMicrobatch) {
  auto planned = [](const BatchExecutable &executable, const Rows &rows) {
    PlannedBatch batch =
        batchSearch.makePlanner(executable.exe())->early(batchOf(rows));
    const ProgramDesc &desc = batch.program->desc();
    for (int32_t p = 0; p < desc.numPools; ++p)
      EXPECT_LE(desc.pools[p].offset +
                    desc.pools[p].slots * desc.pools[p].slotBytes,
                executable.exe().arenaBytes[desc.pools[p].rank]);
    return batch.program;
  };
  const Rows large = {{8, 8, 8}, {8, 8, 7}, {8, 8, 6}, {8, 8, 8}};
  BatchExecutable one(/*slots=*/1, oneByOne());
  one.limitToOneRow();
  EXPECT_EQ(mostInFlight(*planned(one, large)), 1);
  // The memory of the largest row takes several small ones.
  EXPECT_GT(mostInFlight(*planned(one, {{8}, {7}, {8}, {6}})), 1);
  EXPECT_GT(mostInFlight(*planned(BatchExecutable(), large)), 1);
}

TEST(BatchPlanner, ProgramsGoToOtherProcessesAsText) {
  const BatchExecutable executable;
  const PlannedBatch planned =
      batchSearch.makePlanner(executable.exe())->early(someBatch);
  const std::string text = encode(*planned.program);
  const auto copy = decode(text, executable.exe());
  EXPECT_EQ(encode(*copy), text);
  EXPECT_EQ(copy->desc().predictedNs, planned.program->desc().predictedNs);
  for (int32_t i = 0; i < numMicrobatches; ++i) {
    const DocumentsDesc &row = *documentsOf(copy->desc(), i);
    EXPECT_EQ(row.count, static_cast<int32_t>(planned.batch.rows[i].size()));
    EXPECT_EQ(row.starts[row.count],
              planned.program->batch().tables->size(i).tokens);
  }
  EXPECT_THROW(decode(text.substr(0, text.size() / 2), executable.exe()),
               Error);
}

TEST(Batches, AreBitEqualToTheSequentialProgram) {
  const BatchExecutable executable;
  const Outcome outcome =
      run(*executable.program, {"--verify", "--iterations", "4"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("bit-equal after 4 iterations"), std::string::npos)
      << outcome.out;
}

TEST(Batches, OneByOneIsBitEqual) {
  const BatchExecutable executable(/*slots=*/1, oneByOne());
  const Outcome outcome =
      run(*executable.program, {"--verify", "--iterations", "3", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
}

/// The loss of each iteration, the held-out loss, and the lines' ends.
std::vector<std::string> linesOf(const std::string &out) {
  std::vector<std::string> lines;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);)
    if (line.rfind("iteration", 0) == 0)
      lines.push_back(line);
  return lines;
}

TEST(Batches, ARunThatIsResumedRepeatsThem) {
  const BatchExecutable executable;
  const TemporaryFile data, half, whole, resumed;
  data.write(sampleText());
  auto train = [&](const std::string &iterations,
                   std::vector<std::string> words) {
    words.insert(words.begin(), {"--data", data.path, "--iterations",
                                 iterations, "--decay", "6"});
    const Outcome outcome = run(*executable.program, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  };
  const Outcome all = train("6", {"--save", whole.path});
  train("3", {"--save", half.path, "--search-effort", "0"});
  train("6", {"--resume", half.path, "--save", resumed.path, "--search-effort",
              "0"});
  EXPECT_EQ(whole.read(), resumed.read());
  const std::vector<std::string> lines = linesOf(all.out);
  ASSERT_EQ(lines.size(), 7u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NE(lines[i].find(", order "), std::string::npos) << lines[i];
  EXPECT_NE(lines[6].find("held-out loss"), std::string::npos);
}

TEST(Batches, TracesAndLogsHaveTrueSizes) {
  const BatchExecutable executable;
  const TemporaryFolder data;
  for (size_t length : {2, 4, 6, 7, 12})
    std::ofstream(data.of(std::to_string(length)))
        << std::string(length, static_cast<char>('a' + length));
  const TemporaryFile trace, log;
  const Outcome outcome =
      run(*executable.program,
          {"--data", data.path, "--held-out", "0", "--iterations", "6",
           "--trace", trace.path, "--json-log", log.path, "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // 64 bytes for each token of a row.
  std::set<int64_t> sizes;
  const std::string text = trace.read(), key = "\"bytes\":";
  for (size_t at = text.find(key); at != std::string::npos;
       at = text.find(key, at + 1))
    sizes.insert(std::atoll(text.c_str() + at + key.size()));
  EXPECT_GT(sizes.size(), 1u);
  for (int64_t bytes : sizes)
    EXPECT_TRUE(bytes % 64 == 0 && bytes <= 64 * rowTokens) << bytes;
  EXPECT_NE(log.read().find("\"order\":["), std::string::npos);
  EXPECT_NE(log.read().find("\"predicted_ns\":"), std::string::npos);
}

TEST(Batches, ProcessesGetThemFromTheFirst) {
  const BatchExecutable executable;
  const Outcome outcome = runProcesses(
      *executable.program, {"--verify", "--iterations", "2", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("bit-equal after 2 iterations"),
            std::string::npos);
}

TEST(Batches, RefuseWhatChangesSchedules) {
  const BatchExecutable executable;
  const TemporaryFile data;
  data.write(sampleText());
  for (const char *how : {"on", "search"}) {
    const Outcome outcome =
        run(*executable.program, {"--data", data.path, "--adapt", how});
    EXPECT_EQ(outcome.code, int(Exit::Usage));
    EXPECT_NE(outcome.err.find("--adapt"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("each batch"), std::string::npos) << outcome.err;
  }
}

} // namespace
