// A Llama with every option, cut in two ways. Tests edit the text after the
// ranks.
pipe.cluster @machine link<latency_ns = 2000> {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
}
pipe.model @llama llama<vocab = 256, sequence = 16, hidden = 32, heads = 4, kv_heads = 2, head_width = 12, ffn = 44,
                        batch = 2, tied = true, norm_epsilon = 1.0e-6, rope_theta = 1000,
                        rope_scaling = llama3<factor = 4, low_frequency = 1, high_frequency = 4,
                                              original_positions = 8>,
                        qkv_bias = true, head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @model.layers.1 block
  pipe.layer @lm_head head
}
pipe.plan @step of @llama on @machine microbatches(4) {
  pipe.stage @s0 [@embed_tokens, @model.layers.0] on 0
  pipe.stage @s1 [@model.layers.1] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @gpipe of @step family<"gpipe">
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 20>
pipe.plan @replicated of @llama on @machine microbatches(4) {
  pipe.stage @front [@embed_tokens, @model.layers.0] on [0, 1]
  pipe.stage @back [@model.layers.1, @lm_head] on 2
}
pipe.schedule @two_replicas of @replicated family<"1f1b">
