// Plans that draw documents, for a GPT and a Llama on two ranks.
pipe.cluster @machine link<latency_ns = 2000, bytes_per_us = 10000> {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @gpt gpt<vocab = 256, sequence = 24, hidden = 32, heads = 2, ffn = 48, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @drawn of @gpt on @machine microbatches(3) tokens<most = 50, in_flight = 100> {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.schedule @gpt_rows of @drawn family<"1f1b">
pipe.plan @single of @gpt on @machine microbatches(1) tokens<most = 24, in_flight = 24> {
  pipe.stage @w0 [@wte, @h0] on 0
  pipe.stage @w1 [@h1, @lm_head] on 1
}
pipe.schedule @pairs of @single family<"1f1b">

pipe.model @llama llama<vocab = 256, sequence = 24, hidden = 32, heads = 4, kv_heads = 2, head_width = 12, ffn = 44,
                        batch = 1, tied = true, norm_epsilon = 1.0e-6, rope_theta = 1000, qkv_bias = true,
                        head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @model.layers.1 block
  pipe.layer @norm head
}
pipe.plan @rows of @llama on @machine microbatches(3) tokens<most = 40, in_flight = 80> {
  pipe.stage @l0 [@embed_tokens, @model.layers.0] on 0
  pipe.stage @l1 [@model.layers.1, @norm] on 1
}
pipe.schedule @llama_rows of @rows family<"zb-h1">
