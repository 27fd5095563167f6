// The prediction of iterations that overlap is the settled time. Rank 0 has three micro-batches in flight. One takes
// 130 ns of forwards, 4 messages of 428 ns and 160 ns of backwards: 2,002 ns. So two micro-batches, an iteration, take
// 2 * 2,002 / 3 = 1,334 ns. A mean over the window would include its start: 1,386 ns.
// RUN: rondo compile %s --emit=cpp -o - | FileCheck %s
// CHECK: "overlapped", ProgramKind::Pipeline
// CHECK: 0, nullptr,
// CHECK-NEXT: 1334, 580,

pipe.cluster @lab link<latency_ns = 300, bytes_per_us = 1000> { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 50, input_grad_ns = 30, weight_grad_ns = 10, output_bytes = 128, weight_bytes = 256>
  pipe.layer @l1 synthetic<forward_ns = 40, input_grad_ns = 10, weight_grad_ns = 40, output_bytes = 128, weight_bytes = 256>
  pipe.layer @l2 synthetic<forward_ns = 40, input_grad_ns = 30, weight_grad_ns = 40, output_bytes = 128, weight_bytes = 256>
}
pipe.plan @p of @m on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
pipe.schedule @overlapped of @p family<"pipedream">
