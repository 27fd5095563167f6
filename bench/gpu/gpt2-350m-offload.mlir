// GPT-2 350M at sequence 1024 on four ranks of one GPU, for scripts/gpu-offload.sh:
// without copies, and with copies of the first two ranks' activations to the host
// where the first one has memory for two of its four micro-batches. Rates are a
// quarter of the operations that an H200 achieved with this model, and a link of
// PCIe Gen 5 with 16 lanes, which all ranks share.

pipe.cluster @large {
  pipe.device @gpu0 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu1 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu2 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu3 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.host_link [@gpu0, @gpu1, @gpu2, @gpu3] <bytes_per_us = 50000>
}
pipe.cluster @small {
  pipe.device @gpu0 <memory_bytes = 6100000000, flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu1 <memory_bytes = 6500000000, flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu2 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.device @gpu3 <flops_per_us = 124000000,
                     host_link = <latency_ns = 10000, bytes_per_us = 50000>>
  pipe.host_link [@gpu0, @gpu1, @gpu2, @gpu3] <bytes_per_us = 50000>
}

pipe.model @gpt2 gpt<vocab = 50257, sequence = 1024, hidden = 1024, heads = 16,
                     ffn = 4096, batch = 8, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @h4 block
  pipe.layer @h5 block
  pipe.layer @h6 block
  pipe.layer @h7 block
  pipe.layer @h8 block
  pipe.layer @h9 block
  pipe.layer @h10 block
  pipe.layer @h11 block
  pipe.layer @h12 block
  pipe.layer @h13 block
  pipe.layer @h14 block
  pipe.layer @h15 block
  pipe.layer @h16 block
  pipe.layer @h17 block
  pipe.layer @h18 block
  pipe.layer @h19 block
  pipe.layer @h20 block
  pipe.layer @h21 block
  pipe.layer @h22 block
  pipe.layer @h23 block
  pipe.layer @ln_f head
}

pipe.plan @whole of @gpt2 on @large microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@wte, @h0, @h1, @h2, @h3, @h4, @h5] on 0
  pipe.stage @s1 [@h6, @h7, @h8, @h9, @h10, @h11] on 1
  pipe.stage @s2 [@h12, @h13, @h14, @h15, @h16, @h17] on 2
  pipe.stage @s3 [@h18, @h19, @h20, @h21, @h22, @h23, @ln_f] on 3
}
pipe.plan @away of @gpt2 on @small microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@wte, @h0, @h1, @h2, @h3, @h4, @h5] on 0 offload
  pipe.stage @s1 [@h6, @h7, @h8, @h9, @h10, @h11] on 1 offload
  pipe.stage @s2 [@h12, @h13, @h14, @h15, @h16, @h17] on 2
  pipe.stage @s3 [@h18, @h19, @h20, @h21, @h22, @h23, @ln_f] on 3
}

pipe.schedule @none of @whole family<"1f1b">
pipe.schedule @all of @away family<"1f1b", offload = all>
pipe.schedule @fit of @away family<"1f1b", offload = fit>
