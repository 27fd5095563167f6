//===- generate.cpp - Continues tokens ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each token takes a forward pass of the whole window: a pipeline keeps no keys
// and values of earlier tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/random.h"
#include "runtime/checkpoints/initial_weights.h"
#include "runtime/checkpoints/safetensors.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

using namespace rondo::runtime;

void Trainer::keepLogits() {
  programState.keepLogits(programState.ownerOf(headStage));
}

std::vector<float> Trainer::logitsOf(ProgramRun &run,
                                     const std::vector<int32_t> &tokens,
                                     int64_t first, int64_t count) {
  Samples prompt;
  prompt.tokens = [&](int64_t, int64_t size, int32_t *out) {
    std::fill(std::copy(tokens.begin(), tokens.end(), out), out + size, 0);
  };
  (void)evaluateOn(prompt, run, /*seed=*/0);
  const int32_t replica = programState.ownerOf(headStage);
  const std::string key = "logits";
  std::vector<float> logits;
  if (programState.holds(replica)) {
    logits = programState.readLogits(replica, first, count);
    if (!world().isFirst())
      world().store->give(
          key, std::string(reinterpret_cast<const char *>(logits.data()),
                           logits.size() * sizeof(float)));
  } else if (world().isFirst()) {
    const std::string bytes = world().store->take(key);
    logits.resize(bytes.size() / sizeof(float));
    std::memcpy(logits.data(), bytes.data(), bytes.size());
  }
  return logits;
}

/// The prompt of process 0, since processes may be given others.
static std::vector<int32_t>
promptOf(const Options &options, const LayerDesc &head, const World &world) {
  std::vector<int32_t> tokens = options.promptTokens;
  for (unsigned char byte : options.prompt)
    tokens.push_back(byte);
  if (!world.isAlone()) {
    std::string text;
    for (int32_t token : tokens)
      text += std::to_string(token) + " ";
    std::istringstream words(world.store->exchange("the prompt", text).front());
    tokens.clear();
    for (int32_t token; words >> token;)
      tokens.push_back(token);
  }
  auto wrong = [&](const std::string &what) {
    throwInAll(world, Error(what, Exit::Usage));
  };
  if (options.promptTokens.empty() && head.vocab > 256)
    wrong("--generate takes a byte as a token, but the vocabulary has " +
          std::to_string(head.vocab) +
          " tokens; give their ids with --generate-tokens");
  for (int32_t token : tokens)
    if (token >= head.vocab)
      wrong("token " + std::to_string(token) +
            " is not in the vocabulary, which has " +
            std::to_string(head.vocab) + " tokens");
  if (!options.logits.empty() &&
      tokens.size() > static_cast<size_t>(head.sequence))
    wrong("--logits takes at most " + std::to_string(head.sequence) +
          " tokens, the model's sequence, not " +
          std::to_string(tokens.size()));
  return tokens;
}

/// Draws a token with probability exp(logit / temperature) / sum.
/// `uniform` is from 0 to less than 1. Of equal logits the first is the most
/// likely one.
static int32_t drawToken(const std::vector<float> &logits, double temperature,
                         double uniform) {
  const auto most = std::max_element(logits.begin(), logits.end());
  const int32_t likeliest = static_cast<int32_t>(most - logits.begin());
  if (temperature == 0)
    return likeliest;
  std::vector<double> sums;
  double sum = 0;
  for (float logit : logits)
    sums.push_back(
        sum += std::exp((static_cast<double>(logit) - *most) / temperature));
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), uniform * sum);
  return drawn == sums.end() ? likeliest
                             : static_cast<int32_t>(drawn - sums.begin());
}

static void writeLogits(const std::string &path,
                        const std::vector<float> &logits, int32_t vocab) {
  SafetensorsHeader header;
  SafetensorsEntry &entry = header.tensors["logits"];
  entry.dtype = "F32";
  entry.shape = {static_cast<int64_t>(logits.size()) / vocab, vocab};
  entry.end = static_cast<int64_t>(logits.size() * sizeof(float));
  const std::string json = writeSafetensorsHeader(header);
  const uint64_t length = json.size();
  NewFile file(path, "logits '" + path + "'");
  file.write(&length, sizeof length);
  file.write(json.data(), json.size());
  file.write(logits.data(), logits.size() * sizeof(float));
  file.commit();
}

namespace {

/// Prints tokens as they come, as bytes or as ids. Process 0.
class Printer {
public:
  Printer(bool printsBytes) : printsBytes(printsBytes) {}
  void print(int32_t token) {
    if (printsBytes)
      std::putchar(token);
    else
      std::printf("%s%d", isFirst ? "" : ",", token);
    isFirst = false;
    std::fflush(stdout);
  }
  void end() { std::putchar('\n'); }

private:
  const bool printsBytes;
  bool isFirst = true;
};

} // namespace

static int generateTokens(Trainer &trainer, const Options &options) {
  const World &world = trainer.world();
  const LayerDesc *head = trainer.head();
  if (!head)
    throwInAll(world, headMissing(trainer.executable()));
  std::vector<int32_t> tokens = promptOf(options, *head, world);
  const uint64_t seed = options.seed.value_or(1);
  trainer.state().initialise(seed);
  if (options.init.empty()) {
    if (world.isFirst() && !options.quiet)
      std::fprintf(stderr,
                   "note: without --init the weights are random numbers\n");
  } else {
    for (const std::string &line :
         readInitialWeights(options.init, trainer.state()))
      if (!options.quiet)
        std::fprintf(stderr, "%s\n", line.c_str());
  }
  trainer.keepLogits();
  const Turns turns(trainer.executable(), options.schedules);
  const std::unique_ptr<ProgramRun> run =
      trainer.makeRun(findProgram(trainer.executable(), ProgramKind::Evaluation,
                                  *turns.programs().front()));
  const int64_t sequence = head->sequence;
  if (!options.logits.empty()) {
    const std::vector<float> logits =
        trainer.logitsOf(*run, tokens, 0, static_cast<int64_t>(tokens.size()));
    if (world.isFirst())
      writeLogits(options.logits, logits, head->vocab);
  }
  Printer printer(options.promptTokens.empty());
  if (world.isFirst())
    for (int32_t token : tokens)
      printer.print(token);
  const uint64_t stream = mix(seed, hashName("generate"));
  for (int64_t i = 0; i < *options.newTokens; ++i) {
    const int64_t size =
        std::min(sequence, static_cast<int64_t>(tokens.size()));
    const std::vector<int32_t> window(tokens.end() - size, tokens.end());
    const std::vector<float> logits =
        trainer.logitsOf(*run, window, size - 1, 1);
    std::string next;
    if (world.isFirst()) {
      if (!std::all_of(logits.begin(), logits.end(),
                       [](float logit) { return std::isfinite(logit); }))
        throw Error("a logit of token " + std::to_string(tokens.size()) +
                    " is not finite: the weights are damaged");
      // 53 bits, as many as a double holds.
      const double uniform =
          std::ldexp(static_cast<double>(mix(stream, i) >> 11), -53);
      const int32_t token = drawToken(logits, *options.temperature, uniform);
      printer.print(token);
      next = std::to_string(token);
    }
    if (!world.isAlone())
      next = world.store->exchange("a token", next).front();
    tokens.push_back(std::atoi(next.c_str()));
  }
  if (world.isFirst())
    printer.end();
  return 0;
}

const TextGeneration rondo::runtime::textGeneration = {generateTokens};
