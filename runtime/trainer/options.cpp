//===- options.cpp - The command line of an emitted program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table holds each flag's name, argument, help and what it sets.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options.h"

#include "kinds/EditDistance.h"
#include "runtime/base/error.h"
#include "runtime/trainer/option_checks.h"
#include "runtime/trainer/option_values.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

using rondo::nearestWord;
using namespace rondo::runtime;

namespace {

struct Flag {
  const char *name;
  /// The flag's argument as help names it; null: none.
  const char *argument;
  /// Null: it is for tests, and --help leaves it out.
  const char *help;
  std::function<void(Options &, const std::string &)> set;
};

} // namespace

static const std::vector<Flag> &flags() {
  using Set = const std::string &;
  static const std::vector<Flag> table = {
      {"--data", "FILE",
       "text (a byte is a token) or llm.c tokens (.bin); a folder: all its "
       "files; may be repeated",
       [](Options &o, Set v) { o.data.push_back(v); }},
      {"--held-out", "FRACTION",
       "share of the data held out for evaluation, from the end (default 0.05)",
       [](Options &o, Set v) { o.heldOut = number("--held-out", v, 0, 0.9); }},
      {"--iterations", "N",
       "number of the last iteration (default 100; with --verify 3, or as many "
       "as overlapping ones need; with --profile 10)",
       [](Options &o, Set v) {
         o.iterations = wholeNumber("--iterations", v, 1);
         o.hasIterations = true;
       }},
      {"--eval-every", "N",
       "prints the held-out loss every N iterations and at the end (default: "
       "only at the end)",
       [](Options &o, Set v) {
         o.evalEvery = wholeNumber("--eval-every", v, 1);
       }},
      {"--lr", "RATE", "maximum learning rate (default 0.001)",
       [](Options &o, Set v) { o.learningRate = number("--lr", v, 0, 1e6); }},
      {"--min-lr", "RATE", "learning rate at the end (default 0.0001)",
       [](Options &o, Set v) {
         o.minLearningRate = number("--min-lr", v, 0, 1e6);
       }},
      {"--warmup", "N", "iterations of linear warm-up (default 20)",
       [](Options &o, Set v) { o.warmup = wholeNumber("--warmup", v, 0); }},
      {"--decay", "N",
       "iteration at which --min-lr is reached (default: the last)",
       [](Options &o, Set v) { o.decay = wholeNumber("--decay", v, 1); }},
      {"--optimizer", "adamw|sgd",
       "what makes steps of gradients (default: what memory is planned for, "
       "adamw unless the program was compiled with --optimizer)",
       [](Options &o, Set v) {
         if (v != "adamw" && v != "sgd")
           usage("--optimizer needs adamw or sgd, not '" + v + "'");
         o.optimizer = v == "sgd" ? OptimizerKind::Sgd : OptimizerKind::AdamW;
         o.hasOptimizer = true;
       }},
      {"--momentum", "SHARE",
       "what sgd keeps of its last step (default 0.9; 0: plain)",
       [](Options &o, Set v) { o.momentum = number("--momentum", v, 0, 1); }},
      {"--lr-by-delay", "N",
       "where iterations overlap: stages that read old weights begin with "
       "smaller learning rates, which are equal after N iterations",
       [](Options &o, Set v) {
         o.delayAnneal = wholeNumber("--lr-by-delay", v, 1);
       }},
      {"--extrapolation-decay", "SHARE",
       "where weights are moved back: what their mean change keeps over the "
       "updates between a forward and its backward (default 0.1353)",
       [](Options &o, Set v) {
         o.extrapolationDecay = number("--extrapolation-decay", v, 0, 1);
       }},
      {"--drain-every", "N",
       "where iterations overlap: lets them all end behind every N (default "
       "100)",
       [](Options &o, Set v) {
         o.drainEvery = wholeNumber("--drain-every", v, 1, 100'000);
       }},
      {"--weight-decay", "RATE",
       "the optimizer's weight decay, for matrices (default 0.1)",
       [](Options &o, Set v) {
         o.weightDecay = number("--weight-decay", v, 0, 1e6);
       }},
      {"--clip", "NORM",
       "maximum norm of the gradients, of all or, where iterations overlap, of "
       "a stage (default 1; 0: no limit)",
       [](Options &o, Set v) { o.clip = number("--clip", v, 0, INFINITY); }},
      {"--seed", "N",
       "seed of weights, data order and generated tokens (default 1)",
       [](Options &o, Set v) {
         o.seed = static_cast<uint64_t>(wholeNumber("--seed", v, 0));
       }},
      {"--init", "PATH",
       "begins with the weights of safetensors files: a saved file, or a GPT-2 "
       "or Llama of Hugging Face (a file, an index or a folder)",
       [](Options &o, Set v) { o.init = v; }},
      {"--save", "FILE",
       "writes weights and optimizer state at the end (.safetensors); "
       "several processes write shards next to it and FILE.index.json",
       [](Options &o, Set v) { o.save = v; }},
      {"--save-every", "N", "also writes the --save file every N iterations",
       [](Options &o, Set v) {
         o.saveEvery = wholeNumber("--save-every", v, 1);
       }},
      {"--resume", "FILE",
       "continues from a saved file; starts from the beginning if it is the "
       "--save file and does not exist",
       [](Options &o, Set v) { o.resume = v; }},
      {"--schedule", "NAME[:N],...",
       "the schedule to train with (default: the first); several alternate, "
       "N iterations each (default 1)",
       [](Options &o, Set v) { o.schedules = parseTurns(v); }},
      {"--adapt", "on|off|search",
       "changes between schedules as measured links and stages suggest, and "
       "searches for more (default: on if compiled so, without --schedule)",
       [](Options &o, Set v) {
         if (v != "on" && v != "off" && v != "search")
           usage("--adapt needs on, off or search, not '" + v + "'");
         o.adapts = v != "off";
         o.searches = v == "search";
       }},
      {"--adapt-every", "N", "decides every N iterations (default 5)",
       [](Options &o, Set v) {
         o.tuner.every = wholeNumber("--adapt-every", v, 1);
       }},
      {"--adapt-gain", "PERCENT",
       "how much faster another schedule must be (default 2)",
       [](Options &o, Set v) {
         o.tuner.leastGain = number("--adapt-gain", v, 0, 99) / 100;
       }},
      {"--adapt-dwell", "N",
       "iterations that a schedule runs at least (default 5)",
       [](Options &o, Set v) {
         o.tuner.dwell = wholeNumber("--adapt-dwell", v, 1);
       }},
      {"--adapt-memory", "BYTES",
       "memory of each rank, for what the search finds (default: what the "
       "compiled schedules need)",
       [](Options &o, Set v) {
         o.adaptMemory = wholeNumber("--adapt-memory", v, 1);
       }},
      {"--verify", nullptr,
       "runs the sequential reference and the pipelines and compares all "
       "weights",
       [](Options &o, Set) { o.mode = Options::Mode::Verify; }},
      {"--profile", "FILE",
       "measures each stage's tasks and writes rondo-costs/1",
       [](Options &o, Set v) {
         o.mode = Options::Mode::Profile;
         o.profile = v;
       }},
      {"--check-bodies", nullptr,
       "compares the gradients of custom layers with finite differences",
       [](Options &o, Set) { o.mode = Options::Mode::CheckBodies; }},
      {"--generate", "TEXT", "continues a text, a byte a token, and prints it",
       [](Options &o, Set v) {
         o.mode = Options::Mode::Generate;
         o.prompt = v;
       }},
      {"--generate-tokens", "ID,...", "continues tokens and prints their ids",
       [](Options &o, Set v) {
         o.mode = Options::Mode::Generate;
         o.promptTokens = parseTokens(v);
       }},
      {"--tokens", "N", "how many tokens to generate (default 64)",
       [](Options &o, Set v) { o.newTokens = wholeNumber("--tokens", v, 0); }},
      {"--temperature", "T",
       "divides the logits before a token is drawn (default 1); 0: takes the "
       "most likely one",
       [](Options &o, Set v) {
         o.temperature = number("--temperature", v, 0, 1e6);
       }},
      {"--logits", "FILE",
       "writes the logits of the tokens to continue (.safetensors)",
       [](Options &o, Set v) { o.logits = v; }},
      {"--trace", "FILE",
       "writes when tasks, messages and waits of the first 10 iterations were "
       "(Chrome trace)",
       [](Options &o, Set v) { o.trace = v; }},
      {"--json-log", "FILE",
       "writes one JSON object per iteration; with --resume, appends them",
       [](Options &o, Set v) { o.jsonLog = v; }},
      {"--link", "US[:BYTES_PER_US]",
       "imposes latency and bandwidth (0: no limit) on every link",
       [](Options &o, Set v) { o.link = parseLink(v); }},
      {"--link-trace", "FILE",
       "imposes latency and bandwidth that change, by link and by time or "
       "iteration (CSV or JSON lines)",
       [](Options &o, Set v) { o.linkTrace = v; }},
      {"--link-trace-repeat", "N",
       "begins the link trace again every N ms or iterations (default: its "
       "last rows hold)",
       [](Options &o, Set v) {
         o.linkTraceRepeat = smallNumber("--link-trace-repeat", v, 1);
       }},
      {"--links", nullptr,
       "prints the latency and bandwidth that channels have measured",
       [](Options &o, Set) { o.showLinks = true; }},
      {"--links-file", "FILE",
       "writes what channels have measured as a pipe.cluster",
       [](Options &o, Set v) { o.linksFile = v; }},
      {"--threads", "N",
       "threads of each rank that compute, on CPUs (default: its share of the "
       "cores)",
       [](Options &o, Set v) { o.threads = smallNumber("--threads", v, 1); }},
      {"--timeout", "SECONDS",
       "fails after this long without progress (default 600; 0: never)",
       [](Options &o, Set v) {
         o.timeoutSeconds = number("--timeout", v, 0, 1e9);
       }},
      {"--failure-dir", "DIR",
       "if the run fails, each rank writes its last actions into a file there, "
       "for rondo blame",
       [](Options &o, Set v) { o.failureDir = v; }},
      {"--check-messages", nullptr,
       "sends a checksum with each message and compares it (CPUs)",
       [](Options &o, Set) { o.checksMessages = true; }},
      {"--inject-fault", "KIND:RANK:MOMENT", nullptr,
       [](Options &o, Set v) { o.fault = parseFault(v); }},
      {"--rank", "R", "rank of this process (default: from the launcher)",
       [](Options &o, Set v) { o.launch.rank = smallNumber("--rank", v, 0); }},
      {"--world-size", "N", "number of processes of the run",
       [](Options &o, Set v) {
         o.launch.worldSize = smallNumber("--world-size", v, 1);
       }},
      {"--local-rank", "R", "rank among the processes of this machine",
       [](Options &o, Set v) {
         o.launch.localRank = smallNumber("--local-rank", v, 0);
       }},
      {"--rdzv", "PLACE", "where processes meet: HOST:PORT or file:///PATH",
       [](Options &o, Set v) { o.launch.rendezvous = v; }},
      {"--secret-file", "FILE",
       "what all processes know and no stranger does; only you may read it "
       "(default: RONDO_SECRET)",
       [](Options &o, Set v) { o.launch.secretFile = v; }},
      {"--join-timeout", "SECONDS",
       "how long processes may take to join (default 60)",
       [](Options &o, Set v) {
         o.joinSeconds = number("--join-timeout", v, 0, 1e6);
       }},
      {"--graph", "on|off",
       "on GPUs: records an iteration as a graph and repeats it (default on)",
       [](Options &o, Set v) { o.useGraph = onOrOff("--graph", v); }},
      {"--attention", "own|cudnn",
       "on GPUs: whose kernels compute attention (default: cuDNN's, where it "
       "is there)",
       [](Options &o, Set v) {
         if (v != "own" && v != "cudnn")
           throw Error("--attention takes own or cudnn, not '" +
                           std::string(v) + "'",
                       Exit::Usage);
         o.attention = v == "own" ? Attention::Own : Attention::Cudnn;
       }},
      {"--tune", "FILE",
       "on GPUs: measures algorithms of products once and keeps the fastest "
       "ones in the file, which later runs read",
       [](Options &o, Set v) { o.tune = v; }},
      {"--quiet", nullptr, "prints only results",
       [](Options &o, Set) { o.quiet = true; }},
      {"--help", nullptr, "prints this",
       [](Options &o, Set) { o.mode = Options::Mode::Help; }},
  };
  return table;
}

[[noreturn]] static void unknown(const std::string &word) {
  std::vector<std::string> known;
  for (const Flag &flag : flags())
    if (flag.help)
      known.push_back(flag.name);
  const std::string nearest = nearestWord(word, known);
  if (nearest.empty())
    usage("unknown flag '" + word + "'");
  throw Error("unknown flag '" + word + "'; did you mean " + nearest + "?",
              Exit::Usage);
}

Options rondo::runtime::parseOptions(int argc, char **argv) {
  Options options;
  bool isVerify = false, isCheck = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i], value;
    if (word == "-h")
      word = "--help";
    size_t equals = word.find('=');
    bool hasValue = equals != std::string::npos;
    if (hasValue) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const Flag *flag = nullptr;
    for (const Flag &candidate : flags())
      if (word == candidate.name)
        flag = &candidate;
    if (!flag)
      unknown(word);
    if (!flag->argument && hasValue)
      usage(word + " takes no value");
    if (flag->argument && !hasValue) {
      if (i + 1 == argc)
        usage(word + " needs " + flag->argument);
      value = argv[++i];
    }
    // An empty value may be an unset variable of a script, not a request to
    // save nothing.
    if (flag->argument && value.empty())
      usage(word + " needs " + flag->argument + ", not ''");
    flag->set(options, value);
    isVerify |= options.mode == Options::Mode::Verify;
    isCheck |= options.mode == Options::Mode::CheckBodies;
    if (options.mode == Options::Mode::Help)
      return options;
  }
  checkTogether(options, isVerify, isCheck);
  if (!options.newTokens)
    options.newTokens = 64;
  if (!options.temperature)
    options.temperature = 1;
  if (options.iterations == 0)
    options.iterations = options.mode == Options::Mode::Verify    ? 3
                         : options.mode == Options::Mode::Profile ? 10
                                                                  : 100;
  if (options.decay == 0)
    options.decay = options.iterations;
  return options;
}

std::string rondo::runtime::helpText(const std::string &program,
                                     const Executable &executable) {
  std::string text =
      "usage: " + program +
      " --data FILE [flags]\n"
      "       " +
      program +
      " --verify\n"
      "       " +
      program +
      " --init PATH --generate TEXT\n"
      "\n"
      "Trains the model that was compiled into this program.\n\n";
  for (const Flag &flag : flags()) {
    if (!flag.help)
      continue;
    std::string left = "  " + std::string(flag.name);
    if (flag.argument)
      left += std::string(" ") + flag.argument;
    left.resize(std::max<size_t>(left.size() + 2, 28), ' ');
    text += left + flag.help + "\n";
  }
  text += "\nschedules:\n";
  for (const ProgramDesc *pipeline : pipelinesOf(executable))
    text += "  " + describe(*pipeline) + "\n";
  return text +
         "\nexit codes: 0 success, 1 failure, 2 usage, 4 interrupted with a "
         "checkpoint written,\n75 the run failed and may be retried, 77 no "
         "device\n";
}
