//===- CommandLineTest.cpp - Flags, profiles and traces -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "runtime/base/error.h"
#include "runtime/trainer/options.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST(CommandLine, DataAreNamedWhereMissing) {
  Program program(gpt({2, 2}, {0, 1}, true));
  Outcome outcome = run(program, {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "error: this program trains on tokens: --data FILE is missing\n");
}

TEST(CommandLine, TimedModelsNeedNoData) {
  Program program(timedOnRanks(2, 0));
  Outcome outcome = run(program, {"--iterations=2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("iteration 2/2"), std::string::npos);
  EXPECT_NE(outcome.out.find("measured iteration: median "), std::string::npos);
}

TEST(CommandLine, Faults) {
  Program program(gpt({2, 2}, {0, 1}, true));
  auto error = [&](std::vector<std::string> words) {
    Outcome outcome = run(program, std::move(words));
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string help = "; --help lists the flags\n";
  EXPECT_EQ(error({"--bogus"}), "error: unknown flag '--bogus'" + help);
  EXPECT_EQ(error({"--itrations"}),
            "error: unknown flag '--itrations'; did you mean --iterations?\n");
  EXPECT_EQ(error({"--lr"}), "error: --lr needs RATE" + help);
  EXPECT_EQ(error({"--save", ""}), "error: --save needs FILE, not ''" + help);
  EXPECT_EQ(error({"--timeout", "inf"}),
            "error: --timeout needs a number from 0 to 1e+09, not 'inf'" +
                help);
  EXPECT_EQ(error({"--verify=1"}), "error: --verify takes no value" + help);
  EXPECT_EQ(error({"--iterations", "0"}),
            "error: --iterations needs a whole number of at least 1, not '0'" +
                help);
  EXPECT_EQ(error({"--held-out", "2"}),
            "error: --held-out needs a number from 0 to 0.9, not '2'" + help);
  EXPECT_EQ(error({"--save-every", "2"}),
            "error: --save-every needs --save" + help);
  EXPECT_EQ(error({"--verify", "--profile", "x"}),
            "error: --verify and --profile cannot be combined" + help);
  EXPECT_EQ(error({"--verify", "--save", "x"}),
            "error: --save, --resume, --trace, --json-log and --links-file are "
            "for training, not for --verify, --profile, --check-bodies or "
            "--generate" +
                help);
  for (const char *other : {"--verify", "--profile=x"})
    EXPECT_EQ(
        error({"--check-bodies", other}),
        "error: --check-bodies cannot be combined with --verify or --profile" +
            help);
}

TEST(CommandLine, ProfileWritesCosts) {
  Program program(timedOnRanks(2, 200'000));
  TemporaryFile file;
  EXPECT_EQ(run(program, {"--profile", file.path, "--iterations", "3"}).code,
            0);
  std::string text = file.read();
  const std::string begin = "{\"format\":\"rondo-costs/1\",\"stages\":[\n"
                            "{\"name\":\"s0\",\"forward_ns\":";
  ASSERT_EQ(text.rfind(begin, 0), 0u) << text;
  // Never shorter; how much longer depends on who else needs the cores.
  EXPECT_GE(std::stoll(text.substr(begin.size())), 200'000) << text;
  EXPECT_NE(text.find("\"samples\":12}"), std::string::npos) << text;
}

TEST(CommandLine, TraceNamesEveryAction) {
  Program program(timedOnRanks(2, 0));
  TemporaryFile file;
  EXPECT_EQ(run(program, {"--trace", file.path, "--iterations", "1"}).code, 0);
  std::string text = file.read();
  for (const char *name :
       {"0F0", "1W3", "send 0F2", "recv 1I1", "all_reduce 0", "step 1"})
    EXPECT_NE(text.find("\"name\":\"" + std::string(name) + "\""),
              std::string::npos)
        << name;
}

// Chosen after parsing, since the program decides which optimizers fit.
TEST(CommandLine, TheOptimizerFitsTheMemory) {
  auto chosen = [](int32_t moments, std::vector<std::string> words) {
    Options options = optionsOf(std::move(words));
    Executable executable{};
    executable.moments = moments;
    try {
      chooseOptimizer(executable, options);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string(nameOf(options.optimizer)) + " " +
           std::to_string(options.momentum.value_or(0.9)).substr(0, 3);
  };
  EXPECT_EQ(chosen(2, {}), "adamw 0.9");
  EXPECT_EQ(chosen(2, {"--optimizer", "sgd"}), "sgd 0.9");
  // The optimizer that memory is planned for is the default.
  EXPECT_EQ(chosen(1, {}), "sgd 0.9");
  EXPECT_EQ(chosen(1, {"--momentum", "0.5"}), "sgd 0.5");
  EXPECT_EQ(chosen(0, {}), "sgd 0.0");
  EXPECT_EQ(chosen(0, {"--optimizer", "sgd", "--momentum", "0"}), "sgd 0.0");
  EXPECT_EQ(chosen(0, {"--optimizer", "sgd"}),
            "the program's memory is planned for plain_sgd, 0 moments of each "
            "weight; sgd keeps 1 moment: run it with --optimizer sgd "
            "--momentum 0, or compile it with --optimizer sgd");
  EXPECT_EQ(chosen(1, {"--optimizer", "adamw"}),
            "the program's memory is planned for sgd, 1 moment of each weight; "
            "adamw keeps 2 moments: run it with --optimizer sgd, or compile it "
            "with --optimizer adamw");
  EXPECT_EQ(chosen(2, {"--momentum", "0.5"}),
            "--momentum needs --optimizer sgd; --help lists the flags");
}

/// A flag that is not listed here is compared between processes.
TEST(CommandLine, OnlyTheseFlagsMayDiffer) {
  Program program(timedOnRanks(2, 0));
  const std::string common = commonFlags(optionsOf({}), program.exe);
  std::istringstream help(helpText("train", program.exe));
  std::vector<std::string> mayDiffer;
  for (std::string line; std::getline(help, line);)
    if (line.rfind("  --", 0) == 0) {
      const std::string flag = line.substr(2, line.find(' ', 2) - 2);
      if (("\n" + common).find("\n" + flag + " ") == std::string::npos)
        mayDiffer.push_back(flag);
    }
  EXPECT_EQ(mayDiffer,
            (std::vector<std::string>{
                "--search-effort", "--json-log", "--threads", "--timeout",
                "--rank", "--world-size", "--local-rank", "--rdzv",
                "--secret-file", "--join-timeout", "--quiet", "--help"}));
}

/// Processes with other values would impose other links or decide otherwise.
TEST(CommandLine, ValuesOfFlagsAreCompared) {
  Program program(timedOnRanks(2, 0));
  const std::string plain = commonFlags(optionsOf({}), program.exe);
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{"--link", "5"},
        {"--link", "0:1000"},
        {"--adapt-gain", "3"},
        {"--adapt-dwell", "6"},
        {"--lr", "0.0010000001"},
        {"--graph", "off"},
        {"--data", "x"}})
    EXPECT_NE(commonFlags(optionsOf(words), program.exe), plain) << words[0];
  // A default equals its value written out.
  EXPECT_EQ(commonFlags(optionsOf({"--link", "0", "--lr", "0.001", "--seed",
                                   "1", "--adapt-gain", "2"}),
                        program.exe),
            plain);
}

} // namespace
