// A byte-level Llama of about one million parameters on four ranks, with eight
// micro-batches of four samples per iteration. Pairs of query heads share keys
// and values.
//
//   rondo compile examples/llama-small.mlir -o train
//   ./train --data FILE

pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank1 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank2 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank3 <memory_bytes = 67108864, flops_per_us = 40000>
}

// Tensors have Hugging Face's names: those of a block begin with its own.
pipe.model @llama llama<vocab = 256, sequence = 128, hidden = 144, heads = 4,
                        kv_heads = 2, ffn = 384, batch = 4, tied = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @model.layers.1 block
  pipe.layer @model.layers.2 block
  pipe.layer @model.layers.3 block
  pipe.layer @lm_head head
}

pipe.plan @step of @llama on @machine microbatches(8) {
  pipe.stage @s0 [@embed_tokens, @model.layers.0] on 0
  pipe.stage @s1 [@model.layers.1] on 1
  pipe.stage @s2 [@model.layers.2] on 2
  pipe.stage @s3 [@model.layers.3, @lm_head] on 3
}

// The first schedule is the one that is compiled, unless --schedule names
// another.
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 1000>
