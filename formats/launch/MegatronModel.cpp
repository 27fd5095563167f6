//===- MegatronModel.cpp - Sizes of a model in flags of Megatron-LM -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronReader.h"

#include "formats/launch/MegatronFlags.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::launch;
using namespace rondo::groups;
using llvm::StringRef;
using llvm::Twine;

/// The largest --num-layers that is read. It bounds lists of stages and
/// patterns of layers.
static constexpr int64_t maxLayers = 100000;

void MegatronReader::need(StringRef name, int64_t &value) {
  if (!flags.read(name, value))
    flags.fail(name + " is missing; Megatron needs it");
}

void MegatronReader::refuseOtherModels() {
  for (const FlagMeaning &other : otherModelFlags)
    if (const Flag *flag = flags.find(other.name))
      flags.failAt(*flag, other.meaning);
}

void MegatronReader::readModel() {
  need("--num-layers", model.layers);
  if (model.layers > maxLayers)
    flags.failAt(*flags.find("--num-layers"), "at most " + Twine(maxLayers));
  need("--hidden-size", model.hidden);
  need("--num-attention-heads", model.heads);
  flags.read("--encoder-seq-length", model.sequence);
  if (!flags.read("--seq-length", model.sequence) && model.sequence == 0)
    flags.fail("--seq-length is missing; Megatron needs it");
  if (flags.hasFailed())
    return;
  const bool isSwiglu = flags.isSet("--swiglu");
  model.isGated = flags.isSet("--quick-geglu") || isSwiglu;
  // Megatron keeps the number of weights: two thirds, in multiples of 64.
  model.ffn = isSwiglu ? model.hidden * 8 / 3 / 64 * 64 : 4 * model.hidden;
  flags.read("--ffn-hidden-size", model.ffn);
  if (model.ffn == 0)
    flags.fail("--hidden-size " + Twine(model.hidden) +
               " gives --swiglu no columns; give --ffn-hidden-size");
  model.isTied = !flags.isSet("--untie-embeddings-and-output-weights");
  double dropout = 0.1;
  flags.read("--hidden-dropout", dropout);
  model.hasDropout = dropout > 0;
  flags.read("--mtp-num-layers", model.extraPredictions, 0);
  readAttention();
  readVocab();
}

void MegatronReader::readAttention() {
  if (flags.isSet("--multi-latent-attention")) {
    readLatent();
    return;
  }
  if (model.hidden % model.heads == 0)
    model.queryWidth = model.hidden / model.heads;
  if (!flags.read("--kv-channels", model.queryWidth) && model.queryWidth == 0)
    flags.fail("--hidden-size " + Twine(model.hidden) +
               " does not divide into --num-attention-heads " +
               Twine(model.heads) + "; give --kv-channels");
  model.valueWidth = model.queryWidth;
  model.keyHeads = model.heads;
  int64_t groups = 1;
  const bool hasGroups = flags.read("--num-query-groups", groups);
  if (flags.isSet("--group-query-attention"))
    model.keyHeads = groups;
  else if (hasGroups && groups != model.heads)
    note("--num-query-groups " + Twine(groups) +
         " has no effect without --group-query-attention");
  readWindow();
}

void MegatronReader::readLatent() {
  LatentAttention latent;
  latent.keyRank = 32;
  latent.rotaryWidth = 64;
  int64_t plainWidth = 128;
  model.valueWidth = 128;
  // Without it queries have one product.
  flags.read("--q-lora-rank", latent.queryRank);
  flags.read("--kv-lora-rank", latent.keyRank);
  flags.read("--qk-head-dim", plainWidth);
  flags.read("--qk-pos-emb-head-dim", latent.rotaryWidth);
  flags.read("--v-head-dim", model.valueWidth);
  model.queryWidth = plainWidth + latent.rotaryWidth;
  model.keyHeads = model.heads;
  model.latent = latent;
  // These have no effect.
  flags.find("--kv-channels");
  flags.find("--num-query-groups");
  if (const Flag *flag = flags.find("--group-query-attention"))
    flags.failAt(*flag, "no groups: Megatron refuses "
                        "--group-query-attention with "
                        "--multi-latent-attention");
}

/// Which layers of the model a pattern such as ([0]*3+[1]*58) selects; nothing
/// if it is none.
static std::optional<std::vector<bool>> readPattern(StringRef text);

void MegatronReader::readWindow() {
  const Flag *flag = flags.find("--window-size");
  const Flag *frequency = flags.find("--window-attn-skip-freq");
  if (!flag)
    return;
  const std::string joined = llvm::join(flag->values, "");
  const StringRef left = StringRef(joined).trim("()").split(',').first;
  int64_t tokens = 0;
  if (left.getAsInteger(10, tokens) || tokens < -1 || tokens > maxNumber) {
    flags.failAt(*flag, "two whole numbers, such as 4095,0");
    return;
  }
  if (tokens == -1)
    return;
  model.window = tokens + 1;
  model.windowedLayers = model.layers;
  if (!frequency)
    return;
  const std::string value = llvm::join(frequency->values, "");
  int64_t every = 0;
  if (!StringRef(value).getAsInteger(10, every) && every > 0) {
    model.windowedLayers = model.layers - model.layers / every;
    return;
  }
  const std::optional<std::vector<bool>> pattern = readPattern(value);
  if (!pattern || int64_t(pattern->size()) != model.layers) {
    flags.failAt(*frequency, "a whole number, or a list with one number for "
                             "each of the " +
                                 countOf(model.layers, "layer"));
    return;
  }
  model.windowedLayers = llvm::count(*pattern, true);
}

void MegatronReader::readVocab() {
  int64_t padded = 0;
  flags.read("--padded-vocab-size", padded);
  if (!flags.read("--vocab-size", model.vocab))
    model.vocab = padded;
  if (options.vocab > 0)
    model.vocab = options.vocab;
  if (model.vocab == 0)
    flags.fail("--vocab-size is missing, and the tokenizer's size is not in "
               "the flags; give it by --vocab");
}

static std::optional<std::vector<bool>> readPattern(StringRef text) {
  std::vector<bool> layers;
  llvm::SmallVector<StringRef> terms;
  std::string plain = text.str();
  llvm::erase(plain, ' ');
  StringRef whole = plain;
  int64_t times = 1;
  // (...)*3 around everything.
  if (whole.starts_with("(")) {
    const auto [inside, after] = whole.drop_front().rsplit(')');
    StringRef rest = after;
    if (rest.consume_front("*") && rest.getAsInteger(10, times))
      return std::nullopt;
    whole = inside;
  }
  whole.split(terms, '+');
  for (StringRef term : terms) {
    int64_t count = 1;
    const auto [list, after] = term.split(']');
    StringRef rest = after, entries = list;
    if (!entries.consume_front("[") ||
        (rest.consume_front("*")
             ? rest.getAsInteger(10, count) || count < 0 || count > maxLayers
             : !rest.empty()))
      return std::nullopt;
    llvm::SmallVector<StringRef> numbers;
    entries.split(numbers, ',');
    if (count * int64_t(numbers.size()) > maxLayers - int64_t(layers.size()))
      return std::nullopt;
    for (int64_t i = 0; i < count; ++i)
      for (StringRef entry : numbers) {
        if (entry != "0" && entry != "1")
          return std::nullopt;
        layers.push_back(entry == "1");
      }
  }
  if (times < 0 || times > maxLayers ||
      times * int64_t(layers.size()) > maxLayers)
    return std::nullopt;
  std::vector<bool> all;
  for (int64_t i = 0; i < times; ++i)
    all.insert(all.end(), layers.begin(), layers.end());
  return all;
}

void MegatronReader::readExperts() {
  Experts experts;
  if (!flags.read("--num-experts", experts.count, 0) || experts.count == 0)
    return;
  experts.perToken = 2;
  experts.ffn = model.ffn;
  flags.read("--moe-router-topk", experts.perToken);
  flags.read("--moe-ffn-hidden-size", experts.ffn);
  int64_t shared = 0;
  if (flags.read("--moe-shared-expert-intermediate-size", shared)) {
    experts.shared = shared / experts.ffn;
    if (shared % experts.ffn != 0)
      flags.failAt(*flags.find("--moe-shared-expert-intermediate-size"),
                   "a multiple of --moe-ffn-hidden-size " + Twine(experts.ffn) +
                       ": the costs have shared experts of that width");
  }
  readExpertLayers(experts);
  flags.isSet("--moe-grouped-gemm");
  if (flags.choose("--moe-token-dispatcher-type",
                   {"allgather", "alltoall", "flex"}) == 0)
    note("--moe-token-dispatcher-type is allgather; the costs are those of "
         "alltoall");
  model.experts = experts;
}

void MegatronReader::readExpertLayers(Experts &experts) {
  const Flag *flag = flags.find("--moe-layer-freq");
  if (!flag)
    return;
  const std::string value = llvm::join(flag->values, "");
  if (value == "1")
    return;
  const std::optional<std::vector<bool>> pattern = readPattern(value);
  const auto *const expected =
      "1, or a list such as ([0]*3+[1]*58) with one number a layer, the 0 "
      "first: layers without experts come first in the costs";
  if (!pattern || int64_t(pattern->size()) != model.layers) {
    flags.failAt(*flag, expected);
    return;
  }
  const auto first = llvm::find(*pattern, true);
  experts.denseLayers = first - pattern->begin();
  if (std::find(first, pattern->end(), false) != pattern->end())
    flags.failAt(*flag, expected);
}
