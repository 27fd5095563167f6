// The GPT of gpt-small.mlir, with its own weights in the head, trained by
// schedules that never drain: iterations overlap, and tasks may read weights
// that are some updates old.
//
//   rondo versions examples/gpt-asynchronous.mlir
//   rondo compile examples/gpt-asynchronous.mlir -o train
//   ./train --verify
//   ./train --data FILE
//
// A synchronous start, then PipeMare, in one program:
//
//   rondo compile examples/gpt-asynchronous.mlir --schedule one_f_one_b,pipemare -o train
//   ./train --data FILE --schedule one_f_one_b:20,pipemare:80 --iterations 100

pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @rank1 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @rank2 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @rank3 <memory_bytes = 134217728, flops_per_us = 40000>
}

pipe.model @gpt gpt<vocab = 256, sequence = 128, hidden = 144, heads = 4,
                    ffn = 576, batch = 4, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @ln_f head
}

pipe.plan @step of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @ln_f] on 3
}

pipe.schedule @pipedream of @step family<"pipedream">
pipe.schedule @two_versions of @step family<"2bw">
pipe.schedule @pipemare of @step family<"pipemare">
// The newest weights everywhere, and nothing corrected.
pipe.schedule @newest of @step family<"pipedream"> versions<forward = live, backward = live>
pipe.schedule @timeprest of @step family<"timeprest">
// What the others are compared with.
pipe.schedule @one_f_one_b of @step family<"1f1b">
