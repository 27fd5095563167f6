//===- options.cpp - The command line of an executable --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table holds each flag's name, argument, help and what it sets.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options.h"

#include "kinds/EditDistance.h"
#include "runtime/base/error.h"
#include "runtime/data/documents.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <type_traits>

using namespace rondo::runtime;

using rondo::nearestWord;

void rondo::runtime::usage(const std::string &message) {
  throw Error(message + "; --help lists the flags", Exit::Usage);
}

static int64_t wholeNumber(const std::string &flag, const std::string &text,
                           int64_t least, int64_t most = INT64_MAX) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  const bool isNumber = !text.empty() && *end == '\0';
  if (isNumber && (errno == ERANGE ? value > 0 : value > most))
    usage(flag + " is " + text + "; it must be at most " +
          std::to_string(most));
  if (!isNumber || errno == ERANGE || value < least)
    usage(flag + " needs a whole number of at least " + std::to_string(least) +
          ", not '" + text + "'");
  return value;
}

/// At most INT32_MAX.
static int32_t smallNumber(const std::string &flag, const std::string &text,
                           int64_t least) {
  return static_cast<int32_t>(wholeNumber(flag, text, least, INT32_MAX));
}

static double number(const std::string &flag, const std::string &text,
                     double least, double most) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
    char range[80];
    std::snprintf(range, sizeof range,
                  std::isinf(most) ? "of at least %g" : "from %g to %g", least,
                  most);
    usage(flag + " needs a number " + range + ", not '" + text + "'");
  }
  return value;
}

/// `LATENCY_US[:BYTES_PER_US]`
static ImposedLink parseLink(const std::string &text) {
  size_t colon = text.find(':');
  ImposedLink link;
  link.latencyNs = static_cast<int64_t>(
      1000 * number("--link", text.substr(0, colon), 0, 1e9));
  if (colon != std::string::npos)
    link.bytesPerUs = wholeNumber("--link", text.substr(colon + 1), 0);
  return link;
}

/// `1,2,3`
static std::vector<int32_t> parseTokens(const std::string &text) {
  std::vector<int32_t> tokens;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    tokens.push_back(
        smallNumber("--generate-tokens", text.substr(begin, end - begin), 0));
    begin = end + 1;
  }
  return tokens;
}

static bool onOrOff(const std::string &flag, const std::string &text) {
  if (text != "on" && text != "off")
    usage(flag + " needs on or off, not '" + text + "'");
  return text == "on";
}

namespace {

using Set = const std::string &;
using SetOption = void (*)(Options &, const std::string &);
using CommonText = std::string (*)(const Options &, const Executable &);

struct Flag {
  const char *name;
  /// The flag's argument as help names it; null: none.
  const char *argument;
  /// Null: it is for tests, and --help leaves it out.
  const char *help;
  SetOption set;
  /// A word that must be equal in all processes, so that a default equals its
  /// value written out; null: processes may have different values.
  CommonText common = nullptr;
};

} // namespace

static const char *givenIf(bool is) { return is ? "given" : "absent"; }

/// For paths, which may differ between machines, and for flags without value.
template <auto field>
static std::string isGiven(const Options &options, const Executable &) {
  const auto &value = options.*field;
  if constexpr (std::is_same_v<decltype(value), const bool &>)
    return givenIf(value);
  else
    return givenIf(!value.empty());
}

template <Options::Mode mode>
static std::string isMode(const Options &options, const Executable &) {
  return givenIf(options.mode == mode);
}

template <typename Value> static std::string textOf(const Value &value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

template <auto field>
static std::string valueOf(const Options &options, const Executable &) {
  return textOf(options.*field);
}

static const Flag flags[] = {
    {"--data", "FILE",
     "text (a byte is a token), llm.c tokens (.bin), or safetensors for a "
     "model with streams; a folder: all its files; may be repeated",
     [](Options &o, Set v) { o.data.push_back(v); }, isGiven<&Options::data>},
    {"--held-out", "FRACTION",
     "share of the data held out for evaluation, from the end (default 0.05)",
     [](Options &o, Set v) { o.heldOut = number("--held-out", v, 0, 0.9); },
     valueOf<&Options::heldOut>},
    {"--end-token", "ID",
     "if batches are drawn: the token between documents in llm.c's files "
     "(default 50256)",
     [](Options &o, Set v) { o.endToken = smallNumber("--end-token", v, 0); },
     [](const Options &o, const Executable &) {
       return textOf(o.endToken.value_or(defaultEndToken));
     }},
    {"--search-effort", "N",
     "if batches are drawn: effort of the search for the schedule of each, in "
     "units of 1,000 tasks (default 10000)",
     [](Options &o, Set v) {
       o.searchEffort = wholeNumber("--search-effort", v, 0, INT32_MAX);
     }},
    {"--iterations", "N",
     "number of the last iteration (default 100; with --verify 3, or as many "
     "as overlapping ones need; with --profile 10)",
     [](Options &o, Set v) {
       o.iterations = wholeNumber("--iterations", v, 1);
       o.hasIterations = true;
     },
     valueOf<&Options::iterations>},
    {"--eval-every", "N",
     "prints the held-out loss every N iterations and at the end (default: "
     "only at the end)",
     [](Options &o, Set v) { o.evalEvery = wholeNumber("--eval-every", v, 1); },
     valueOf<&Options::evalEvery>},
    {"--lr", "RATE", "maximum learning rate (default 0.001)",
     [](Options &o, Set v) { o.learningRate = number("--lr", v, 0, 1e6); },
     valueOf<&Options::learningRate>},
    {"--min-lr", "RATE", "learning rate at the end (default 0.0001)",
     [](Options &o, Set v) {
       o.minLearningRate = number("--min-lr", v, 0, 1e6);
     },
     valueOf<&Options::minLearningRate>},
    {"--warmup", "N", "iterations of linear warm-up (default 20)",
     [](Options &o, Set v) { o.warmup = wholeNumber("--warmup", v, 0); },
     valueOf<&Options::warmup>},
    {"--decay", "N",
     "iteration at which --min-lr is reached (default: the last)",
     [](Options &o, Set v) { o.decay = wholeNumber("--decay", v, 1); },
     valueOf<&Options::decay>},
    {"--optimizer", "adamw|sgd",
     "optimizer (default: the one that memory is planned for; adamw unless the "
     "program was compiled with --optimizer)",
     [](Options &o, Set v) {
       if (v != "adamw" && v != "sgd")
         usage("--optimizer needs adamw or sgd, not '" + v + "'");
       o.optimizer = v == "sgd" ? OptimizerKind::Sgd : OptimizerKind::AdamW;
       o.hasOptimizer = true;
     },
     [](const Options &o, const Executable &) -> std::string {
       return nameOf(o.optimizer);
     }},
    {"--momentum", "SHARE", "SGD momentum (default 0.9; 0: plain SGD)",
     [](Options &o, Set v) { o.momentum = number("--momentum", v, 0, 1); },
     [](const Options &o, const Executable &) {
       return textOf(o.momentum.value_or(0.9));
     }},
    {"--lr-by-delay", "N",
     "if iterations overlap: stages that read old weights start with lower "
     "learning rates, which reach the common one after N iterations",
     [](Options &o, Set v) {
       o.delayAnneal = wholeNumber("--lr-by-delay", v, 1);
     },
     valueOf<&Options::delayAnneal>},
    {"--extrapolation-decay", "SHARE",
     "if weights are extrapolated back: decay of their mean change over the "
     "updates between a forward and its backward (default 0.1353)",
     [](Options &o, Set v) {
       o.extrapolationDecay = number("--extrapolation-decay", v, 0, 1);
     },
     valueOf<&Options::extrapolationDecay>},
    {"--drain-every", "N",
     "if iterations overlap: drains the pipeline after every N iterations "
     "(default 100)",
     [](Options &o, Set v) {
       o.drainEvery = wholeNumber("--drain-every", v, 1, 100'000);
     },
     valueOf<&Options::drainEvery>},
    {"--weight-decay", "RATE",
     "the optimizer's weight decay, for matrices (default 0.1)",
     [](Options &o, Set v) {
       o.weightDecay = number("--weight-decay", v, 0, 1e6);
     },
     valueOf<&Options::weightDecay>},
    {"--clip", "NORM",
     "maximum norm of all gradients or, if iterations overlap, of the "
     "gradients of a stage (default 1; 0: no limit)",
     [](Options &o, Set v) { o.clip = number("--clip", v, 0, INFINITY); },
     valueOf<&Options::clip>},
    {"--seed", "N",
     "seed of weights, data order and generated tokens (default 1)",
     [](Options &o, Set v) {
       o.seed = static_cast<uint64_t>(wholeNumber("--seed", v, 0));
     },
     [](const Options &o, const Executable &) -> std::string {
       // Without the flag, a resumed run takes the seed from its checkpoint.
       if (!o.seed && !o.resume.empty())
         return "absent";
       return textOf(o.seed.value_or(1));
     }},
    {"--init", "PATH",
     "begins with the weights of safetensors files: a saved file, or a GPT-2 "
     "or Llama of Hugging Face (a file, an index or a folder)",
     [](Options &o, Set v) { o.init = v; }, isGiven<&Options::init>},
    {"--save", "FILE",
     "writes weights and optimizer state at the end (.safetensors); "
     "several processes write shards next to it and FILE.index.json",
     [](Options &o, Set v) { o.save = v; }, isGiven<&Options::save>},
    {"--save-every", "N", "also writes the --save file every N iterations",
     [](Options &o, Set v) { o.saveEvery = wholeNumber("--save-every", v, 1); },
     valueOf<&Options::saveEvery>},
    {"--resume", "FILE",
     "continues from a saved file; starts from the beginning if it is the "
     "--save file and does not exist",
     [](Options &o, Set v) { o.resume = v; }, isGiven<&Options::resume>},
    {"--schedule", "NAME[:N],...",
     "the schedule to train with (default: the first); several alternate, "
     "N iterations each (default 1)",
     [](Options &o, Set v) { o.schedules = parseTurns(v); },
     [](const Options &o, const Executable &exe) {
       return Turns(exe, o.schedules).text();
     }},
    {"--adapt", "on|off|search",
     "switches schedules by measured links and stages; search: also finds "
     "new ones (default: on if compiled with --adaptive, without --schedule)",
     [](Options &o, Set v) {
       if (v != "on" && v != "off" && v != "search")
         usage("--adapt needs on, off or search, not '" + v + "'");
       o.adapts = v != "off";
       o.searches = v == "search";
     },
     [](const Options &o, const Executable &) -> std::string {
       return !o.adapts    ? "absent"
              : o.searches ? "search"
              : *o.adapts  ? "on"
                           : "off";
     }},
    {"--adapt-every", "N", "decides every N iterations (default 5)",
     [](Options &o, Set v) {
       o.tuner.every = wholeNumber("--adapt-every", v, 1);
     },
     [](const Options &o, const Executable &) {
       return textOf(o.tuner.every);
     }},
    {"--adapt-gain", "PERCENT", "minimum gain of a switch (default 2)",
     [](Options &o, Set v) {
       o.tuner.leastGain = number("--adapt-gain", v, 0, 99) / 100;
     },
     [](const Options &o, const Executable &) {
       return textOf(100 * o.tuner.leastGain);
     }},
    {"--adapt-dwell", "N",
     "minimum number of iterations between two switches (default 5)",
     [](Options &o, Set v) {
       o.tuner.dwell = wholeNumber("--adapt-dwell", v, 1);
     },
     [](const Options &o, const Executable &) {
       return textOf(o.tuner.dwell);
     }},
    {"--adapt-memory", "BYTES",
     "memory of each rank for schedules that the search finds (default: the "
     "memory that the compiled schedules need)",
     [](Options &o, Set v) {
       o.adaptMemory = wholeNumber("--adapt-memory", v, 1);
     },
     valueOf<&Options::adaptMemory>},
    {"--verify", nullptr,
     "runs the sequential reference and the pipelines and compares all "
     "weights",
     [](Options &o, Set) { o.mode = Options::Mode::Verify; },
     isMode<Options::Mode::Verify>},
    {"--profile", "FILE",
     "measures each stage's tasks and writes rondo-costs/1",
     [](Options &o, Set v) {
       o.mode = Options::Mode::Profile;
       o.profile = v;
     },
     isMode<Options::Mode::Profile>},
    {"--check-bodies", nullptr,
     "compares the gradients of custom layers with finite differences",
     [](Options &o, Set) { o.mode = Options::Mode::CheckBodies; },
     isMode<Options::Mode::CheckBodies>},
    {"--generate", "TEXT", "continues a text, a byte a token, and prints it",
     [](Options &o, Set v) {
       o.mode = Options::Mode::Generate;
       o.prompt = v;
     },
     isGiven<&Options::prompt>},
    {"--generate-tokens", "ID,...", "continues tokens and prints their ids",
     [](Options &o, Set v) {
       o.mode = Options::Mode::Generate;
       o.promptTokens = parseTokens(v);
     },
     isGiven<&Options::promptTokens>},
    {"--tokens", "N", "how many tokens to generate (default 64)",
     [](Options &o, Set v) { o.newTokens = wholeNumber("--tokens", v, 0); },
     [](const Options &o, const Executable &) { return textOf(*o.newTokens); }},
    {"--temperature", "T",
     "divides the logits before a token is drawn (default 1); 0: takes the "
     "most likely one",
     [](Options &o, Set v) {
       o.temperature = number("--temperature", v, 0, 1e6);
     },
     [](const Options &o, const Executable &) {
       return textOf(*o.temperature);
     }},
    {"--logits", "FILE",
     "writes the logits of the tokens to continue (.safetensors)",
     [](Options &o, Set v) { o.logits = v; }, isGiven<&Options::logits>},
    {"--trace", "FILE",
     "writes a Chrome trace of the tasks, messages and waits of the first 10 "
     "iterations",
     [](Options &o, Set v) { o.trace = v; }, isGiven<&Options::trace>},
    {"--json-log", "FILE",
     "writes one JSON object per iteration; with --resume, appends them",
     [](Options &o, Set v) { o.jsonLog = v; }},
    {"--link", "US[:BYTES_PER_US]",
     "imposes latency and bandwidth (0: no limit) on every link",
     [](Options &o, Set v) { o.link = parseLink(v); },
     [](const Options &o, const Executable &) {
       return textOf(static_cast<double>(o.link.latencyNs) * 1e-3) + ":" +
              std::to_string(o.link.bytesPerUs);
     }},
    {"--link-trace", "FILE",
     "imposes latency and bandwidth that change, by link and by time or "
     "iteration (CSV or JSON lines)",
     [](Options &o, Set v) { o.linkTrace = v; }, isGiven<&Options::linkTrace>},
    {"--link-trace-repeat", "N",
     "begins the link trace again every N ms or iterations (default: its "
     "last rows hold)",
     [](Options &o, Set v) {
       o.linkTraceRepeat = smallNumber("--link-trace-repeat", v, 1);
     },
     valueOf<&Options::linkTraceRepeat>},
    {"--impose-host-links", nullptr,
     "copies of activations to the host and back take as long as the plan's "
     "host links say",
     [](Options &o, Set) { o.imposeHostLinks = true; },
     isGiven<&Options::imposeHostLinks>},
    {"--links", nullptr,
     "prints the measured latency and bandwidth of channels",
     [](Options &o, Set) { o.showLinks = true; }, isGiven<&Options::showLinks>},
    {"--links-file", "FILE",
     "writes the measured latency and bandwidth of channels as a pipe.cluster",
     [](Options &o, Set v) { o.linksFile = v; }, isGiven<&Options::linksFile>},
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
     "if the run fails, each rank writes a file with its last actions to DIR, "
     "for rondo blame",
     [](Options &o, Set v) { o.failureDir = v; },
     isGiven<&Options::failureDir>},
    {"--check-messages", nullptr,
     "sends a checksum with each message and compares it (CPUs)",
     [](Options &o, Set) { o.checksMessages = true; },
     isGiven<&Options::checksMessages>},
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
     "file with the shared secret of all processes, readable by you alone "
     "(default: RONDO_SECRET)",
     [](Options &o, Set v) { o.launch.secretFile = v; }},
    {"--join-timeout", "SECONDS",
     "how long processes may take to join (default 60)",
     [](Options &o, Set v) {
       o.joinSeconds = number("--join-timeout", v, 0, 1e6);
     }},
    {"--graph", "on|off",
     "on GPUs: records an iteration as a graph and repeats it (default on)",
     [](Options &o, Set v) { o.useGraph = onOrOff("--graph", v); },
     [](const Options &o, const Executable &) -> std::string {
       return o.useGraph ? "on" : "off";
     }},
    {"--attention", "own|cudnn",
     "on GPUs: the kernels for attention (default: cuDNN's if available)",
     [](Options &o, Set v) {
       if (v != "own" && v != "cudnn")
         throw Error("--attention takes own or cudnn, not '" + std::string(v) +
                         "'",
                     Exit::Usage);
       o.attention = v == "own" ? Attention::Own : Attention::Cudnn;
     },
     [](const Options &o, const Executable &) -> std::string {
       return o.attention == Attention::Fastest ? "absent"
              : o.attention == Attention::Own   ? "own"
                                                : "cudnn";
     }},
    {"--tune", "FILE",
     "on GPUs: measures the algorithms for matrix products once and stores the "
     "fastest in FILE, which later runs read",
     [](Options &o, Set v) { o.tune = v; }, isGiven<&Options::tune>},
    {"--quiet", nullptr, "prints only results",
     [](Options &o, Set) { o.quiet = true; }},
    {"--help", nullptr, "prints this",
     [](Options &o, Set) { o.mode = Options::Mode::Help; }},
};

[[noreturn]] static void unknown(const std::string &word) {
  std::vector<std::string> known;
  for (const Flag &flag : flags)
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
    for (const Flag &candidate : flags)
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
  for (const Flag &flag : flags) {
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

std::string rondo::runtime::commonFlags(const Options &options,
                                        const Executable &executable) {
  std::string text;
  for (const Flag &flag : flags)
    if (flag.common)
      text += std::string(flag.name) + " " + flag.common(options, executable) +
              "\n";
  return text;
}
