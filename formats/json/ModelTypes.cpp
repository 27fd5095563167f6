//===- ModelTypes.cpp - What keys of configurations mean ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults are those of the classes of Hugging Face's transformers. Where these
// differ from one model type to the next and set a size, the key is required.
//
//===----------------------------------------------------------------------===//

#include "formats/json/ModelTypes.h"

#include "llvm/ADT/STLExtras.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

namespace {

ModelKey required(const char *name, int64_t ModelConfig::*field) {
  ModelKey key{name, KeyUse::Size};
  key.size = field;
  key.isRequired = true;
  return key;
}

ModelKey size(const char *name, int64_t ModelConfig::*field) {
  ModelKey key{name, KeyUse::Size};
  key.size = field;
  return key;
}

ModelKey real(const char *name, double ModelConfig::*field) {
  ModelKey key{name, KeyUse::Real};
  key.real = field;
  return key;
}

ModelKey flag(const char *name, bool ModelConfig::*field) {
  ModelKey key{name, KeyUse::Flag};
  key.flag = field;
  return key;
}

ModelKey fixed(const char *name, ArrayRef<const char *> values,
               const char *rule) {
  ModelKey key{name, KeyUse::Fixed};
  key.values = values;
  key.rule = rule;
  return key;
}

constexpr const char *isTrue[] = {"true"}, *isFalse[] = {"false"};
constexpr const char *geluByTanh[] = {"\"gelu_new\"", "\"gelu_pytorch_tanh\""};
constexpr const char *silu[] = {"\"silu\""};
constexpr const char *gptEpsilon[] = {"1e-05"}, *none[] = {"0"},
                     *nothing[] = {"{}"};

ArrayRef<ModelKey> gptKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      required("vocab_size", &C::vocab),
      required("n_positions", &C::positions),
      required("n_embd", &C::hidden),
      required("n_layer", &C::layers),
      required("n_head", &C::heads),
      size("n_inner", &C::ffn),
      flag("tie_word_embeddings", &C::tied),
      fixed("activation_function", geluByTanh, "a block's MLP has gelu_new"),
      fixed("layer_norm_epsilon", gptEpsilon, "the norms of a gpt add 1e-05"),
      fixed("scale_attn_weights", isTrue,
            "attention divides by the root of the head's width"),
      fixed("scale_attn_by_inverse_layer_idx", isFalse,
            "attention is scaled alike in all layers"),
      fixed("add_cross_attention", isFalse, "a block attends to itself alone"),
      fixed("n_special", none, "all tokens are in vocab_size"),
      fixed("pruned_heads", nothing, "all blocks have the same heads"),
      {"resid_pdrop", KeyUse::Dropout},
      {"embd_pdrop", KeyUse::Dropout},
      {"attn_pdrop", KeyUse::Dropout},
  };
  return keys;
}

/// What llama, mistral and qwen have in common.
ArrayRef<ModelKey> llamaFamilyKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      required("vocab_size", &C::vocab),
      required("hidden_size", &C::hidden),
      required("intermediate_size", &C::ffn),
      required("num_hidden_layers", &C::layers),
      required("num_attention_heads", &C::heads),
      required("max_position_embeddings", &C::positions),
      real("rms_norm_eps", &C::normEpsilon),
      real("rope_theta", &C::ropeTheta),
      {"rope_scaling", KeyUse::RopeScaling},
      {"rope_parameters", KeyUse::RopeParameters},
      flag("tie_word_embeddings", &C::tied),
      fixed("hidden_act", silu, "a block's MLP has silu"),
      fixed("mlp_bias", isFalse, "a block's MLP has no bias"),
      fixed("attention_bias", isFalse,
            "of attention's products only q, k and v of qwen2 have a bias"),
      fixed("rope_interleaved", isFalse,
            "rotary positions turn pairs of the two halves of a head"),
      fixed("use_mrope", isFalse,
            "rotary positions count the tokens of a text"),
      {"attention_dropout", KeyUse::Dropout},
  };
  return keys;
}

ArrayRef<ModelKey> llamaKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {size("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth)};
  return keys;
}

ArrayRef<ModelKey> mistralKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window)};
  return keys;
}

ArrayRef<ModelKey> qwen2Keys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  flag("use_sliding_window", &C::usesWindow),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

ArrayRef<ModelKey> qwen3Keys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  required("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  flag("use_sliding_window", &C::usesWindow),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

ModelConfig gptDefaults() {
  ModelConfig config;
  config.tied = true;
  config.normEpsilon = 1e-5;
  return config;
}

ModelConfig llamaDefaults() {
  ModelConfig config;
  config.architecture = Architecture::Llama;
  config.normEpsilon = 1e-6;
  return config;
}

ModelConfig mistralDefaults() {
  ModelConfig config = llamaDefaults();
  config.window = 4096;
  return config;
}

ModelConfig qwenDefaults(bool qkvBias) {
  ModelConfig config = mistralDefaults();
  config.usesWindow = false;
  config.qkvBias = qkvBias;
  config.headNorm = !qkvBias;
  return config;
}

} // namespace

ArrayRef<ModelType> modelTypes() {
  constexpr const char *hidden = "hidden_size", *heads = "num_attention_heads",
                       *positions = "max_position_embeddings";
  const ArrayRef<ModelKey> shared = llamaFamilyKeys();
  static const ModelType types[] = {
      {"gpt2", {}, gptKeys(), gptDefaults(), "n_embd", "n_head", "n_positions"},
      {"llama", shared, llamaKeys(), llamaDefaults(), hidden, heads, positions},
      {"mistral", shared, mistralKeys(), mistralDefaults(), hidden, heads,
       positions},
      {"qwen2", shared, qwen2Keys(), qwenDefaults(true), hidden, heads,
       positions},
      {"qwen3", shared, qwen3Keys(), qwenDefaults(false), hidden, heads,
       positions},
  };
  return types;
}

const ModelKey *ModelType::find(StringRef key) const {
  for (ArrayRef<ModelKey> keys : {sharedKeys, ownKeys})
    for (const ModelKey &known : keys)
      if (known.name == key)
        return &known;
  return nullptr;
}

ModelParameters parametersOf(const ModelConfig &config) {
  const int64_t hidden = config.hidden, ffn = config.ffn,
                vocabulary = config.vocab * hidden,
                head = config.tied ? 0 : vocabulary;
  if (config.architecture == Architecture::Gpt) {
    // Two norms with gain and bias, and four products with biases.
    const int64_t norms = 4 * hidden,
                  attention = 4 * hidden * hidden + 4 * hidden,
                  mlp = 2 * hidden * ffn + ffn + hidden;
    return {vocabulary + config.sequence * hidden, norms + attention + mlp,
            2 * hidden + head};
  }
  const int64_t queries = config.heads * config.headWidth,
                keys = config.keyHeads * config.headWidth,
                attention = hidden * (2 * queries + 2 * keys),
                biases = config.qkvBias ? queries + 2 * keys : 0,
                headNorms = config.headNorm ? 2 * config.headWidth : 0;
  return {vocabulary,
          2 * hidden + attention + biases + headNorms + 3 * hidden * ffn,
          hidden + head};
}

bool isHarmlessKey(StringRef key) {
  static const StringRef names[] = {
      // How the file was made, and what reads it.
      "_attn_implementation_autoset", "_name_or_path", "architectures",
      "finetuning_task", "model_type", "name_or_path", "task_specific_params",
      "tokenizer_class", "transformers_version",
      // Token ids of data and of generated text.
      "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
      "unk_token_id",
      // Types and first values of weights, which Rondo has its own of.
      "dtype", "initializer_range", "torch_dtype", "use_bfloat16",
      // How another program computes the same values.
      "gradient_checkpointing", "is_decoder", "output_past", "pretraining_tp",
      "reorder_and_upcast_attn", "torchscript", "use_cache",
      // What is returned besides the loss, and heads for other tasks.
      "_num_labels", "id2label", "label2id", "num_labels", "output_attentions",
      "output_hidden_states", "predict_special_tokens", "return_dict",
      "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
      "summary_type", "summary_use_proj",
      // Old name of n_positions, which gpt2 files have besides.
      "n_ctx",
      // Which layers have the window, if one is used at all.
      "max_window_layers"};
  return llvm::is_contained(names, key);
}

} // namespace rondo::json
