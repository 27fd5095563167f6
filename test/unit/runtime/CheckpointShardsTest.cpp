//===- CheckpointShardsTest.cpp - Checkpoints of several processes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreFixture.h"
#include "Training.h"

#include "runtime/base/clock.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

using Names = std::vector<std::string>;

class CheckpointShards : public Training {
protected:
  CheckpointShards()
      : two(gpt({2, 2}, {0, 1}, true)),
        four(gpt({1, 1, 1, 1}, {0, 1, 2, 3}, true)),
        path(folder.of("m.safetensors")) {}

  Outcome trainProcesses(const Program &program, Names words) {
    words.insert(words.end(), {"--quiet", "--data", data.path, "--lr", "0.01",
                               "--decay", "8", "--warmup", "2"});
    return runProcesses(program, words);
  }
  /// Trains two processes up to an iteration.
  void save(int iterations, Names more = {}) {
    more.insert(more.end(),
                {"--iterations", std::to_string(iterations), "--save", path});
    const Outcome outcome = trainProcesses(two, more);
    ASSERT_EQ(outcome.code, 0) << outcome.out;
  }
  std::string errorOfResuming() {
    const Outcome outcome =
        run(two, {"--data", data.path, "--resume", path, "--quiet"});
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    return outcome.err;
  }
  std::string shard(int iteration, int number) const {
    return folder.of("m-iter" + std::to_string(iteration) + "-0000" +
                     std::to_string(number) + "-of-00002.safetensors");
  }
  void write(const std::string &name, const std::string &bytes = "x") const {
    std::ofstream(folder.of(name), std::ios::binary) << bytes;
  }
  static void expectIn(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  const Program two, four;
  TemporaryFolder folder;
  const std::string path;
  const Names files = {"m-iter2-00001-of-00002.safetensors",
                       "m-iter2-00002-of-00002.safetensors",
                       "m.safetensors.index.json"};
};

TEST_F(CheckpointShards, HaveTheBitsOfOneFile) {
  save(2);
  EXPECT_EQ(folder.names(), files);
  train(two, {"--iterations", "2", "--save", first.path});
  EXPECT_TRUE(asOneFile(two, path) == first.read());
  // Also under the index's own name.
  EXPECT_TRUE(asOneFile(two, path + ".index.json") == first.read());
}

TEST_F(CheckpointShards, AreResumedByAnyNumberOfProcesses) {
  save(2);
  train(two, {"--iterations", "4", "--save", first.path});
  for (const Program *program : {&two, &four}) {
    for (bool areProcesses : {false, true}) {
      const Names words = {"--iterations", "4",      "--resume",
                           path,           "--save", second.path};
      if (areProcesses) {
        std::remove(second.path.c_str());
        const Outcome outcome = trainProcesses(*program, words);
        ASSERT_EQ(outcome.code, 0) << outcome.out;
      } else {
        train(*program, words);
      }
      EXPECT_TRUE(asOneFile(two, second.path) == first.read());
      std::remove((second.path + ".index.json").c_str());
    }
  }
}

TEST_F(CheckpointShards, AreInitialWeights) {
  save(2);
  train(two, {"--iterations", "2", "--save", first.path});
  std::string expected;
  for (const std::string &from : {first.path, path, path + ".index.json"}) {
    train(two, {"--iterations", "1", "--init", from, "--save", second.path});
    if (expected.empty())
      expected = second.read();
    EXPECT_TRUE(second.read() == expected) << from;
  }
}

TEST_F(CheckpointShards, OneFileIsResumedByProcesses) {
  train(two, {"--iterations", "2", "--save", path});
  save(4, {"--resume", path});
  train(two, {"--iterations", "4", "--save", first.path});
  EXPECT_TRUE(asOneFile(two, path) == first.read());
  // The shards have taken its place.
  EXPECT_EQ(folder.names(), (Names{"m-iter4-00001-of-00002.safetensors",
                                   "m-iter4-00002-of-00002.safetensors",
                                   "m.safetensors.index.json"}));
}

TEST_F(CheckpointShards, GiveWayToOneFile) {
  save(2);
  train(two, {"--iterations", "4", "--resume", path, "--save", path});
  EXPECT_EQ(folder.names(), Names{"m.safetensors"});
  train(two, {"--iterations", "4", "--save", first.path});
  EXPECT_TRUE(asOneFile(two, path) == first.read());
}

// If a process is killed between the rename of the index and the removal of the
// file, the file is the checkpoint.
TEST_F(CheckpointShards, OneFileCountsUntilItIsGone) {
  save(4);
  train(two, {"--iterations", "2", "--save", first.path});
  std::filesystem::copy(first.path, path);
  EXPECT_TRUE(asOneFile(two, path) == first.read());
}

TEST_F(CheckpointShards, OfTheSameIterationHaveOtherNames) {
  save(2);
  save(2);
  EXPECT_EQ(folder.names(), (Names{"m-iter2.1-00001-of-00002.safetensors",
                                   "m-iter2.1-00002-of-00002.safetensors",
                                   "m.safetensors.index.json"}));
}

TEST_F(CheckpointShards, LeftoversGoWithTheNextSave) {
  const Names kept = {"m-00001-of-00002.safetensors",
                      "m-iter-00001-of-00002.safetensors",
                      "m-iter7-00001-of-00002",
                      "m-iter7.-00001-of-00002.safetensors",
                      "m.safetensors.tmp",
                      "m.safetensors.tmp.7a",
                      "n-iter7-00001-of-00002.safetensors"};
  for (bool areProcesses : {true, false}) {
    for (const std::string &name : kept)
      write(name);
    for (const char *name :
         {"m-iter7-00001-of-00002.safetensors",
          "m-iter7.3-00012-of-00300.safetensors", "m.safetensors.tmp.77",
          "m.safetensors.index.json.tmp.1"})
      write(name);
    if (areProcesses)
      save(2);
    else
      train(two, {"--iterations", "2", "--save", path});
    Names expected = kept;
    if (areProcesses)
      expected.insert(expected.end(), files.begin(), files.end());
    else
      expected.push_back("m.safetensors");
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(folder.names(), expected);
  }
}

// One that another tool has written, of files that are not ours.
TEST_F(CheckpointShards, AnotherIndexStays) {
  const std::string index =
      R"({"weight_map": {"a": "m-00001-of-00002.safetensors"}})";
  write("m.safetensors.index.json", index);
  write("m-00001-of-00002.safetensors");
  train(two, {"--iterations", "2", "--save", path});
  EXPECT_EQ(folder.names(),
            (Names{"m-00001-of-00002.safetensors", "m.safetensors",
                   "m.safetensors.index.json"}));
}

// `m` and `m.safetensors` have shards of the same names, and a copied index
// keeps its checkpoint.
TEST_F(CheckpointShards, ThoseOfOtherCheckpointsInTheFolderStay) {
  save(2);
  std::filesystem::copy_file(path + ".index.json",
                             folder.of("best.safetensors.index.json"));
  const std::string best = asOneFile(two, folder.of("best.safetensors"));
  train(two, {"--iterations", "2", "--save", folder.of("m")});
  EXPECT_EQ(asOneFile(two, path), best);
  save(4);
  EXPECT_EQ(asOneFile(two, folder.of("best.safetensors")), best);
}

TEST_F(CheckpointShards, AnotherIndexIsNotReplaced) {
  const std::string index =
      R"({"weight_map": {"a": "m-00001-of-00002.safetensors"}})";
  write("m.safetensors.index.json", index);
  const Outcome outcome =
      trainProcesses(two, {"--iterations", "2", "--save", path});
  EXPECT_EQ(outcome.code, 1);
  expectIn("index '" + path +
               ".index.json' is not of a checkpoint that Rondo saved; choose "
               "another --save, or remove it",
           outcome.out);
  EXPECT_EQ(folder.names(), Names{"m.safetensors.index.json"});
}

TEST_F(CheckpointShards, MissingShard) {
  save(2);
  std::remove(shard(2, 2).c_str());
  EXPECT_EQ(errorOfResuming(),
            "error: cannot read checkpoint '" + shard(2, 2) +
                "': No such file or directory; index '" + path +
                ".index.json' names it, and all of its files must be in its "
                "folder\n");
}

TEST_F(CheckpointShards, TruncatedShard) {
  save(2);
  std::filesystem::resize_file(shard(2, 2),
                               std::filesystem::file_size(shard(2, 2)) - 4);
  const std::string error = errorOfResuming();
  expectIn("checkpoint '" + shard(2, 2) + "': ", error);
  expectIn("it is truncated", error);
}

TEST_F(CheckpointShards, ShardOfAnotherSave) {
  save(3);
  std::filesystem::copy(shard(3, 2), first.path,
                        std::filesystem::copy_options::overwrite_existing);
  save(2);
  std::filesystem::copy(first.path, shard(2, 2),
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(errorOfResuming(),
            "error: checkpoint '" + shard(2, 2) +
                "': it is of iteration 3, seed 1, but the checkpoint is of "
                "iteration 2, seed 1: all files of a checkpoint are of one "
                "save\n");
}

TEST_F(CheckpointShards, ShardWithOtherTensors) {
  save(2);
  std::filesystem::copy(shard(2, 1), shard(2, 2),
                        std::filesystem::copy_options::overwrite_existing);
  expectIn("index '" + path + ".index.json' does not place there",
           errorOfResuming());
}

TEST_F(CheckpointShards, ADeviceIsNotReplaced) {
  const Outcome outcome =
      trainProcesses(two, {"--iterations", "2", "--save", "/dev/full"});
  EXPECT_EQ(outcome.code, 1);
  expectIn("error: cannot write checkpoint '/dev/full': it is not a regular "
           "file, and several processes write a checkpoint of several files",
           outcome.out);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(CheckpointShards, AnIndexIsNoNameToSave) {
  const Outcome outcome =
      run(two, {"--data", data.path, "--save", path + ".index.json"});
  EXPECT_EQ(outcome.code, 2);
  expectIn("is the name of an index", outcome.err);
}

/// Before the run is found to be finished, not after it has begun to write.
TEST_F(CheckpointShards, AFinishedRunChecksWhereItSaves) {
  save(2);
  write("other.safetensors.index.json",
        R"({"weight_map": {"a": "b.safetensors"}})");
  const Outcome outcome =
      trainProcesses(two, {"--iterations", "2", "--resume", path, "--save",
                           folder.of("other.safetensors")});
  EXPECT_EQ(outcome.code, 1);
  expectIn("other.safetensors.index.json' is not of a checkpoint that Rondo "
           "saved; choose another --save, or remove it",
           outcome.out);
}

/// The process's own thread is in the phase while it opens files.
TEST_F(CheckpointShards, TheDataAreOpenedInTheirPhase) {
  const Outcome outcome =
      runProcesses(two, {"--quiet", "--data", folder.of("absent"),
                         "--inject-fault", "kill:0:data", "--timeout", "5"});
  EXPECT_EQ(outcome.out.find("absent"), std::string::npos) << outcome.out;
  expectIn("lost rank 0", outcome.out);
}

/// As on a folder that is not the same one on all machines.
TEST_F(StoreTest, AProcessThatReadsOtherFilesSaysSo) {
  Spec smaller = gpt({2, 1}, {0, 1}, true);
  smaller.layers = gptLayers(1, true);
  const Program model(gpt({2, 2}, {0, 1}, true)), other(smaller);
  const TemporaryFolder folder;
  const std::string paths[] = {folder.of("model"), folder.of("other")};
  const Program *const programs[] = {&model, &other};
  for (int p = 0; p < 2; ++p) {
    State state(programs[p]->exe);
    state.poison();
    state.initialise(1);
    saveCheckpoint(paths[p], state, {});
  }
  const Endings endings = run(2, [&](Store &store, int p) {
    World world;
    world.process = p;
    world.processes = 2;
    world.store = &store;
    State state(model.exe, world);
    loadCheckpoint(paths[p], state, OptimizerKind::AdamW);
  });
  EXPECT_EQ(endings[0], "peer 75");
  EXPECT_NE(endings[1].find("other': it has no tensor 'h1."), std::string::npos)
      << endings[1];
  EXPECT_NE(endings[1].find("all processes must read the same files"),
            std::string::npos)
      << endings[1];
}

/// The files by which processes try the folder of --save.
TEST_F(StoreTest, ACheckOfTheFolderThatFailsLeavesNoFile) {
  const Program model(gpt({2, 2}, {0, 1}, true));
  const TemporaryFolder folder;
  const Endings endings = run(2, [&](Store &store, int p) {
    if (p == 1) {
      const Deadline deadline(10);
      const std::string probe = folder.of("m-iter0-00001-of-00002.safetensors");
      while (!std::filesystem::exists(probe) && !deadline.hasExpired())
        std::this_thread::yield();
      EXPECT_TRUE(std::filesystem::exists(probe));
      store.fail(Exit::Failure, "gone");
      return;
    }
    World world;
    world.processes = 2;
    world.store = &store;
    const State state(model.exe, world);
    checkSavePath(folder.of("m.safetensors"), state);
  });
  EXPECT_EQ(endings, (Endings{"peer 1", "fine"}));
  EXPECT_EQ(folder.names(), Names());
}

} // namespace
