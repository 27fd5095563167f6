// A GPT and a Llama on rows of documents, some longer than a sequence. Tests
// edit the text after the ranks, and the sizes of the GPT.
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
pipe.plan @packed of @gpt on @machine microbatches(4) documents [[9, 24, 3], [5], [24, 17, 24], [1, 16]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.schedule @gpipe of @packed family<"gpipe">
pipe.schedule @one_f_one_b of @packed family<"1f1b", order = long_short>
pipe.schedule @zero_bubble of @packed family<"zb-h1", order = descending>
pipe.plan @looped of @gpt on @machine microbatches(4) documents [[9, 24, 3], [5], [24, 17, 24], [1, 16]] {
  pipe.stage @c0 [@wte] on 0
  pipe.stage @c1 [@h0] on 1
  pipe.stage @c2 [@h1] on 0
  pipe.stage @c3 [@lm_head] on 1
}
pipe.schedule @interleaved of @looped family<"interleaved-zb">

// The same tokens as rows of one document and as samples.
pipe.plan @alone of @gpt on @machine microbatches(3) documents [[24], [24], [24]] {
  pipe.stage @a0 [@wte, @h0] on 0
  pipe.stage @a1 [@h1, @lm_head] on 1
}
pipe.schedule @one_document of @alone family<"1f1b">
pipe.plan @samples of @gpt on @machine microbatches(3) {
  pipe.stage @b0 [@wte, @h0] on 0
  pipe.stage @b1 [@h1, @lm_head] on 1
}
pipe.schedule @even of @samples family<"1f1b">

pipe.model @llama llama<vocab = 256, sequence = 24, hidden = 32, heads = 4, kv_heads = 2, head_width = 12, ffn = 44,
                        batch = 1, tied = true, norm_epsilon = 1.0e-6, rope_theta = 1000, qkv_bias = true,
                        head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @model.layers.1 block
  pipe.layer @norm head
}
pipe.plan @rows of @llama on @machine microbatches(3) documents [[13, 24, 8], [6, 6, 6, 6], [24]] {
  pipe.stage @l0 [@embed_tokens, @model.layers.0] on 0
  pipe.stage @l1 [@model.layers.1, @norm] on 1
}
pipe.schedule @llama_searched of @rows search<effort = 50>
