//===- CommandTest.cpp - Shell commands of training jobs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/Command.h"

#include "gtest/gtest.h"

using namespace rondo::launch;

namespace {

/// `--a[1,2] --b[]`.
std::string flagsOf(const Command &command) {
  std::string text;
  for (const Flag &flag : command.flags) {
    text += (text.empty() ? "" : " ") + flag.name + "[";
    for (size_t i = 0; i < flag.values.size(); ++i)
      text += (i > 0 ? "," : "") + flag.values[i];
    text += "]";
  }
  return text;
}

TEST(Command, FlagsStandAloneOnLinesOfTheirOwn) {
  const ReadCommand read = readCommand("--a 1\n--b=2 # a comment\n\n--c x y\n");
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(flagsOf(read.command), "--a[1] --b[2] --c[x,y]");
  EXPECT_TRUE(read.command.program.empty());
  EXPECT_EQ(read.command.flags[2].line, 4);
}

TEST(Command, LauncherAndProgramComeBeforeTheFlags) {
  const ReadCommand read = readCommand(
      "#!/bin/bash\nset -e\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
      "NCCL_DEBUG=INFO torchrun --nproc_per_node=8 --nnodes 4 \\\n"
      "  pretrain_gpt.py \\\n  --a 1 \\\r\n  --b '1 | 2' 2>&1 | tee log\n");
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(flagsOf(read.command), "--a[1] --b[1 | 2]");
  EXPECT_EQ(devicesOf(read.command), 32);
  EXPECT_EQ(read.command.program, std::vector<std::string>{"pretrain_gpt.py"});
  ASSERT_EQ(read.command.environment.size(), 2u);
  EXPECT_EQ(read.command.environment[0].first, "CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(read.command.environment[1].second, "INFO");
}

TEST(Command, ModulesAreProgramsToo) {
  const ReadCommand read =
      readCommand("python -m torch.distributed.run --nproc-per-node 2 "
                  "-m torchtitan.train --a b.py");
  EXPECT_EQ(flagsOf(read.command), "--a[b.py]");
  EXPECT_EQ(read.command.program,
            (std::vector<std::string>{"-m", "torchtitan.train"}));
  EXPECT_EQ(devicesOf(read.command), 2);
}

TEST(Command, VariablesAndArraysAreThoseOfTheScript) {
  const ReadCommand read = readCommand(
      "TP=4; PP=${PP:-2}\nMORE=\"--c 3\"\n"
      "MODEL=(\n  --a $TP # tensor\n  --layout \"E|${TP}L\"\n)\n"
      "torchrun run.py \"${MODEL[@]}\" --b $PP $MORE --d ${UNKNOWN} \"$@\"\n");
  EXPECT_EQ(read.fault, "");
  EXPECT_EQ(flagsOf(read.command),
            "--a[4] --layout[E|4L] --b[2] --c[3] --d[${UNKNOWN}]");
  EXPECT_EQ(flagsOf(readCommand("A=(--a 1)\nif [ \"$X\" = y ]; then\n"
                                "  A+=(\n --b 2 )\nfi\nrun.sh ${A[@]}\n")
                        .command),
            "--a[1] --b[2]");
}

TEST(Command, WordsOfArraysAreSplitUnlessTheyAreQuoted) {
  const std::string array = "A=(\"--a 1\" \"--b\")\nrun.py --c ";
  EXPECT_EQ(flagsOf(readCommand(array + "${A[@]}\n").command),
            "--c[] --a[1] --b[]");
  EXPECT_EQ(flagsOf(readCommand(array + "\"${A[@]}\"\n").command),
            "--c[] --a 1[] --b[]");
  EXPECT_EQ(flagsOf(readCommand("A=()\nrun.py --c \"${A[@]}\"\n").command),
            "--c[]");
}

TEST(Command, VariablesOfSeveralLinesAreSplit) {
  EXPECT_EQ(flagsOf(readCommand("A=\"\n  --a 1 \\\n\t--b 2\n  --c\n\"\n"
                                "run.py $A --d\n")
                        .command),
            "--a[1] --b[2] --c[] --d[]");
  EXPECT_EQ(flagsOf(readCommand("A=\"--a 1\"\nB=$A\nrun.py $B\n").command),
            "--a[1]");
  EXPECT_EQ(
      flagsOf(readCommand("A=\"--a 1\"\nA+=\" --b 2\"\nrun.py $A\n").command),
      "--a[1] --b[2]");
}

TEST(Command, FaultsNameThePlace) {
  EXPECT_EQ(readCommand("--a 1\n--b 'x\n").fault,
            "line 2 has a ' without a second one");
  EXPECT_EQ(readCommand("A=(--a 1").fault, "the array A has no )");
  EXPECT_EQ(readCommand("echo hello").fault,
            "no command with flags such as --name value was found");
  EXPECT_EQ(readCommand("").fault,
            "no command with flags such as --name value was found");
}

TEST(Command, TextIsReadAgain) {
  Command command;
  command.environment.emplace_back("A", "x y");
  launchByTorchrun(command, 32, 8);
  command.program = {"pretrain_gpt.py"};
  command.add("--switch");
  command.add("--layout", "Ett|(tt|)*2ttL");
  command.add("--quote", "it's");
  EXPECT_EQ(command.text(), "A='x y' torchrun --nproc-per-node 8 --nnodes 4 "
                            "pretrain_gpt.py \\\n  --switch \\\n"
                            "  --layout 'Ett|(tt|)*2ttL' \\\n"
                            "  --quote 'it'\\''s'\n");
  const Command read = readCommand(command.text()).command;
  EXPECT_EQ(read.text(), command.text());
  EXPECT_EQ(devicesOf(read), 32);
}

} // namespace
