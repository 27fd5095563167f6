//===- ModelTypes.cpp - What keys of configurations mean ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables have every key that the configuration classes of Hugging Face's
// transformers 5.24.0 and 4.57.6 write for these model types:
// `to_json_string(use_diff=False)` of GPT2Config, LlamaConfig, MistralConfig,
// Qwen2Config and Qwen3Config, the common keys of PreTrainedConfig, and the
// parameters of GenerationConfig, which older files have in config.json; and of
// MixtralConfig, Qwen3MoeConfig and DeepseekV3Config.
// Defaults are those of 5.24.0. If they differ from one model type to the next
// and set a size, the key is required.
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

/// A size that may be 0.
ModelKey count(const char *name, int64_t ModelConfig::*field) {
  ModelKey key = size(name, field);
  key.least = 0;
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
                     *whole[] = {"1"}, *nothing[] = {"{}"}, *null[] = {"null"};

/// Keys of PreTrainedConfig that change the model unless they have its default.
ArrayRef<ModelKey> commonKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      flag("tie_word_embeddings", &C::tied),
      fixed("add_cross_attention", isFalse, "a block attends to itself alone"),
      fixed("is_encoder_decoder", isFalse, "a model is one decoder"),
      fixed("tie_encoder_decoder", isFalse, "a model is one decoder"),
      fixed("pruned_heads", nothing, "all blocks have the same heads"),
      fixed("per_layer_config", null, "all blocks are the same"),
      fixed("quantization_config", null, "weights are F32, F16 or BF16"),
  };
  return keys;
}

ArrayRef<ModelKey> gptKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      required("vocab_size", &C::vocab),
      required("n_positions", &C::positions),
      required("n_embd", &C::hidden),
      required("n_layer", &C::layers),
      required("n_head", &C::heads),
      size("n_inner", &C::ffn),
      fixed("activation_function", geluByTanh, "a block's MLP has gelu_new"),
      fixed("layer_norm_epsilon", gptEpsilon, "the norms of a gpt add 1e-05"),
      fixed("scale_attn_weights", isTrue,
            "attention divides by the root of the head's width"),
      fixed("scale_attn_by_inverse_layer_idx", isFalse,
            "attention is scaled alike in all layers"),
      fixed("n_special", none, "all tokens are in vocab_size"),
      {"resid_pdrop", KeyUse::Dropout},
      {"embd_pdrop", KeyUse::Dropout},
      {"attn_pdrop", KeyUse::Dropout},
  };
  return keys;
}

/// The common keys of llama, mistral and qwen.
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
      fixed("partial_rotary_factor", whole,
            "rotary positions turn all numbers of a head"),
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

/// LlamaConfig has no window. Files that were converted from another model type
/// may keep its keys, which some programs apply.
ArrayRef<ModelKey> llamaKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {size("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  flag("use_sliding_window", &C::usesWindow),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

/// All layers have the window, unless there are `layer_types`: transformers
/// then reads the file as one of `ministral`.
ArrayRef<ModelKey> mistralKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

ArrayRef<ModelKey> qwen2Keys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  size("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  flag("use_sliding_window", &C::usesWindow),
                                  count("max_window_layers", &C::fullLayers),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

ArrayRef<ModelKey> qwen3Keys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {required("num_key_value_heads", &C::keyHeads),
                                  required("head_dim", &C::headWidth),
                                  size("sliding_window", &C::window),
                                  flag("use_sliding_window", &C::usesWindow),
                                  count("max_window_layers", &C::fullLayers),
                                  {"layer_types", KeyUse::LayerTypes}};
  return keys;
}

/// A key of models with experts, which may have any value: Rondo computes only
/// the costs of these models.
ModelKey anyValue(const char *name) { return {name, KeyUse::AnyValue}; }

/// The common keys of models with experts.
ArrayRef<ModelKey> expertsKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      flag("tie_word_embeddings", &C::tied),
      required("vocab_size", &C::vocab),
      required("hidden_size", &C::hidden),
      required("intermediate_size", &C::ffn),
      required("num_hidden_layers", &C::layers),
      required("num_attention_heads", &C::heads),
      required("max_position_embeddings", &C::positions),
      required("num_experts_per_tok", &C::expertsPerToken),
      size("num_key_value_heads", &C::keyHeads),
      size("head_dim", &C::headWidth),
      size("sliding_window", &C::window),
      flag("use_sliding_window", &C::usesWindow),
      count("max_window_layers", &C::fullLayers),
      {"layer_types", KeyUse::LayerTypes},
      fixed("add_cross_attention", isFalse, "a block attends to itself alone"),
      fixed("is_encoder_decoder", isFalse, "a model is one decoder"),
      fixed("hidden_act", silu, "experts have three matrices"),
      {"attention_dropout", KeyUse::AnyValue},
      anyValue("attention_bias"),
      anyValue("rms_norm_eps"),
      anyValue("rope_theta"),
      anyValue("rope_scaling"),
      anyValue("rope_parameters"),
      anyValue("rope_interleave"),
      anyValue("partial_rotary_factor"),
      anyValue("quantization_config"),
      anyValue("output_router_logits"),
      anyValue("router_aux_loss_coef"),
      anyValue("router_jitter_noise"),
      anyValue("norm_topk_prob"),
      anyValue("pruned_heads"),
      anyValue("tie_encoder_decoder"),
      anyValue("per_layer_config"),
  };
  return keys;
}

ArrayRef<ModelKey> mixtralKeys() {
  static const ModelKey keys[] = {
      required("num_local_experts", &ModelConfig::experts)};
  return keys;
}

constexpr const char *one[] = {"1"}, *emptyList[] = {"[]"};

ArrayRef<ModelKey> qwen3MoeKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      required("num_experts", &C::experts),
      required("moe_intermediate_size", &C::expertFfn),
      fixed("decoder_sparse_step", one, "all layers have experts"),
      fixed("mlp_only_layers", emptyList, "all layers have experts")};
  return keys;
}

ArrayRef<ModelKey> deepseekKeys() {
  using C = ModelConfig;
  static const ModelKey keys[] = {
      required("n_routed_experts", &C::experts),
      required("moe_intermediate_size", &C::expertFfn),
      count("n_shared_experts", &C::sharedExperts),
      count("first_k_dense_replace", &C::denseLayers),
      required("kv_lora_rank", &C::keyRank),
      size("q_lora_rank", &C::queryRank),
      required("qk_rope_head_dim", &C::rotaryWidth),
      required("qk_nope_head_dim", &C::plainWidth),
      required("v_head_dim", &C::valueWidth),
      count("num_nextn_predict_layers", &C::extraPredictions),
      fixed("moe_layer_freq", one, "all layers after the first have experts"),
      anyValue("qk_head_dim"),
      anyValue("n_group"),
      anyValue("topk_group"),
      anyValue("topk_method"),
      anyValue("scoring_func"),
      anyValue("routed_scaling_factor"),
      anyValue("aux_loss_alpha"),
      anyValue("seq_aux"),
      anyValue("ep_size"),
      anyValue("auto_map")};
  return keys;
}

ModelConfig expertsDefaults() {
  ModelConfig config;
  config.architecture = Architecture::Experts;
  return config;
}

ModelConfig qwen3MoeDefaults() {
  ModelConfig config = expertsDefaults();
  config.window = 4096;
  config.usesWindow = false;
  config.fullLayers = 28;
  return config;
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
  config.fullLayers = 28;
  config.qkvBias = qkvBias;
  config.headNorm = !qkvBias;
  return config;
}

} // namespace

ArrayRef<ModelType> modelTypes() {
  constexpr const char *hidden = "hidden_size", *heads = "num_attention_heads",
                       *positions = "max_position_embeddings";
  const ArrayRef<ModelKey> common = commonKeys(), shared = llamaFamilyKeys();
  static const ModelType types[] = {
      {"gpt2",
       common,
       {},
       gptKeys(),
       gptDefaults(),
       "n_embd",
       "n_head",
       "n_positions"},
      {"llama", common, shared, llamaKeys(), llamaDefaults(), hidden, heads,
       positions},
      {"mistral", common, shared, mistralKeys(), mistralDefaults(), hidden,
       heads, positions},
      {"qwen2", common, shared, qwen2Keys(), qwenDefaults(true), hidden, heads,
       positions},
      {"qwen3", common, shared, qwen3Keys(), qwenDefaults(false), hidden, heads,
       positions},
      {"mixtral",
       expertsKeys(),
       {},
       mixtralKeys(),
       expertsDefaults(),
       hidden,
       heads,
       positions},
      {"qwen3_moe",
       expertsKeys(),
       {},
       qwen3MoeKeys(),
       qwen3MoeDefaults(),
       hidden,
       heads,
       positions},
      {"deepseek_v3",
       expertsKeys(),
       {},
       deepseekKeys(),
       expertsDefaults(),
       hidden,
       heads,
       positions},
  };
  return types;
}

const ModelKey *ModelType::find(StringRef key) const {
  for (ArrayRef<ModelKey> list : keys())
    for (const ModelKey &known : list)
      if (known.name == key)
        return &known;
  return nullptr;
}

groups::Transformer transformerOf(const ModelConfig &config) {
  groups::Transformer model;
  model.layers = config.layers;
  model.hidden = config.hidden;
  model.heads = config.heads;
  model.keyHeads = config.keyHeads;
  const bool isLatent = config.keyRank > 0;
  model.queryWidth =
      isLatent ? config.plainWidth + config.rotaryWidth : config.headWidth;
  model.valueWidth = isLatent ? config.valueWidth : config.headWidth;
  model.ffn = config.ffn;
  model.isGated = config.architecture != Architecture::Gpt;
  model.vocab = config.vocab;
  model.sequence = config.sequence;
  model.isTied = config.tied;
  model.extraPredictions = config.extraPredictions;
  model.window = config.window;
  model.windowedLayers = config.window > 0 ? config.windowedLayers : 0;
  if (config.architecture == Architecture::Experts)
    model.experts = groups::Experts{config.experts, config.expertsPerToken,
                                    config.expertFfn, config.sharedExperts,
                                    config.denseLayers};
  if (isLatent)
    model.latent = groups::LatentAttention{config.queryRank, config.keyRank,
                                           config.rotaryWidth};
  return model;
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
      // The origin of the file, and its readers.
      "_attn_implementation_autoset", "_commit_hash", "_from_model_config",
      "_name_or_path", "architectures", "finetuning_task", "model_type",
      "name_or_path", "task_specific_params", "tokenizer_class",
      "transformers_version",
      // Notes of other programs: SmolLM2, Transformers.js, Unsloth.
      "is_llama_config", "transformers.js_config", "unsloth_fixed",
      "unsloth_version",
      // Long contexts of inference engines; the model's class ignores it.
      "dual_chunk_attention_config",
      // Token ids of data and of generated text.
      "bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id",
      "prefix", "sep_token_id", "unk_token_id",
      // Types and first values of weights, which Rondo has its own of.
      "dtype", "initializer_range", "torch_dtype", "use_bfloat16",
      // Implementations of the same values in other programs.
      "_attn_implementation", "_attn_implementation_internal",
      "_experts_implementation", "_experts_implementation_internal",
      "_flash_attn_2_enabled", "attn_implementation", "chunk_size_feed_forward",
      "experts_implementation", "gradient_checkpointing", "is_decoder",
      "output_past", "pretraining_tp", "reorder_and_upcast_attn",
      "tf_legacy_loss", "torchscript", "use_cache",
      // Outputs in addition to the loss, and heads for other tasks. Without
      // add_cross_attention nothing has the size of cross attention.
      "_num_labels", "_output_attentions", "cross_attention_hidden_size",
      "id2label", "keys_to_ignore_at_inference", "label2id", "num_labels",
      "output_attentions", "output_hidden_states", "predict_special_tokens",
      "problem_type", "return_dict", "summary_activation",
      "summary_first_dropout", "summary_proj_to_labels", "summary_type",
      "summary_use_proj", "tie_last_hidden_states",
      // Options of text generation.
      "assistant_confidence_threshold", "assistant_early_exit",
      "assistant_ensemble_weight", "assistant_lookbehind", "bad_words_ids",
      "begin_suppress_tokens", "cache_config", "cache_implementation",
      "compile_config", "constraints", "continuous_batching_config",
      "disable_compile", "diversity_penalty", "do_sample", "dola_layers",
      "early_stopping", "encoder_no_repeat_ngram_size",
      "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
      "exponential_decay_length_penalty", "force_words_ids",
      "forced_bos_token_id", "forced_eos_token_id", "guidance_scale",
      "is_assistant", "length_penalty", "low_memory", "max_cache_len",
      "max_length", "max_matching_ngram_size", "max_new_tokens", "max_time",
      "min_length", "min_new_tokens", "min_p", "no_repeat_ngram_size",
      "num_assistant_tokens", "num_assistant_tokens_schedule",
      "num_beam_groups", "num_beams", "num_return_sequences", "output_logits",
      "output_scores", "penalty_alpha", "prefill_chunk_size",
      "prompt_lookup_num_tokens", "remove_invalid_values", "renormalize_logits",
      "repetition_penalty", "return_dict_in_generate", "sequence_bias",
      "speculation_type", "stop_strings", "suppress_tokens",
      "target_lookbehind", "temperature", "token_healing", "top_h", "top_k",
      "top_p", "typical_p", "use_mtp", "watermarking_config",
      // Old name of n_positions, which gpt2 files have besides.
      "n_ctx",
      // Which layers have the window of qwen2 and qwen3; others read
      // layer_types.
      "max_window_layers"};
  return llvm::is_contained(names, key);
}

} // namespace rondo::json
