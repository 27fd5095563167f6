// Rows of documents of a GPT and a Llama on four ranks that share a GPU
// (scripts/gpu-uneven.sh): long and short documents, that end within tiles of
// attention's kernels and at their ends, rows of one document, and documents
// that are drawn.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
  pipe.device @rank3
}
pipe.model @gpt gpt<vocab = 256, sequence = 384, hidden = 192, heads = 3, ffn = 768, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}
pipe.plan @packed of @gpt on @machine microbatches(6)
    documents [[384, 100, 70], [7, 60, 200, 2], [129, 128, 127, 1], [384], [30, 31, 32, 33, 34, 35], [384, 384]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @lm_head] on 3
}
pipe.schedule @gpt_rows of @packed search<effort = 100>
pipe.plan @limited of @gpt on @machine microbatches(6) tokens<most = 768, in_flight = 3072> {
  pipe.stage @d0 [@wte, @h0] on 0
  pipe.stage @d1 [@h1] on 1
  pipe.stage @d2 [@h2] on 2
  pipe.stage @d3 [@h3, @lm_head] on 3
}
pipe.schedule @gpt_drawn of @limited family<"1f1b">
pipe.plan @alone of @gpt on @machine microbatches(4)
    documents [[384], [384], [384], [384]] {
  pipe.stage @a0 [@wte, @h0] on 0
  pipe.stage @a1 [@h1] on 1
  pipe.stage @a2 [@h2] on 2
  pipe.stage @a3 [@h3, @lm_head] on 3
}
pipe.schedule @one_document of @alone family<"1f1b">

pipe.model @llama llama<vocab = 256, sequence = 384, hidden = 256, heads = 4, kv_heads = 2, head_width = 128, ffn = 512,
                        batch = 1, norm_epsilon = 1.0e-5, rope_theta = 10000, head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @model.layers.1 block
  pipe.layer @norm head
}
pipe.plan @rows of @llama on @machine microbatches(4) documents [[384, 90], [40, 50, 60, 70], [255, 257], [300]] {
  pipe.stage @l0 [@embed_tokens] on 0
  pipe.stage @l1 [@model.layers.0] on 1
  pipe.stage @l2 [@model.layers.1] on 2
  pipe.stage @l3 [@norm] on 3
}
pipe.schedule @llama_rows of @rows family<"zb-h1", order = long_short>
